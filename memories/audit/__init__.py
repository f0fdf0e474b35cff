"""The audit chain: row history is sealed, signed and copied outside the database, so that tampering shows."""

from memories.audit.retention import let_go, let_lost_history_go
from memories.audit.rows import Comparison, Difference
from memories.audit.seals import SealedElsewhere, adopt, seal, sealed_elsewhere
from memories.audit.signatures import fingerprint, is_signed, public_key, sign
from memories.audit.verification import AuditFinding, AuditVerdict, Proof, prove, verify
from memories.audit.witness import Receipts, send_seals, witness_silence

__all__ = [
    "Comparison",
    "Difference",
    "AuditFinding",
    "Proof",
    "Receipts",
    "SealedElsewhere",
    "adopt",
    "AuditVerdict",
    "fingerprint",
    "is_signed",
    "let_go",
    "let_lost_history_go",
    "prove",
    "public_key",
    "seal",
    "sealed_elsewhere",
    "sign",
    "witness_silence",
    "send_seals",
    "verify",
]

"""The audit chain: row history is sealed, signed and copied outside the database, so that tampering shows."""

from memories.audit.sealing import seal
from memories.audit.signing import fingerprint, is_signed, public_key, sign
from memories.audit.verifying import Finding, Verdict, verify

__all__ = ["Finding", "Verdict", "fingerprint", "is_signed", "public_key", "seal", "sign", "verify"]

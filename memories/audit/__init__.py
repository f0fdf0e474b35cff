"""The audit chain: row history is sealed, signed and copied outside the database, so that tampering shows."""

from memories.audit.sealing import seal
from memories.audit.verifying import Finding, Verdict, verify

__all__ = ["Finding", "Verdict", "seal", "verify"]

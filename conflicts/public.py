"""The front of belief: what rooms say to the gate. Its further desks are entered by their names (ADR 0007)."""

from conflicts.admission import Admission, Disputed, Newcomer, admit, hold_keys, readmit, rewrite, undisturbed, withdraw
from conflicts.claim_drafts import ClaimDraft, Statement
from conflicts.claims import exclude_each_other
from conflicts.locks import MOST_KEYS, lock_keys, lock_namespace
from conflicts.models import PendingConflict, Ruling

__all__ = [
    "Admission",
    "admit",
    "ClaimDraft",
    "Disputed",
    "exclude_each_other",
    "hold_keys",
    "lock_keys",
    "lock_namespace",
    "MOST_KEYS",
    "Newcomer",
    "PendingConflict",
    "readmit",
    "rewrite",
    "Ruling",
    "Statement",
    "undisturbed",
    "withdraw",
]

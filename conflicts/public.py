"""The front of belief: what rooms say to the gate. Its further desks are entered by their names (ADR 0007)."""

from conflicts.admission import (
    Admission,
    Disputed,
    Newcomer,
    admissible_unchanged,
    admit,
    end_waiting,
    lock_claimed_keys,
    readmit,
    return_unchanged,
    rewrite,
)
from conflicts.claim_drafts import ClaimDraft, Statement
from conflicts.locks import MOST_KEYS, lock_belief, lock_keys, lock_namespace
from conflicts.models import PendingConflict, Ruling
from conflicts.persistence import one_value_checked_at_the_end, reopen_periods

__all__ = [
    "Admission",
    "admit",
    "ClaimDraft",
    "Disputed",
    "lock_claimed_keys",
    "lock_belief",
    "lock_keys",
    "lock_namespace",
    "MOST_KEYS",
    "Newcomer",
    "one_value_checked_at_the_end",
    "PendingConflict",
    "readmit",
    "reopen_periods",
    "return_unchanged",
    "rewrite",
    "Ruling",
    "Statement",
    "admissible_unchanged",
    "end_waiting",
]

"""Resolution: people decide what waits, one or many at once, and take it back (docs/spec.md §4, conflicts)."""

from conflicts.resolution.actions import Correction, NotApplicable
from conflicts.resolution.bulk import BulkOutcome, resolve_all, undo_all
from conflicts.resolution.decisions import (
    AlreadyResolved,
    Settlement,
    resolve,
    undo,
    visible_conflict,
    visible_conflicts,
    waiting,
    with_claims,
)
from conflicts.resolution.key_candidates import KeyCandidate, candidates, repetitions
from conflicts.resolution.reconsideration import DECIDED_BY_A_PERSON, reinstate_replaced
from conflicts.snapshots import CannotUndo

__all__ = [
    "AlreadyResolved",
    "BulkOutcome",
    "candidates",
    "CannotUndo",
    "Correction",
    "DECIDED_BY_A_PERSON",
    "KeyCandidate",
    "NotApplicable",
    "reinstate_replaced",
    "repetitions",
    "resolve",
    "resolve_all",
    "Settlement",
    "undo",
    "undo_all",
    "visible_conflict",
    "visible_conflicts",
    "waiting",
    "with_claims",
]

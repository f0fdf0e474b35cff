"""The front of this room: what the others may call."""

from conflicts.admission import (
    Admission,
    Disputed,
    Newcomer,
    admit,
    hold_keys,
    readmit,
    rewrite,
    undisturbed,
    withdraw,
)
from conflicts.aliases import PRESENT, USER, names_user
from conflicts.authority import (
    SOURCE_RANK,
    CeilingExceeded,
    bounded_importance,
    granted_authority,
    lowered_source,
    may_protect,
    rank_of,
    refuse_below,
)
from conflicts.bulk_changes import erase_all, was_ruled_out, withdraw_all, yield_to
from conflicts.bulk_resolution import BulkOutcome, resolve_all, undo_all
from conflicts.candidates import KeyCandidate, candidates, repetitions
from conflicts.claims import ClaimDraft, Statement, exclude_each_other
from conflicts.corroboration import corroborate_all, independent
from conflicts.doubts import Vector
from conflicts.enums import Action, ConflictKind, ConflictReason, Keep, Normaliser, Policy, Resolution, Uncounted
from conflicts.evaluation import ClaimsDisagree
from conflicts.events import Announcement, Bookmark, Happening, News, NoBookmark, latest, news
from conflicts.free_text import contradicting, words_of
from conflicts.history import BeliefQuery, Believed, believed, claims, lives, timeline
from conflicts.key_migration import ClaimsCollide
from conflicts.keys import CLAIMED, NAMES, Naming, digests_of, named, spelling_digests
from conflicts.locks import MOST_KEYS, lock_keys, lock_namespace
from conflicts.models import PendingConflict, Ruling
from conflicts.normalization import canonical_key, says_something
from conflicts.periods import CannotSplit
from conflicts.precedence import ClaimsAtHand, Told, Upheld, keys_sought
from conflicts.predicates import AliasCollision
from conflicts.predicates import canonical_name as canonical_predicate
from conflicts.preview import replaced_if_accepted
from conflicts.reevaluation import Fate, Reassessment, examine, foresee
from conflicts.registry import BadPredicate, PredicateTaken, StaleRule
from conflicts.registry import built_in as built_in_predicates
from conflicts.registry import change as change_predicate
from conflicts.registry import register as register_predicate
from conflicts.registry import registered as registered_predicates
from conflicts.replacement import put_back, replace
from conflicts.resolution import (
    AlreadyResolved,
    CannotUndo,
    Settlement,
    StaleConflict,
    resolve,
    undo,
    visible_conflict,
    waiting,
    with_claims,
)
from conflicts.resolution_actions import Correction, NotApplicable
from conflicts.review_queue import (
    AT_ONCE,
    Fold,
    Queue,
    alone,
    fold_of,
    forked,
    from_source,
    queue,
    queue_length,
    unforked,
)
from conflicts.ruling_backfill import rule_on_former_decisions
from conflicts.ruling_marks import RulingMark, latest_mark, marks_of
from conflicts.rulings import (
    binding_on,
    claim_ruled,
    fragment_ruled,
    of_conflicts,
    protection,
    ruled_on,
    rulings,
    text_ruled,
    with_protection,
    with_rank,
    with_words,
)
from conflicts.search_index import (
    BlockedByErasure,
    embeddings,
    forgotten_among,
    forgotten_texts,
    index_keywords,
    place_vectors,
)
from conflicts.soft_locks import reserve, reserved
from conflicts.votes import Counted, is_disputed, vote

__all__ = [
    "AT_ONCE",
    "Action",
    "Admission",
    "AliasCollision",
    "AlreadyResolved",
    "Announcement",
    "BadPredicate",
    "ClaimsAtHand",
    "Believed",
    "BlockedByErasure",
    "Bookmark",
    "KeyCandidate",
    "CLAIMED",
    "CannotSplit",
    "CannotUndo",
    "CeilingExceeded",
    "ClaimDraft",
    "ClaimsCollide",
    "ClaimsDisagree",
    "Correction",
    "Counted",
    "Disputed",
    "Fate",
    "Reassessment",
    "Fold",
    "Happening",
    "Keep",
    "ConflictKind",
    "MOST_KEYS",
    "NAMES",
    "Naming",
    "Newcomer",
    "News",
    "NoBookmark",
    "Normaliser",
    "NotApplicable",
    "BulkOutcome",
    "PRESENT",
    "PendingConflict",
    "Policy",
    "PredicateTaken",
    "BeliefQuery",
    "Queue",
    "ConflictReason",
    "Resolution",
    "Ruling",
    "SOURCE_RANK",
    "Settlement",
    "StaleConflict",
    "StaleRule",
    "Statement",
    "Told",
    "USER",
    "Uncounted",
    "Upheld",
    "Vector",
    "admit",
    "alone",
    "believed",
    "bounded_importance",
    "built_in_predicates",
    "candidates",
    "canonical_key",
    "canonical_predicate",
    "change_predicate",
    "claims",
    "contradicting",
    "corroborate_all",
    "digests_of",
    "embeddings",
    "erase_all",
    "examine",
    "exclude_each_other",
    "fold_of",
    "foresee",
    "forgotten_among",
    "forgotten_texts",
    "forked",
    "fragment_ruled",
    "from_source",
    "granted_authority",
    "hold_keys",
    "independent",
    "index_keywords",
    "is_disputed",
    "keys_sought",
    "latest",
    "lives",
    "lock_keys",
    "lock_namespace",
    "lowered_source",
    "may_protect",
    "named",
    "names_user",
    "news",
    "place_vectors",
    "put_back",
    "queue",
    "queue_length",
    "rank_of",
    "readmit",
    "refuse_below",
    "register_predicate",
    "registered_predicates",
    "repetitions",
    "replace",
    "replaced_if_accepted",
    "reserve",
    "reserved",
    "resolve",
    "resolve_all",
    "rewrite",
    "says_something",
    "spelling_digests",
    "timeline",
    "undisturbed",
    "unforked",
    "undo",
    "undo_all",
    "visible_conflict",
    "vote",
    "waiting",
    "was_ruled_out",
    "withdraw",
    "withdraw_all",
    "yield_to",
    "binding_on",
    "of_conflicts",
    "protection",
    "RulingMark",
    "latest_mark",
    "marks_of",
    "ruled_on",
    "rulings",
    "with_claims",
    "with_protection",
    "with_words",
    "words_of",
    "claim_ruled",
    "text_ruled",
    "with_rank",
    "rule_on_former_decisions",
]

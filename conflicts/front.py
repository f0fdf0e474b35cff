"""The front of this room: what the others may call."""

from conflicts.admission import Admission, Disputed, Newcomer, admit, hold_keys, readmit, rewrite, withdraw
from conflicts.announcements import Announcement, Bookmark, Happening, News, NoBookmark, latest, news
from conflicts.authority import SOURCE_RANK, CeilingExceeded, granted_authority, lowered_source
from conflicts.claims import ClaimDraft, Statement, exclude_each_other
from conflicts.deciding import NotApplicable
from conflicts.history import Question, believed, claims, lives, timeline
from conflicts.placing import BlockedByErasure, embedding, forgotten_texts, index_keywords, place_vectors
from conflicts.predicates import AliasCollision
from conflicts.registry import BadPredicate, PredicateTaken, StaleRule
from conflicts.registry import built_in as built_in_predicates
from conflicts.registry import change as change_predicate
from conflicts.registry import register as register_predicate
from conflicts.registry import registered as registered_predicates
from conflicts.rekeying import ClaimsCollide
from conflicts.settling import (
    AlreadyResolved,
    CannotUndo,
    Settlement,
    StaleConflict,
    resolve,
    undo,
    visible_conflict,
    waiting,
)
from conflicts.spelling import says_something
from conflicts.splitting import CannotSplit
from conflicts.trust import trust, trust_of
from conflicts.votes import Counted, is_disputed, vote
from conflicts.words import Action, Keep, Kind, Normaliser, Reason, Resolution

__all__ = [
    "SOURCE_RANK",
    "Action",
    "Admission",
    "AliasCollision",
    "AlreadyResolved",
    "Announcement",
    "BadPredicate",
    "BlockedByErasure",
    "Bookmark",
    "CannotSplit",
    "CannotUndo",
    "CeilingExceeded",
    "ClaimDraft",
    "ClaimsCollide",
    "Counted",
    "Disputed",
    "Happening",
    "Keep",
    "Kind",
    "Newcomer",
    "News",
    "NoBookmark",
    "Normaliser",
    "NotApplicable",
    "PredicateTaken",
    "Question",
    "Reason",
    "Resolution",
    "Settlement",
    "StaleConflict",
    "StaleRule",
    "Statement",
    "admit",
    "believed",
    "built_in_predicates",
    "change_predicate",
    "claims",
    "embedding",
    "exclude_each_other",
    "forgotten_texts",
    "granted_authority",
    "hold_keys",
    "index_keywords",
    "is_disputed",
    "latest",
    "lives",
    "lowered_source",
    "news",
    "place_vectors",
    "readmit",
    "register_predicate",
    "registered_predicates",
    "resolve",
    "rewrite",
    "says_something",
    "timeline",
    "trust",
    "trust_of",
    "undo",
    "visible_conflict",
    "vote",
    "waiting",
    "withdraw",
]

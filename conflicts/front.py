"""The front of this room: what the others may call."""

from conflicts.admission import (
    Admission,
    BlockedByErasure,
    Newcomer,
    admit,
    forgotten_texts,
    index_keywords,
    replace_text,
)
from conflicts.authority import SOURCE_RANK, CeilingExceeded, granted_authority, lowered_source
from conflicts.trust import trust_of

__all__ = [
    "SOURCE_RANK",
    "Admission",
    "BlockedByErasure",
    "CeilingExceeded",
    "Newcomer",
    "admit",
    "forgotten_texts",
    "granted_authority",
    "index_keywords",
    "lowered_source",
    "replace_text",
    "trust_of",
]

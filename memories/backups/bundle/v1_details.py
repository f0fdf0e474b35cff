"""What a V1 chunk's metadata says besides of a memory: when and where it was said, what is read in it, what it claims.

A value of another shape than ours is somebody else's and stays in `extra`, as all of them did before.
"""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conflicts.authority import SOURCE_RANK
from memories.backups.bundle.forms import FORMS
from memories.language import route
from memories.models.claim import MOST_CLAIMS
from memories.models.enums import ClaimScope, SourceClass

# What it says of a memory, by the column; `extra` keeps the rest of it.
NAMED = {
    "type": "type",
    "memorySubtype": "category",
    "sourceType": "source_type",
    "sourceId": "source_id",
    "source": "source",
    "importance": "importance",
    "relevance": "base_relevance",
    "tags": "tags",
    "status": "status",
    "revision": "revision",
}
# And what has to be of our shape.
NAMES = {
    "eventAt": "event_at",
    "conversationId": "conversation_id",
    "sequence": "sequence",
    "entities": "entities",
    "topics": "topics",
    "emotionalValence": "emotional_valence",
}
ROUTED = ("entities", "topics", "emotional_valence")
CLAIM = {
    "subject": "subject",
    "predicate": "predicate",
    "value": "value",
    "scope": "scope",
    "sessionId": "session_id",
    "validFrom": "valid_from",
    "validUntil": "valid_until",
    "exclusive": "exclusive",
    "slot": "slot",
    "verdict": "verdict",
    "authority": "authority",
}
NEEDED = {"subject", "predicate", "value"}
INT4 = 2**31
MOST_AUTHORITY = max(SOURCE_RANK.values())


@dataclass(frozen=True, slots=True)
class ChunkDetails:
    """Columns of the memory and of its claims, and the names in the metadata that said so."""

    columns: dict[str, Any]
    claims: list[dict[str, Any]]
    names: set[str]


def written(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return them as metadata, without what is empty."""
    row, first = record["row"], record.get("claim")
    found = {name: row[column] for name, column in NAMES.items()}
    claims = [_claim_of(claim) for claim in ([first] if first else []) + (record.get("claims") or [])]
    found |= {"claim": claims[0], "claims": claims[1:]} if claims else {}
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def _claim_of(claim: Mapping[str, Any]) -> dict[str, Any]:
    return {name: claim[column] for name, column in CLAIM.items() if claim.get(column) not in (None, "")}


def read(metadata: Mapping[str, Any], content: str) -> ChunkDetails:
    """Return what the metadata says; entities, topics and mood of a text that brings none are read in it."""
    names = {name for name in NAMES if name in metadata and SHAPES[name](metadata[name])}
    columns = {NAMES[name]: _moment(metadata[name]) if name == "eventAt" else metadata[name] for name in names}
    if not names & {"entities", "topics"}:
        columns = {**route(content).derived, **columns}
    claims: list[dict[str, Any]] = []
    if _is_claim(metadata.get("claim")):
        claims, names = [metadata["claim"]], names | {"claim"}
        further = metadata.get("claims")
        if type(further) is list and len(further) < MOST_CLAIMS and all(map(_is_claim, further)):
            claims, names = claims + further, names | {"claims"}
    return ChunkDetails(columns, [{"position": n, **_columns(claim)} for n, claim in enumerate(claims)], names)


def _columns(claim: Mapping[str, Any]) -> dict[str, Any]:
    found = {"authority": SOURCE_RANK[SourceClass.INFERENCE]} | {CLAIM[name]: value for name, value in claim.items()}
    return found | {name: _moment(found[name]) for name in ("valid_from", "valid_until") if name in found}


def _is_claim(value: Any) -> bool:
    return (
        type(value) is dict
        and NEEDED <= value.keys() <= CLAIM.keys()
        and all(SHAPES.get(name, _is_text)(part) for name, part in value.items())
    )


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(map(_is_text, value))


def _is_whole(limit: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and -limit <= value < limit


def _is_moment(value: Any) -> bool:
    try:
        return type(value) is str and bool(_moment(value))
    except (ValueError, OverflowError):
        return False


def _moment(value: str) -> str:
    """Return a time with a zone as Postgres writes it. Raise ValueError."""
    at = datetime.datetime.fromisoformat(value)
    if at.tzinfo is None:
        raise ValueError("no zone")
    return at.astimezone(datetime.UTC).isoformat()


SHAPES: Mapping[str, Callable[[Any], bool]] = {
    "eventAt": _is_moment,
    "conversationId": _is_text,
    "sequence": _is_whole(INT4),
    "entities": FORMS["memories.Fragment", "entities"],
    "topics": _is_texts,
    "emotionalValence": lambda value: type(value) in (int, float) and -1 <= value <= 1,
    "scope": lambda value: value in list(ClaimScope.values),
    "validFrom": _is_moment,
    "validUntil": _is_moment,
    "exclusive": lambda value: type(value) is bool,
    "slot": _is_whole(INT4),
    "authority": lambda value: type(value) is int and 1 <= value <= MOST_AUTHORITY,
}

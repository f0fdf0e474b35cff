"""What a caller wants remembered, before anything was decided about it."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from conflicts.public import ClaimDraft
from memories.extraction import Extracted
from memories.models.enums import SourceType


@dataclass(frozen=True, slots=True)
class Draft:
    """One memory as asked for; None means "not given"."""

    namespace: str
    content: str
    # What others said of which a door made the content.
    parts: Sequence[str] = ()
    agent_id: str | None = None
    type: str | None = None
    category: str = ""
    source_type: str = SourceType.MANUAL
    source_id: str = ""
    # The caller's own name for it: what is said again under it replaces what was said.
    key: str = ""
    workflow_id: str = ""
    conversation_id: str = ""
    sequence: int | None = None
    tags: list[str] = field(default_factory=list)
    entities: list[dict[str, Any]] | None = None
    topics: list[str] | None = None
    outcome: str = ""
    importance: float | None = None
    emotional_valence: float | None = None
    is_pinned: bool = False
    is_anchor: bool = False
    event_at: datetime.datetime | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    # The source class that was asked for; None takes `default_source`, lowered to the grant's ceiling.
    source: str | None = None
    default_source: str = "inference"
    provenance_source_id: str = ""
    parents: list[uuid.UUID] = field(default_factory=list)
    claims: Sequence[ClaimDraft] = ()
    # Read claims out of the text; who "I" is in it, "user" when not given; what was read in it with all around it.
    extract_claim: bool = False
    speaker: str | None = None
    read_before: Sequence[Extracted] | None = None
    # Said by the user before our eyes: counts as user_explicit, when the grant may attest that.
    attested: bool = False

"""The shapes of answers about fragments."""

import datetime
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from conflicts.public import Admission
from memories.models import Claim, EmbeddingModel, Fragment
from memories.models.enums import (
    ClaimScope,
    Compression,
    FragmentType,
    LinkKind,
    Outcome,
    SourceClass,
    SourceType,
    Status,
    Tier,
)
from memories.providers import active_model

AS_IT_IS = (
    serializers.CharField,
    serializers.ChoiceField,
    serializers.IntegerField,
    serializers.FloatField,
    serializers.BooleanField,
    serializers.DictField,
)


class Shown(serializers.Serializer[Any]):
    """Shows a row by steps that are worked out once: a page of answers takes a fifth of the time."""

    @cached_property
    def _plain(self) -> tuple[list[str], Callable[[Any], tuple[Any, ...]]]:
        """The fields that are shown as they are, and what takes all of them from a row."""
        plain = [(name, field.source) for name, field in self.fields.items() if field.source_attrs]
        plain = [(name, source) for name, source in plain if not _wording(self.fields[name])]
        if len(plain) < 2:  # of one `attrgetter` gives no tuple
            return [], lambda _: ()
        names, sources = zip(*plain, strict=True)
        return list(names), attrgetter(*sources)

    @cached_property
    def _worded(self) -> list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]:
        """Each other field: how its value is taken from a row, and how it is worded."""
        plain, _ = self._plain
        return [(name, *_steps(field)) for name, field in self.fields.items() if name not in plain]

    @cached_property
    def _blank(self) -> dict[str, Any]:
        return dict.fromkeys(self.fields)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """The row in JSON's terms, a model's times and ids in words."""
        shown = self._blank.copy()
        names, values = self._plain
        shown.update(zip(names, values(instance), strict=True))
        for name, read, show in self._worded:
            value = read(instance)
            shown[name] = None if value is None else show(value)
        return shown


def _steps(field: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return how a field's value is taken from a row, and how it is worded."""
    if isinstance(field, serializers.SerializerMethodField):
        return getattr(field.parent, field.method_name), _as_it_is
    return attrgetter(field.source) if field.source_attrs else field.get_attribute, _wording(field) or _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _wording(field: Any) -> Callable[[Any], Any] | None:
    """Return how the field's value is worded; None where it is as it should be."""
    if isinstance(field, serializers.ListField) and type(field.child) in AS_IT_IS:
        return None
    if type(field) is serializers.UUIDField:
        return str
    if type(field) is serializers.DateTimeField:
        return _moment
    return None if type(field) in AS_IT_IS else field.to_representation


def _moment(value: datetime.datetime) -> str:
    """Return a time as the framework words it; the product's times are in UTC, which takes no conversion then."""
    if value.tzinfo is not datetime.UTC:
        value = value.astimezone(datetime.UTC)
    return value.isoformat().removesuffix("+00:00") + "Z"


class OrNull(serializers.CharField):
    """A text column whose empty value answers null."""

    def to_representation(self, value: Any) -> Any:
        """Return the text or None."""
        return value or None


class EntityAnswer(serializers.Serializer[Any]):
    """A named thing in the text."""

    text = serializers.CharField()
    label = serializers.CharField()
    confidence = serializers.FloatField()

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """The fields, as they are kept."""
        return {"text": instance["text"], "label": instance["label"], "confidence": float(instance["confidence"])}


class LinkAnswer(serializers.Serializer[Any]):
    """A link to another fragment."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(LinkKind.choices)
    similarity = serializers.FloatField()


class ProvenanceAnswer(Shown):
    """Where the fragment comes from and how far that may be believed."""

    source = serializers.ChoiceField(SourceClass.choices)
    source_id = OrNull(source="provenance_source_id", allow_null=True)
    authority = serializers.IntegerField()
    owner = serializers.UUIDField(source="owner_id", allow_null=True)
    corroboration = serializers.IntegerField()
    trust = serializers.FloatField(source="trust_now", read_only=True, help_text="Trust now.")
    parents = serializers.ListField(child=serializers.UUIDField())


class ClaimFields(Shown):
    """What is said, structured."""

    subject = serializers.CharField()
    predicate = serializers.CharField()
    value = serializers.CharField()
    exclusive = serializers.BooleanField()
    scope = serializers.ChoiceField(ClaimScope.choices)
    session_id = OrNull(allow_null=True)
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    authority = serializers.IntegerField()


class ClaimAnswer(ClaimFields):
    """What the fragment says, structured."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(Status.choices, help_text="Of several one may wait or be replaced by itself.")
    position = serializers.IntegerField(help_text="In the order of the text, from 0.")
    span = serializers.SerializerMethodField()
    superseded_by = serializers.UUIDField(
        source="superseded_by_id", allow_null=True, help_text="The memory that replaced this claim alone."
    )
    last_seen_at = serializers.DateTimeField()

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField(), allow_null=True))
    def get_span(self, claim: Claim) -> list[int] | None:
        """Where the text says it: from which character, up to which."""
        return None if claim.span_start is None or claim.span_end is None else [claim.span_start, claim.span_end]


class EmbeddingAnswer(serializers.Serializer[Any]):
    """Which model embeds the fragment, and whether it has."""

    model = serializers.CharField()
    dim = serializers.IntegerField()
    state = serializers.ChoiceField(["ready", "pending"])
    vector = serializers.ListField(child=serializers.FloatField(), allow_null=True, required=False)


class ContestAnswer(serializers.Serializer[Any]):
    """A memory that this one contradicts: one is what a person ruled, the other what the user said since."""

    id = serializers.UUIDField()
    part = serializers.ChoiceField(["user", "ruling"], help_text="What this memory is of the two.")


class FragmentAnswer(Shown):
    """A fragment as the API shows it (docs/spec.md §3)."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.root_name")
    user = serializers.CharField(source="namespace.user", allow_null=True)
    project = serializers.CharField(source="project.name")
    agent_id = serializers.CharField()
    type = serializers.ChoiceField(FragmentType.choices)
    content = serializers.CharField(source="shown")
    key = OrNull(allow_null=True, help_text="The caller's own name for it.")
    category = OrNull(allow_null=True)
    source_type = serializers.ChoiceField(SourceType.choices)
    source_id = OrNull(allow_null=True)
    source_ids = serializers.ListField(child=serializers.CharField())
    workflow_id = OrNull(allow_null=True)
    conversation_id = OrNull(allow_null=True)
    sequence = serializers.IntegerField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    entities = EntityAnswer(many=True)
    topics = serializers.ListField(child=serializers.CharField())
    outcome = serializers.SerializerMethodField()
    importance = serializers.FloatField()
    emotional_valence = serializers.FloatField()
    is_pinned = serializers.BooleanField()
    is_anchor = serializers.BooleanField()
    status = serializers.ChoiceField(Status.choices)
    archived_reason = OrNull(allow_null=True, help_text="Why it left the memories that answer: decayed, retracted, …")
    tier = serializers.ChoiceField(Tier.choices)
    compression = serializers.ChoiceField(Compression.choices)
    base_relevance = serializers.FloatField()
    relevance_score = serializers.SerializerMethodField()
    effective_weight = serializers.SerializerMethodField()
    access_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    event_at = serializers.DateTimeField(allow_null=True)
    last_accessed_at = serializers.SerializerMethodField()
    revision = serializers.IntegerField()
    extra = serializers.DictField()
    claim = serializers.SerializerMethodField()
    claims = serializers.SerializerMethodField()
    provenance = ProvenanceAnswer(source="*")
    trust = serializers.FloatField(source="trust_now", read_only=True, help_text="Trust now.")
    confidence = serializers.FloatField(source="trust_now", read_only=True, help_text="Confidence is trust.")
    reinforcements = serializers.IntegerField()
    disputes = serializers.IntegerField()
    superseded_by = serializers.UUIDField(source="superseded_by_id", allow_null=True)
    supersedes = serializers.SerializerMethodField()
    links = serializers.SerializerMethodField()
    contested = serializers.SerializerMethodField()
    embedding = serializers.SerializerMethodField()

    @property
    def _now(self) -> datetime.datetime:
        now: datetime.datetime = self.context["now"]
        return now

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """The row in JSON's terms, with its trust now."""
        instance.trust_now = round(instance.trust_at(self._now), 4)
        return super().to_representation(instance)

    def get_outcome(self, row: Fragment) -> Outcome | None:
        """The outcome or None."""
        return Outcome(row.outcome) if row.outcome else None

    @extend_schema_field(ClaimAnswer(allow_null=True))
    def get_claim(self, row: Any) -> Any:
        """The first claim that is as the fragment, or None."""
        claims: list[Claim] = row.claims_made
        claim = next((claim for claim in claims if not claim.verdict), next(iter(claims), None))
        return _told(claim) if claim else None

    @extend_schema_field(ClaimAnswer(many=True))
    def get_claims(self, row: Any) -> Any:
        """All claims, in the order of the text."""
        return [_told(claim) for claim in row.claims_made]

    def get_relevance_score(self, row: Fragment) -> float:
        """Relevance now, decayed."""
        return round(row.relevance_at(self._now), 6)

    def get_effective_weight(self, row: Fragment) -> float:
        """Weight now."""
        return round(row.weight_at(self._now), 6)

    def get_last_accessed_at(self, row: Fragment) -> datetime.datetime | None:
        """When an answer last contained it."""
        access = getattr(row, "access", None)
        return access.last_accessed_at if access else None

    def get_supersedes(self, row: Any) -> list[str]:
        """The ids of what it replaced."""
        return list(row.replaced)

    @extend_schema_field(LinkAnswer(many=True))
    def get_links(self, row: Any) -> list[dict[str, Any]]:
        """What it is linked to."""
        return [{"id": other, "kind": kind, "similarity": similarity} for other, kind, similarity in row.linked]

    @extend_schema_field(ContestAnswer(many=True))
    def get_contested(self, row: Any) -> list[dict[str, Any]]:
        """Against what it stands until a person decides."""
        return [{"id": other, "part": part} for other, part in row.contested]

    def get_embedding(self, row: Any) -> EmbeddingAnswer:
        """Model, dimensions, state."""
        model: EmbeddingModel = self.context["model"]
        waiting = str(model.id) in row.waiting_for
        return {"model": model.name, "dim": model.dim, "state": "pending" if waiting else "ready"}  # type: ignore[return-value]


_told = ClaimAnswer().to_representation  # one at rest, for the reason told below


class PendingConflictAnswer(serializers.Serializer[Any]):
    """A conflict that a new fragment opened."""

    id = serializers.UUIDField()
    existing_id = serializers.UUIDField(allow_null=True)
    reason = serializers.CharField()
    new_authority = serializers.IntegerField(allow_null=True)
    existing_authority = serializers.IntegerField(allow_null=True)
    new_trust = serializers.FloatField(allow_null=True)
    existing_trust = serializers.FloatField(allow_null=True)


_opened = PendingConflictAnswer().to_representation


class ChangedAnswer(FragmentAnswer):
    """A fragment just changed, and what that did to others."""

    superseded = serializers.ListField(child=serializers.UUIDField())
    pending_conflicts = PendingConflictAnswer(many=True)


class StoredAnswer(ChangedAnswer):
    """A fragment just stored, and what that did to others."""

    deduplicated = serializers.BooleanField()
    replaced = serializers.BooleanField(help_text="It stood under this key already and says this now.")


# Making a serializer copies every field, which takes longer than answering: those at rest are used again.
_at_rest: deque[tuple[FragmentAnswer, dict[str, Any]]] = deque(maxlen=32)


def answers(
    rows: Sequence[Fragment], *, now: datetime.datetime, model: EmbeddingModel | None = None
) -> list[dict[str, Any]]:
    """Fragments as the API shows them, with the state of their embedding under `model`, else under the active one."""
    try:
        serializer, context = _at_rest.pop()
    except IndexError:
        context = {}
        serializer = FragmentAnswer(context=context)
    context.update(now=now, model=model or active_model())
    shown = [serializer.to_representation(row) for row in rows]
    _at_rest.append((serializer, context))
    return shown


def stored(
    admissions: Sequence[Admission],
    rows: Sequence[Fragment],
    *,
    now: datetime.datetime,
    model: EmbeddingModel | None = None,
) -> list[dict[str, Any]]:
    """Return the answers to stores: the fragments, and what each did to others."""
    return [
        {
            **shown,
            "deduplicated": admission.deduplicated,
            "replaced": admission.replaced,
            **effects_of(admission),
        }
        for admission, shown in zip(admissions, answers(rows, now=now, model=model), strict=True)
    ]


def effects_of(admission: Admission) -> dict[str, Any]:
    """Return what a fragment did to others that was stored or changed."""
    return {
        "superseded": [str(other) for other in admission.superseded],
        "pending_conflicts": [_opened(conflict) for conflict in admission.pending_conflicts],
    }

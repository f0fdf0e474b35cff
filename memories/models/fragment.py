"""Fragments: the canonical record of one memory (docs/spec.md §3), its old texts and how often it was read."""

import datetime
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Exists, OuterRef, lookups
from django.db.models.expressions import RawSQL
from django.db.models.functions import Length
from django.utils import timezone

from memories.models.branch import Origin
from memories.models.enums import INSTRUCTION, Compression, FragmentType, Outcome, SourceClass, SourceType, Status, Tier
from memories.models.history import tracked
from memories.models.scoring import (
    MORE_STABLE,
    MOST_STABLE,
    OWN_RATES,
    Rates,
    TrustParts,
    days_between,
    trust_parts,
)
from memories.models.table_spec import TableSpec
from memories.models.tenant import (
    Current,
    TenantModel,
    TenantQuerySet,
    Xid8Field,
    between,
    in_calendar,
    json_of,
    one_of,
    parent,
    unique_in_project,
)

# Why a memory is archived where neither gate nor upkeep did it: a key did, or a person, whose word binds keys.
BY_HAND, BY_PERSON = "by_hand", "by_person"
# Why it is archived where a rollback found it not there yet: likewise.
ROLLED_BACK = "rolled_back"
# Why a memory is quarantined that no conflict is about: as if it had never been written.
CONTAINED = "contained"
HAPPENED_AT_A_TIME = models.Q(event_at__isnull=False)
LONGEST_TEXT = 2000  # that the column takes
CONTENT_LIMIT: int = settings.MAX_CONTENT_LENGTH
KEY_LIMIT = 512
SENTENCE = 3  # words: a value of fewer says nothing by itself

# What row history keeps: ids, enums, numbers, times and the keyed digest; never text (docs/spec.md §4 audit).
EVENT_FIELDS = [
    *("id", "project", "namespace", "type", "source_type", "sequence", "outcome", "importance", "emotional_valence"),
    *("is_pinned", "is_anchor", "status", "tier", "compression", "base_relevance"),
    *("created_at", "updated_at", "event_at", "revision"),
    *("source", "authority", "grant_id", "owner_id", "corroboration", "reinforcements", "disputes"),
    *("superseded_by", "fingerprint", "details_digest"),
]


class FragmentQuerySet(TenantQuerySet):
    """Named questions about many fragments."""

    def in_namespaces(self, namespaces: list[Any]) -> Self:
        """Return those of the given namespaces (rows or ids)."""
        return self.filter(namespace__in=namespaces)

    def totals(self) -> dict[str, int]:
        """Return how many there are, and how many of them are active."""
        return {"total": self.count(), "active": self.filter(status=Status.ACTIVE).count()}

    def newest_first(self) -> Self:
        """In the order of lists and cursors."""
        return self.order_by("-created_at", "-id")

    def unforked(self) -> Self:
        """Return those that no fork and no restore into a branch copied from where it branched off."""
        copies = Origin.objects.filter(
            fragment_id=OuterRef("id"), operation_id=None, namespace__forked_from__isnull=False
        )
        return self.exclude(Exists(copies))

    def saying(self, content: str) -> Self:
        """Return those of this text, in any guise by which it would be barred."""
        return self.alias(says=RawSQL(SAYS, [content, content])).filter(says=True)


# As fingerprints tell texts: a text of punctuation alone is known by its signs.
SAYS = "memories_fragment.content = %s OR nova_folded(memories_fragment.content) = NULLIF(nova_folded(%s), '')"
PROCEDURE = ["trigger", "steps"]  # what may stand beside a text in `extra`, and is said with it


MOST_TOPICS = 5  # that stand for a text


def listed(names: Sequence[str]) -> str:
    """Return "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def procedure_of(extra: Mapping[str, Any]) -> list[str]:
    """Return the trigger and the steps that stand beside a text, as they are shown."""
    steps = extra.get("steps")
    return [str(part) for part in (extra.get("trigger"), *(steps if isinstance(steps, list) else ())) if part]


def wording_of(content: str, extra: Mapping[str, Any]) -> str:
    """Return all that a memory says: its text, its trigger and its steps, whatever its type is by now."""
    return "\n".join([content, *procedure_of(extra)])


def says_something(text: str) -> bool:
    """Return whether a value says something by itself: it has words enough."""
    return len(text.split()) >= SENTENCE


def strings_in(value: Any) -> Iterator[str]:
    """Return every text within what JSON can hold, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings_in([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings_in(each)


@tracked(*EVENT_FIELDS)
class Fragment(TenantModel):
    """One memory. `created_at`, authority, grant, owner and lineage never change: a trigger refuses it."""

    namespace = parent("memories.Namespace")
    agent_id = models.CharField(max_length=63)
    type = models.CharField(max_length=16, choices=FragmentType)
    content = models.TextField()
    category = models.CharField(max_length=100, blank=True)
    source_type = models.CharField(max_length=16, choices=SourceType)
    source_id = models.CharField(max_length=255, blank=True)
    source_ids = ArrayField(models.CharField(max_length=255), default=list)
    # The caller's own name for it, once in a namespace; empty is none. Never changes (trigger).
    key = models.CharField(max_length=KEY_LIMIT, blank=True, default="", db_default="")
    workflow_id = models.CharField(max_length=255, blank=True)
    conversation_id = models.CharField(max_length=255, blank=True)
    sequence = models.IntegerField(null=True)
    tags = ArrayField(models.CharField(max_length=100), default=list)
    entities = models.JSONField(default=list)
    topics = ArrayField(models.CharField(max_length=100), default=list)
    outcome = models.CharField(max_length=16, choices=Outcome, blank=True)
    importance = models.FloatField()
    emotional_valence = models.FloatField(default=0.0)
    is_pinned = models.BooleanField(default=False)
    is_anchor = models.BooleanField(default=False)
    status = models.CharField(max_length=16, choices=Status, default=Status.ACTIVE)
    tier = models.CharField(max_length=8, choices=Tier, default=Tier.HOT)
    compression = models.CharField(max_length=16, choices=Compression, default=Compression.FULL)
    base_relevance = models.FloatField(default=1.0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    event_at = models.DateTimeField(null=True)
    revision = models.PositiveIntegerField(default=1)
    extra = models.JSONField(default=dict)

    # Provenance: fixed when written.
    source = models.CharField(max_length=16, choices=SourceClass)
    provenance_source_id = models.CharField(max_length=255, blank=True)
    authority = models.SmallIntegerField()
    grant_id = models.UUIDField(null=True)
    owner_id = models.UUIDField(null=True)
    parents = ArrayField(models.UUIDField(), default=list)
    roots = ArrayField(models.UUIDField(), default=list)

    # What trust is made of (docs/spec.md §4); counted once per owner and lineage root.
    corroboration = models.PositiveIntegerField(default=1)
    reinforcements = models.PositiveIntegerField(default=0)
    disputes = models.PositiveIntegerField(default=0)
    superseded_by = parent("memories.Fragment", related_name="supersedes", null=True)
    archived_reason = models.CharField(max_length=64, blank=True)

    # Set by triggers.
    fingerprint = models.BinaryField(max_length=32, default=b"", editable=False)
    # Of the other columns that hold a caller's words, so that history shows their change without holding them.
    details_digest = models.BinaryField(max_length=32, default=b"", editable=False)
    change = Xid8Field(db_default=Current(), editable=False)

    objects = FragmentQuerySet.as_manager()
    # Forgotten: row deleted, fingerprint kept in `erasure`.
    spec = TableSpec(
        kind="canonical",
        record="fragment",
        made=("change", "fingerprint", "details_digest"),
        local=("project_id", "namespace_id"),
        later={"key": ""},
        erase="swept",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("fragment_project_id", "id"),
            models.UniqueConstraint(
                fields=["project", "namespace", "key"], condition=~models.Q(key=""), name="fragment_key"
            ),
            models.CheckConstraint(
                condition=models.Q(content__regex=r"^\S(.*\S)?$")
                & models.Q(lookups.LessThanOrEqual(Length("content"), LONGEST_TEXT)),
                name="fragment_content_trimmed",
            ),
            one_of("fragment_type", "type", FragmentType),
            one_of("fragment_source_type", "source_type", SourceType),
            one_of("fragment_outcome", "outcome", Outcome, blank=True),
            one_of("fragment_status", "status", Status),
            one_of("fragment_tier", "tier", Tier),
            one_of("fragment_compression", "compression", Compression),
            one_of("fragment_source", "source", SourceClass),
            between("fragment_importance", "importance", 0, 1),
            between("fragment_valence", "emotional_valence", -1, 1),
            between("fragment_base_relevance", "base_relevance", 0, 1),
            between("fragment_authority", "authority", 1, 6),
            models.CheckConstraint(condition=models.Q(revision__gte=1), name="fragment_revision"),
            models.CheckConstraint(condition=models.Q(corroboration__gte=1), name="fragment_corroboration"),
            in_calendar("fragment_event_in_calendar", "event_at"),
            json_of("fragment_entities_array", "entities", "array"),
            json_of("fragment_extra_object", "extra", "object"),
        ]
        indexes: ClassVar = [
            # Lists and cursor pages of a namespace, newest first.
            models.Index(fields=["project", "namespace", "status", "-created_at", "-id"], name="fragment_pages"),
            # How many there are of each kind, without a look at the rows.
            models.Index(fields=["project", "namespace", "status", "type", "tier"], name="fragment_facets"),
            # Re-ingesting a file and bridges: is this source already here?
            models.Index(
                fields=["project", "namespace", "source_id"],
                name="fragment_by_source",
                condition=~models.Q(source_id=""),
            ),
            # The neighbours of a turn in its conversation.
            models.Index(
                fields=["project", "namespace", "conversation_id", "sequence"],
                name="fragment_by_conversation",
                condition=~models.Q(conversation_id=""),
            ),
            # Searches for what happened in some time.
            models.Index(
                fields=["project", "namespace", "event_at"], name="fragment_by_event", condition=HAPPENED_AT_A_TIME
            ),
            # Digests, which are few: forgetting looks for those that hold a memory's words.
            models.Index(
                fields=["project", "id"], name="fragment_digests", condition=models.Q(source_type=SourceType.DIGEST)
            ),
            # Standing instructions, which are few: each search asks for them.
            models.Index(
                fields=["project", "namespace"],
                name="fragment_instructions",
                condition=models.Q(extra__has_key=INSTRUCTION),
            ),
            # What a fragment replaced.
            models.Index(
                fields=["project", "superseded_by"],
                name="fragment_by_successor",
                condition=models.Q(superseded_by__isnull=False),
            ),
        ]

    if TYPE_CHECKING:
        events: Any  # the manager that `tracked` adds

    def __str__(self) -> str:
        """Type, the first 100 characters, agent and project."""
        return f"[{self.type}] {self.content[:100]} ({self.agent_id}, {self.project.name})"

    @property
    def procedure(self) -> list[str]:
        """When to do it and in which steps, as far as given beside the text."""
        return procedure_of(self.extra)

    @property
    def words_beside(self) -> list[str]:
        """What stands beside its text and says something by itself: in category, tags and `extra`."""
        return [text for text in strings_in([self.category, self.tags, self.extra]) if says_something(text)]

    @property
    def wording(self) -> str:
        """All that it says; see `wording_of`."""
        return wording_of(self.content, self.extra)

    @property
    def shown(self) -> str:
        """Its text; where compaction left none of it, what it was about, as a tombstone would say."""
        if self.compression != Compression.HASH:
            return self.content
        people = [entity["text"] for entity in self.entities if entity.get("label") == "person"]
        with_whom = f" with {listed(people)}" if people else ""
        known = f"I previously knew about {listed(self.topics[:MOST_TOPICS]) or 'something'}{with_whom}"
        return f"{known} around {self.event_at or self.created_at:%B %Y}, but its words were put away to save room."

    @property
    def last_used_at(self) -> datetime.datetime:
        """The later of birth and last access: what decay counts from."""
        access = getattr(self, "access", None)
        return max(self.created_at, access.last_accessed_at) if access else self.created_at

    @property
    def access_count(self) -> int:
        """How often answers contained it."""
        access = getattr(self, "access", None)
        return access.access_count if access else 0

    def relevance_at(self, now: datetime.datetime) -> float:
        """Return what decay has left of its relevance, by its project's rates."""
        kept, access = self.is_pinned or self.is_anchor, getattr(self, "access", None)
        days = days_between(self.last_used_at, now) / (access.stability if access else 1)
        return self.project.rates_in_force.decayed(self.base_relevance, days=days, kept=kept)

    def weight_at(self, now: datetime.datetime) -> float:
        """Return its effective weight, by its project's rates."""
        return self.project.rates_in_force.effective_weight(
            importance=self.importance,
            access_count=self.access_count,
            age_days=days_between(self.created_at, now),
            valence=self.emotional_valence,
            pinned_or_anchor=self.is_pinned or self.is_anchor,
        )

    def trust_parts_at(self, now: datetime.datetime | None) -> TrustParts:
        """Return what its trust is made of; without its age part when `now` is None."""
        return trust_parts(
            source=self.source,
            corroboration=self.corroboration,
            reinforcements=self.reinforcements,
            disputes=self.disputes,
            age_days=days_between(self.created_at, now) if now else 0.0,
        )

    def trust_at(self, now: datetime.datetime | None) -> float:
        """Return its trust, 0 to 1; without its age part when `now` is None."""
        return self.trust_parts_at(now).trust

    def said_at(self) -> datetime.datetime:
        """Return when what it says was said: when it was made, or its text or claims were changed last.

        A turn of a conversation that was told later says so itself.
        """
        first = self.created_at
        if self.source_type == SourceType.CONVERSATION and self.event_at is not None:
            first = min(self.event_at, first)
        former = Revision.objects.within(self.project_id).filter(fragment=self.id) if self.revision > 1 else None
        changed = former and former.aggregate(at=models.Max("recorded_at"))["at"]
        return max(first, changed or first)


class Revision(TenantModel):
    """A former text of a fragment, the newest 500; written by a trigger, erased with the fragment."""

    fragment = parent("memories.Fragment", related_name="revisions")
    revision = models.PositiveIntegerField()
    content = models.TextField()
    # The former claim, when that is what changed: subject, predicate, value and their digests.
    claim = models.JSONField(null=True)
    recorded_at = models.DateTimeField(default=timezone.now)

    spec = TableSpec(
        kind="canonical",
        inside="revisions",
        archived="revisions",
        belongs_to=("fragment_id",),
        local=("project_id", "fragment_id"),
        erase="cascade",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("revision_project_id", "id"),
            unique_in_project("revision_of_fragment", "fragment", "revision"),
            json_of("revision_claim_object", "claim", "object"),
        ]

    def __str__(self) -> str:
        return f"revision {self.revision} of {self.fragment_id}"


class AccessQuerySet(TenantQuerySet):
    """Access counts."""

    def count_up(
        self, project_id: uuid.UUID, counts: Mapping[uuid.UUID, int], latest: Mapping[uuid.UUID, datetime.datetime]
    ) -> None:
        """Add counts and moves last access forward; fragments that are gone, or go meanwhile, are passed over.

        Under `decay_sm2` an access on a later day (UTC) than the one before, or than birth, makes more stable.
        """
        ids = sorted(counts)

        def later(at: str, before: str, stability: str) -> str:
            days = " > ".join(f"({moment} AT TIME ZONE 'UTC')::date" for moment in (at, before))
            grown = f"least({MOST_STABLE}, {stability} * {MORE_STABLE})"
            return f"CASE WHEN (SELECT sm2 FROM held_to) AND {days} THEN {grown} ELSE {stability} END"

        with connection.cursor() as cursor:
            cursor.execute(
                f"""WITH here AS MATERIALIZED (
                       SELECT project_id, id, created_at FROM memories_fragment
                       WHERE project_id = %(project)s AND id = ANY (%(ids)s) ORDER BY id FOR KEY SHARE
                   ), held_to AS (SELECT coalesce(({OWN_RATES} ->> 'decay_sm2')::boolean, %(sm2)s) AS sm2)
                   INSERT INTO memories_access AS a
                       (project_id, fragment_id, access_count, count_at_tier, last_accessed_at, stability)
                   SELECT f.project_id, f.id, t.n, 0, t.at, {later("t.at", "f.created_at", "1::float8")}
                   FROM unnest(%(ids)s::uuid[], %(counts)s::int[], %(latest)s::timestamptz[]) AS t (id, n, at)
                   JOIN here f ON f.id = t.id
                   ORDER BY f.id
                   ON CONFLICT (fragment_id) DO UPDATE SET access_count = a.access_count + excluded.access_count,
                       last_accessed_at = greatest(a.last_accessed_at, excluded.last_accessed_at),
                       stability = {later("excluded.last_accessed_at", "a.last_accessed_at", "a.stability")}""",
                {
                    "project": project_id,
                    "ids": ids,
                    "counts": [counts[i] for i in ids],
                    "latest": [latest[i] for i in ids],
                    "sm2": Rates().decay_sm2,
                },
            )


class Access(models.Model):
    """How often and when a fragment was last part of an answer: narrow, so that counting stays cheap (HOT)."""

    fragment = models.OneToOneField(
        Fragment, on_delete=models.DO_NOTHING, db_constraint=False, primary_key=True, related_name="access"
    )
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    access_count = models.PositiveIntegerField(default=0)
    # What access_count was when the fragment came into its tier.
    count_at_tier = models.PositiveIntegerField(default=0)
    last_accessed_at = models.DateTimeField()
    # Divides the rate of decay; grows under `decay_sm2` only.
    stability = models.FloatField(default=1.0)

    objects = AccessQuerySet.as_manager()
    spec = TableSpec(
        kind="canonical",
        inside="access",
        archived="accesses",
        belongs_to=("fragment_id",),
        local=("project_id", "fragment_id"),
        erase="cascade",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("access_project_id", "fragment"),
            models.CheckConstraint(
                name="access_stability", condition=models.Q(stability__gte=1, stability__lte=MOST_STABLE)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.access_count} × {self.fragment_id}"

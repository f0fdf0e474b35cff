"""What belief keeps beside the claims: rules of predicates, votes, and the conflicts that wait for a person."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models.functions import Coalesce
from django.utils import timezone

from conflicts.enums import Ballot, ConflictKind, ConflictReason, Keep, Normaliser, Policy, Resolution
from memories.models.history import tracked
from memories.models.table_spec import TableSpec
from memories.models.tenant import (
    TenantModel,
    TenantQuerySet,
    between,
    json_of,
    one_of,
    parent,
    unique_in_project,
)


@tracked(
    *("id", "project", "namespace", "exclusive", "normaliser", "policy", "revision"),
    digested=("name", "aliases"),
)
class Predicate(TenantModel):
    """A predicate's rule in one namespace; it comes before the built-in one of that name."""

    namespace = parent("memories.Namespace")
    name = models.CharField(max_length=100)
    aliases = ArrayField(models.CharField(max_length=100), default=list)
    # The name in canonical spelling, hashed: unique, and never too long for an index.
    spelling_digest = models.BinaryField(max_length=32)
    exclusive = models.BooleanField(default=True)
    normaliser = models.CharField(max_length=16, choices=Normaliser, default=Normaliser.TEXT)
    policy = models.CharField(max_length=16, choices=Policy, default=Policy.REVIEW)
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    # Kept: names no memory.
    spec = TableSpec(
        kind="canonical",
        record="predicate",
        local=("project_id", "namespace_id", "spelling_digest"),
        erase="kept",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("predicate_project_id", "id"),
            unique_in_project("predicate_once", "namespace", "spelling_digest"),
            one_of("predicate_normaliser", "normaliser", Normaliser),
            one_of("predicate_policy", "policy", Policy),
        ]

    def __str__(self) -> str:
        return self.name


class Vote(TenantModel):
    """One owner's word on a fragment; the last one counts. A corroboration names where it comes from."""

    fragment = parent("memories.Fragment", related_name="votes")
    owner_id = models.UUIDField(null=True)
    ballot = models.CharField(max_length=16, choices=Ballot)
    # False for one's own fragment, for a source that was heard before, and for disputes that only open a review.
    counted = models.BooleanField()
    roots = ArrayField(models.CharField(max_length=255), default=list)
    reason = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    spec = TableSpec(
        kind="canonical",
        inside="votes",
        archived="votes",
        belongs_to=("fragment_id",),
        local=("project_id", "fragment_id"),
        erase="cascade",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("vote_project_id", "id"),
            # An owner reinforces or disputes, and may besides corroborate.
            models.UniqueConstraint(
                fields=["project", "fragment", "owner_id"],
                condition=~models.Q(ballot="corroborate"),
                nulls_distinct=False,
                name="vote_once",
            ),
            models.UniqueConstraint(
                fields=["project", "fragment", "owner_id"],
                condition=models.Q(ballot="corroborate"),
                nulls_distinct=False,
                name="vote_corroborates_once",
            ),
            one_of("vote_ballot", "ballot", Ballot),
        ]

    def __str__(self) -> str:
        return f"{self.ballot} of {self.fragment_id}"


# What a conflict says of the newcomer's opponent.
FACED_COLUMNS = {
    "existing_id": "uuid[]",
    "existing_claim": "uuid[]",
    "existing_authority": "int[]",
    "existing_trust": "float[]",
    "reason": "varchar[]",
}
FACED = tuple(FACED_COLUMNS)


class PendingConflictQuerySet(TenantQuerySet):
    """Conflicts."""

    def pending(self) -> "PendingConflictQuerySet":
        """Return those that wait."""
        return self.filter(resolved_at=None)

    def end(self, *, now: datetime.datetime) -> None:
        """End conflicts that leave nothing to decide."""
        self.update(resolution=Resolution.OBSOLETE, resolved_at=now, revision=models.F("revision") + 1)


@tracked(
    "id",
    "project",
    "namespace",
    "kind",
    "reason",
    "newcomer",
    "existing",
    "new_authority",
    "existing_authority",
    "revision",
    "resolution",
    "resolved_by",
    "resolved_at",
)
class PendingConflict(TenantModel):
    """A newcomer in quarantine and the standing claim that it opposes, until a person settles it.

    It stays as the record of the decision: a value that was rejected is known again by its digests, which are keyed.
    """

    namespace = parent("memories.Namespace")
    kind = models.CharField(max_length=16, choices=ConflictKind)
    reason = models.CharField(max_length=32, choices=ConflictReason)
    newcomer = parent("memories.Fragment", related_name="conflicts", null=True)
    existing = parent("memories.Fragment", related_name="challenges", null=True)
    # Which claims of both: none of a text that claims nothing. Ids alone, for claims are written anew.
    newcomer_claim = models.UUIDField(null=True)
    existing_claim = models.UUIDField(null=True)
    subject_digest = models.BinaryField(max_length=32, default=b"")
    predicate_digest = models.BinaryField(max_length=32, default=b"")
    key_digest = models.BinaryField(max_length=32, default=b"")
    value_digest = models.BinaryField(max_length=32, default=b"")
    scope = models.CharField(max_length=16, blank=True)
    session_id = models.CharField(max_length=255, blank=True)
    # What free text was read as; erased when the text is.
    statement = models.JSONField(null=True)
    new_authority = models.SmallIntegerField(null=True)
    existing_authority = models.SmallIntegerField(null=True)
    new_trust = models.FloatField(null=True)
    existing_trust = models.FloatField(null=True)
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    resolved_at = models.DateTimeField(null=True)
    resolution = models.CharField(max_length=16, choices=Resolution, blank=True)
    keep = models.CharField(max_length=16, choices=Keep, blank=True)
    resolved_by = models.UUIDField(null=True)
    note = models.CharField(max_length=1000, blank=True)
    # The former state of all that a decision touched, for undo: ids, enums, times.
    before = models.JSONField(null=True)

    # Set by `settling.with_claims`.
    new_claim: Any = None
    old_claim: Any = None

    objects = PendingConflictQuerySet.as_manager()
    # Kept without statement and note: keyed digests, ids and enums.
    # Copied: what waits, and what a person rejected; other decisions stay where they were made.
    spec = TableSpec(
        kind="canonical",
        record="conflict",
        local=("project_id", "namespace_id"),
        later={"newcomer_claim": None, "existing_claim": None},
        erase="kept",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("conflict_project_id", "id"),
            models.UniqueConstraint(
                "project",
                "newcomer",
                "existing",
                Coalesce("newcomer_claim", "newcomer"),
                Coalesce("existing_claim", "existing"),
                condition=models.Q(resolved_at=None),
                name="conflict_once_pending",
            ),
            one_of("conflict_kind", "kind", ConflictKind),
            one_of("conflict_reason", "reason", ConflictReason),
            one_of("conflict_resolution", "resolution", Resolution, blank=True),
            one_of("conflict_keep", "keep", Keep, blank=True),
            models.CheckConstraint(
                condition=models.Q(resolved_at=None, resolution="")
                | models.Q(resolved_at__isnull=False, resolution__gt=""),
                name="conflict_resolved_somehow",
            ),
            between("conflict_revision", "revision", 1, 2**31 - 1),
            json_of("conflict_statement_object", "statement", "object"),
            json_of("conflict_before_object", "before", "object"),
        ]
        indexes: ClassVar = [
            # The queue, newest first.
            models.Index(fields=["project", "namespace", "-created_at", "-id"], name="conflict_pages"),
            # Is this value rejected here, does it wait here already?
            models.Index(
                fields=["project", "namespace", "key_digest"],
                name="conflict_by_key",
                condition=models.Q(resolved_at=None) | models.Q(resolution="reject"),
            ),
            # What a fragment is involved in.
            models.Index(fields=["project", "newcomer"], name="conflict_by_newcomer"),
            models.Index(fields=["project", "existing"], name="conflict_by_existing"),
        ]

    @property
    def challenger(self) -> uuid.UUID | None:
        """The newcomer's claim, or its fragment where that claims nothing."""
        return self.newcomer_claim or self.newcomer_id

    @property
    def challenged(self) -> uuid.UUID | None:
        """Likewise of what stands."""
        return self.existing_claim or self.existing_id

    @property
    def negates(self) -> bool:
        """Whether it is about a text that says something not to be so."""
        return bool(self.statement and self.statement.get("negated"))

    def end(self, *, now: datetime.datetime) -> None:
        """It leaves nothing to decide."""
        self.resolution, self.resolved_at, self.revision = Resolution.OBSOLETE, now, self.revision + 1
        self.save(update_fields=["resolution", "resolved_at", "revision"])

    def opponent(self) -> dict[str, Any]:
        """Return whom the newcomer faces, in JSON's terms."""
        values = {"existing_authority": self.existing_authority, "existing_trust": self.existing_trust}
        sides = {"existing_id": self.existing_id, "existing_claim": self.existing_claim}
        return {**values, "reason": self.reason, **{name: side and str(side) for name, side in sides.items()}}

    def face(self, opponent: dict[str, Any], *, save: bool = True) -> None:
        """Set the newcomer against another one."""
        # What was kept before there were several claims names a fragment alone, whose claim bears its id.
        claim = {"existing_claim": opponent["existing_id"]} if "existing_claim" not in opponent else {}
        for name, value in {**claim, **opponent, "revision": self.revision + 1}.items():
            setattr(self, name, value)
        if save:
            self.save(update_fields=[*FACED, "revision"])

    def reopen(self) -> None:
        """Let it wait again, as if nobody had decided; who did stays in the row history."""
        self.resolution, self.keep, self.note = "", "", ""
        self.resolved_at, self.resolved_by, self.before = None, None, None
        self.revision += 1
        self.save(update_fields=["resolution", "keep", "note", "resolved_at", "resolved_by", "before", "revision"])

    def __str__(self) -> str:
        return f"{self.kind} conflict of {self.newcomer_id} with {self.existing_id}"


def save_faced(project_id: uuid.UUID, rows: Sequence[PendingConflict]) -> None:
    """Save what `face` set on these, in one statement."""
    if not rows:
        return
    names = [*FACED_COLUMNS, "revision"]
    columns = [[getattr(row, name) for row in rows] for name in ("id", *names)]
    types = ("uuid[]", *FACED_COLUMNS.values(), "int[]")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""UPDATE conflicts_pendingconflict p SET {", ".join(f"{name} = t.{name}" for name in names)}
                FROM unnest({", ".join(f"%s::{kind}" for kind in types)}) AS t (id, {", ".join(names)})
                WHERE p.project_id = %s AND p.id = t.id""",
            [*columns, project_id],
        )


class RulingQuerySet(TenantQuerySet):
    """Rulings."""

    def in_force(self) -> "RulingQuerySet":
        """Return those that no later one replaced."""
        return self.filter(replaced_by=None)


@tracked(
    "id",
    "project",
    "namespace",
    "conflict",
    "fragment",
    "key_digest",
    "chosen",
    "ruled_out",
    "authority",
    "decided_by",
    "decided_at",
    "edited",
    "repeats",
    "replaced_by",
    digested=("subject_digest", "predicate_digest", "scope", "session_id"),
    late=("valid_from", "valid_until"),
)
class Ruling(TenantModel):
    """What a decision leaves on a key: the values that were chosen, and those that were ruled out (docs/spec.md §4.5).

    A value is known by its keyed digest, in hex; its words stand in the fragments that are named, and go with them.
    """

    namespace = parent("memories.Namespace")
    conflict = parent("conflicts.PendingConflict", related_name="rulings", null=True)
    # Of conflicts of free text and disputes: what the ruling is on.
    fragment = parent("memories.Fragment", null=True)
    subject_digest = models.BinaryField(max_length=32, default=b"")
    predicate_digest = models.BinaryField(max_length=32, default=b"")
    key_digest = models.BinaryField(max_length=32, default=b"")
    scope = models.CharField(max_length=16, blank=True)
    session_id = models.CharField(max_length=255, blank=True)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    chosen = ArrayField(models.CharField(max_length=64), default=list)
    ruled_out = ArrayField(models.CharField(max_length=64), default=list)
    chosen_fragments = ArrayField(models.UUIDField(), default=list)
    ruled_out_fragments = ArrayField(models.UUIDField(), default=list)
    # Of the texts that were ruled out, as they were said then: keyed fingerprints, as of what is forgotten, in hex.
    ruled_out_prints = ArrayField(models.CharField(max_length=64), default=list, db_default=[])
    authority = models.SmallIntegerField()
    decided_by = models.UUIDField(null=True)
    decided_at = models.DateTimeField(default=timezone.now)
    note = models.CharField(max_length=1000, blank=True)
    # The person typed what was chosen.
    edited = models.BooleanField(default=False)
    # How often a value that it rules out was said again, and when last.
    repeats = models.PositiveIntegerField(default=0)
    repeated_at = models.DateTimeField(null=True)
    replaced_by = parent("conflicts.Ruling", null=True)

    objects = RulingQuerySet.as_manager()
    # Kept without note: keyed digests, ids, enums and times.
    # Copied: those in force.
    spec = TableSpec(
        kind="canonical",
        record="ruling",
        local=("project_id", "namespace_id", "ruled_out_prints"),
        erase="kept",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("ruling_project_id", "id"),
            between("ruling_authority", "authority", 1, 6),
            models.CheckConstraint(
                condition=models.Q(valid_from__isnull=True)
                | models.Q(valid_until__isnull=True)
                | models.Q(valid_until__gt=models.F("valid_from")),
                name="ruling_period_forward",
            ),
        ]
        indexes: ClassVar = [
            # What binds a key.
            models.Index(
                fields=["project", "namespace", "key_digest"],
                name="ruling_by_key",
                condition=models.Q(replaced_by=None),
            ),
            # The list, newest first.
            models.Index(fields=["project", "namespace", "-decided_at", "-id"], name="ruling_pages"),
            # Which decision left it, what replaced it, what it is on.
            models.Index(fields=["project", "conflict"], name="ruling_by_conflict"),
            models.Index(fields=["project", "replaced_by"], name="ruling_by_successor"),
            models.Index(fields=["project", "fragment"], name="ruling_by_fragment"),
        ]

    def __str__(self) -> str:
        return f"ruling of {self.decided_at:%Y-%m-%d}"


class Reservation(TenantModel):
    """Who looks at a waiting conflict, until when: told to other reviewers, and no lock."""

    conflict = parent("conflicts.PendingConflict")
    owner_id = models.UUIDField()
    until = models.DateTimeField()

    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("reservation_project_id", "id"),
            unique_in_project("reservation_once", "conflict"),
        ]

    def __str__(self) -> str:
        return f"{self.conflict_id} until {self.until:%H:%M}"


class Repetition(TenantModel):
    """How often a memory's owner said the same again, which adds no row; last when."""

    fragment = parent("memories.Fragment", related_name="repetitions")
    times = models.PositiveIntegerField()
    last_at = models.DateTimeField()

    spec = TableSpec(kind="operational", belongs_to=("fragment_id",), erase="cascade")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("repetition_project_id", "id"),
            unique_in_project("repetition_once", "fragment"),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id}, {self.times} times"

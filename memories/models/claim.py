"""Claims: a fragment's decomposition into subject, predicate and value, one or several (docs/spec.md §4, §18.5)."""

import hashlib
import uuid
from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib.postgres.fields import DateTimeRangeField
from django.db import models
from django.db.models.fields.related_descriptors import ForwardOneToOneDescriptor, ReverseOneToOneDescriptor
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from memories.models.enums import OPEN, ClaimScope, Status
from memories.models.fragment import Fragment
from memories.models.history import tracked
from memories.models.namespace import Namespace
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantQuerySet, between, in_calendar, one_of, parent, unique_in_project

MOST_CLAIMS = 20  # of one fragment
# Words for what became of a claim while its fragment stands; without one it is as its fragment.
VERDICTS = (Status.QUARANTINED, Status.SUPERSEDED, Status.ARCHIVED)


def claim_id(fragment_id: uuid.UUID, position: int) -> uuid.UUID:
    """Return the id of a fragment's claim; the first bears its fragment's. As `nova_claim_id` works it out."""
    if not position:
        return fragment_id
    return uuid.UUID(hashlib.md5(f"{fragment_id}{position}".encode(), usedforsecurity=False).hexdigest())


class _OnlyOne(models.ForeignObjectRel):
    """The way back from a fragment leads to one claim."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.multiple = False


class FirstOf(models.ForeignObject):  # type: ignore[type-arg]  # generic to the type checker only
    """The fragment whose id a claim bears; so a fragment's first claim is read in one query with it."""

    one_to_one, many_to_one = True, False
    related_accessor_class = ReverseOneToOneDescriptor  # type: ignore[assignment]
    forward_related_accessor_class = ForwardOneToOneDescriptor
    rel_class = _OnlyOne

    def contribute_to_class(self, cls: type[models.Model], name: str, private_only: bool = False, **more: Any) -> None:
        """Join the model without a column of its own, hence without a part in migrations."""
        super().contribute_to_class(cls, name, private_only=True, **more)


class ClaimQuerySet(TenantQuerySet):
    """Claims."""

    def by_fragment(self, project_id: uuid.UUID, fragment_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, list[Any]]:
        """Return the claims of these fragments in the order of their text; those without any are left out."""
        found: dict[uuid.UUID, list[Any]] = {}
        for claim in self.within(project_id).filter(fragment__in=list(fragment_ids)).order_by("fragment", "position"):
            found.setdefault(claim.fragment_id, []).append(claim)
        return found

    def watched(self, namespace_ids: set[uuid.UUID], *, above: int) -> set[uuid.UUID]:
        """Return the namespaces among these in which a claim of more authority than `above` stands."""
        standing = self.filter(
            project_id=models.OuterRef("project_id"),
            namespace=models.OuterRef("id"),
            status__in=[Status.ACTIVE, Status.DISPUTED],
            authority__gt=above,
        )
        rows = Namespace.objects.filter(models.Exists(standing), id__in=namespace_ids)
        return set(rows.values_list("id", flat=True))


@tracked(
    "fragment",
    "project",
    "namespace",
    "subject_digest",
    "predicate_digest",
    "key_digest",
    "value_digest",
    "exclusive",
    "scope",
    "slot",
    "valid_from",
    "valid_until",
    "authority",
    "status",
    # A subject's or a key's past, of claims that speak of something else by now too.
    find_by=("subject_digest", "key_digest"),
    digested=("subject", "predicate", "value", "session_id"),
)
class Claim(models.Model):
    """What a fragment says, structured. An EXCLUDE constraint keeps two active exclusive values impossible."""

    id = models.UUIDField(primary_key=True, editable=False)
    fragment = parent("memories.Fragment", related_name="claims")
    first_of = FirstOf(
        Fragment,
        from_fields=["id"],
        to_fields=["id"],
        on_delete=models.DO_NOTHING,
        related_name="claim",
        null=True,
        unique=True,
    )
    # In the order of the text.
    position = models.PositiveSmallIntegerField(default=0)
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    namespace = parent("memories.Namespace")
    subject = models.CharField(max_length=100)
    predicate = models.CharField(max_length=100)
    value = models.CharField(max_length=1000)
    # SHA-256 of the canonical forms, keyed by the project's salt: long keys would break the GiST index, and what bare
    # digests stand for could be guessed from the history.
    subject_digest = models.BinaryField(max_length=32)
    predicate_digest = models.BinaryField(max_length=32)
    key_digest = models.BinaryField(max_length=32)
    value_digest = models.BinaryField(max_length=32)
    exclusive = models.BooleanField(default=True)
    scope = models.CharField(max_length=16, choices=ClaimScope, default=ClaimScope.GLOBAL)
    session_id = models.CharField(max_length=255, blank=True)
    slot = models.IntegerField(default=0)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    validity = models.GeneratedField(
        expression=models.Func("valid_from", "valid_until", function="tstzrange"),
        output_field=DateTimeRangeField(),
        db_persist=True,
    )
    authority = models.SmallIntegerField()
    # When somebody last said so again.
    last_seen_at = models.DateTimeField(default=timezone.now)
    # What became of it by itself; empty when it is as its fragment.
    verdict = models.CharField(max_length=16, choices=[(v.value, v.label) for v in VERDICTS], blank=True, default="")
    # Which fragment took its place.
    superseded_by = parent("memories.Fragment", null=True)
    # The place of the statement in the text, as long as that is the text that was read.
    span_start = models.PositiveIntegerField(null=True)
    span_end = models.PositiveIntegerField(null=True)
    # The fragment's or the verdict, whichever stands less: by trigger; the constraint needs it in this row.
    status = models.CharField(max_length=16, choices=Status)

    objects = ClaimQuerySet.as_manager()
    spec = TableSpec(
        kind="canonical",
        inside="claim",
        archived="claims",
        belongs_to=("fragment_id",),
        made=("validity",),
        local=(
            "project_id",
            "namespace_id",
            "id",
            "fragment_id",
            "status",
            "subject_digest",
            "predicate_digest",
            "key_digest",
            "value_digest",
        ),
        later={
            "id": None,
            "position": 0,
            "verdict": "",
            "superseded_by_id": None,
            "span_start": None,
            "span_end": None,
        },
        erase="cascade",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("claim_project_id", "id"),
            unique_in_project("claim_position", "fragment", "position"),
            between("claim_among_others", "position", 0, MOST_CLAIMS - 1),
            models.CheckConstraint(condition=models.Q(verdict__in=["", *VERDICTS]), name="claim_verdict"),
            models.CheckConstraint(
                condition=models.Q(span_start__isnull=True, span_end__isnull=True)
                | models.Q(span_start__lt=models.F("span_end")),
                name="claim_span",
            ),
            one_of("claim_scope", "scope", ClaimScope),
            one_of("claim_status", "status", Status),
            between("claim_authority", "authority", 1, 6),
            in_calendar("claim_from_in_calendar", "valid_from"),
            in_calendar("claim_until_in_calendar", "valid_until"),
            models.CheckConstraint(
                condition=models.Q(valid_from__isnull=True)
                | models.Q(valid_until__isnull=True)
                | models.Q(valid_until__gt=models.F("valid_from")),
                name="claim_period_forward",
            ),
            models.CheckConstraint(
                condition=models.Q(scope="session", session_id__gt="")
                | ~models.Q(scope="session") & models.Q(session_id=""),
                name="claim_session_named",
            ),
        ]
        indexes: ClassVar = [
            # What stands or waits on a key; what was replaced there must not slow the gate down.
            models.Index(
                fields=["project", "namespace", "key_digest"],
                name="claim_by_key",
                condition=models.Q(status__in=OPEN),
            ),
            # Everything said of a subject, ever.
            models.Index(fields=["project", "subject_digest"], name="claim_by_subject"),
            # What a memory that goes had replaced.
            models.Index(
                fields=["project", "superseded_by"],
                name="claim_by_successor",
                condition=models.Q(superseded_by__isnull=False),
            ),
            # Every claim that a changed rule concerns.
            models.Index(fields=["project", "namespace", "predicate_digest"], name="claim_by_predicate"),
            # What a session overrides.
            models.Index(
                fields=["project", "namespace", "session_id"],
                name="claim_by_session",
                condition=~models.Q(session_id=""),
            ),
        ]

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if self.id is None and self.fragment_id is not None:
            self.id = claim_id(self.fragment_id, self.position)

    def __str__(self) -> str:
        return f"{self.subject} · {self.predicate} = {self.value}"

    @classmethod
    def read(cls, text: dict[str, Any]) -> "Claim":
        """Return a claim from the database's JSON of it, without its digests."""
        times = ("valid_from", "valid_until", "last_seen_at")
        parsed = {name: text[name] and parse_datetime(text[name]) for name in times}
        return cls(**{**text, **parsed})

"""Claims: a fragment's decomposition into subject, predicate and value (SPEC §4)."""

import uuid
from typing import ClassVar

from django.contrib.postgres.fields import DateTimeRangeField
from django.db import models
from django.utils import timezone

from memories.models.fragment import Fragment
from memories.models.history import tracked
from memories.models.namespace import Namespace
from memories.models.tenant import Catalogue, TenantQuerySet, between, in_calendar, one_of, parent, unique_in_project
from memories.models.words import OPEN, ClaimScope, Status


class ClaimQuerySet(TenantQuerySet):
    """Claims."""

    def watched(self, namespace_ids: set[uuid.UUID], *, above: int) -> set[uuid.UUID]:
        """The namespaces among these in which a claim of more authority than `above` stands."""
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

    fragment = models.OneToOneField(
        Fragment, on_delete=models.DO_NOTHING, db_constraint=False, primary_key=True, related_name="claim"
    )
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
    # Follows the fragment's status by trigger; the constraint needs it in this row.
    status = models.CharField(max_length=16, choices=Status)

    objects = ClaimQuerySet.as_manager()
    catalogue = Catalogue(
        kind="canonical", export="inside its fragment", erase="deleted with its fragment", fork="copied"
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("claim_project_id", "fragment"),
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
            # Every claim that a changed rule concerns.
            models.Index(fields=["project", "namespace", "predicate_digest"], name="claim_by_predicate"),
            # What a session overrides.
            models.Index(
                fields=["project", "namespace", "session_id"],
                name="claim_by_session",
                condition=~models.Q(session_id=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} · {self.predicate} = {self.value}"

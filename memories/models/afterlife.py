"""What remains when a fragment leaves: archive copies, tombstones, and the fingerprints of what was forgotten."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.utils import timezone

from memories.models.fragment import Fragment
from memories.models.tenant import Catalogue, TenantModel, TenantQuerySet, between, one_of, parent, unique_in_project
from memories.models.words import EvictionReason

# Why it was evicted, as the sentence of a tombstone says it.
REASONS = {
    EvictionReason.STORAGE_PRESSURE: "storage pressure",
    EvictionReason.LOW_WEIGHT: "low weight",
    EvictionReason.SUPERSEDED: "a newer memory that superseded it",
    EvictionReason.MANUAL_DELETION: "manual deletion",
}


class Archive(TenantModel):
    """A compressed copy of a fragment as it was, kept so that upkeep can be undone."""

    namespace = parent("memories.Namespace")
    fragment_id = models.UUIDField()
    reason = models.CharField(max_length=64)
    payload = models.BinaryField()
    archived_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)

    catalogue = Catalogue(
        kind="canonical", export="record kind `archive`", erase="deleted by fragment id", fork="not copied"
    )

    class Meta:
        constraints: ClassVar = [unique_in_project("archive_project_id", "id")]
        indexes: ClassVar = [
            # Undo, restore and forget: the copies of one fragment.
            models.Index(fields=["project", "fragment_id"], name="archive_by_fragment"),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id} as of {self.archived_at:%Y-%m-%d}"


class Tombstone(TenantModel):
    """What remains of an evicted fragment: topics, when, why; never the text."""

    namespace = parent("memories.Namespace")
    original_id = models.UUIDField()
    evicted_at = models.DateTimeField(default=timezone.now)
    topics = ArrayField(models.CharField(max_length=100), default=list)
    participants = ArrayField(models.CharField(max_length=100), default=list)
    approximate_date = models.DateField(null=True)
    reason = models.CharField(max_length=32, choices=EvictionReason)
    reason_details = models.JSONField(default=dict)

    catalogue = Catalogue(
        kind="canonical", export="record kind `tombstone`", erase="deleted with its fragment id", fork="not copied"
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("tombstone_project_id", "id"),
            unique_in_project("tombstone_original", "original_id"),
            one_of("tombstone_reason", "reason", EvictionReason),
        ]

    def __str__(self) -> str:
        return f"{self.original_id} evicted {self.evicted_at:%Y-%m-%d}"

    def sentence(self) -> str:
        """What to say of the gap ([4])."""
        topics = _listed(self.topics) or "various topics"
        people = _listed(self.participants) or "unknown participants"
        date = f"{self.approximate_date:%B %Y}" if self.approximate_date else "an unknown date"
        known = f"I previously knew about {topics} with {people} around {date}"
        return f"{known}, but this memory was evicted due to {REASONS[EvictionReason(self.reason)]}."


def _listed(names: list[str]) -> str:
    """ "A, B and C"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


class ErasureQuerySet(TenantQuerySet):
    """Fingerprints of forgotten texts."""

    def remember(self, fragment: Fragment, *, authority: int) -> None:
        """Keeps the fingerprints of a fragment's text and of its former texts, forgotten with this authority."""
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO memories_erasure (id, project_id, fingerprint, fragment_id, authority, erased_at)
                   SELECT gen_random_uuid(), %(project)s, fingerprint, %(fragment)s, %(authority)s, now() FROM (
                       SELECT nova_fingerprint(project_id, content) AS fingerprint FROM memories_fragment
                       WHERE project_id = %(project)s AND id = %(fragment)s
                       UNION
                       SELECT nova_fingerprint(project_id, content) FROM memories_revision
                       WHERE project_id = %(project)s AND fragment_id = %(fragment)s
                   ) AS texts
                   ON CONFLICT (project_id, fingerprint, fragment_id) DO NOTHING""",
                {"project": fragment.project_id, "fragment": fragment.id, "authority": authority},
            )


class Erasure(TenantModel):
    """The keyed fingerprint of a forgotten text: enough to stop its return, never enough to read it."""

    fingerprint = models.BinaryField(max_length=32)
    fragment_id = models.UUIDField()
    # Of who forgot it: what a weaker one forgets does not gag a stronger one.
    authority = models.SmallIntegerField()
    erased_at = models.DateTimeField(default=timezone.now)

    objects = ErasureQuerySet.as_manager()
    catalogue = Catalogue(
        kind="canonical", export="record kind `erasure`", erase="kept: it is the erasure", fork="shared"
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("erasure_project_id", "id"),
            unique_in_project("erasure_once", "fingerprint", "fragment_id"),
            between("erasure_authority", "authority", 1, 6),
        ]

    def __str__(self) -> str:
        return f"erased {self.erased_at:%Y-%m-%d}"

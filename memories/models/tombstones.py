"""What remains when a fragment leaves: archive copies, tombstones, and the fingerprints of what was forgotten."""

import json
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models.expressions import RawSQL
from django.utils import timezone

from memories.models.enums import Compression, CopyReason, EvictionReason, SourceType
from memories.models.fragment import PROCEDURE, Fragment, listed, procedure_of
from memories.models.history import tracked
from memories.models.table_spec import TableSpec
from memories.models.tenant import (
    TenantModel,
    TenantQuerySet,
    between,
    in_calendar,
    json_of,
    one_of,
    parent,
    unique_in_project,
)

# Why it was evicted, as the sentence of a tombstone says it.
REASONS = {
    EvictionReason.STORAGE_PRESSURE: "storage pressure",
    EvictionReason.LOW_WEIGHT: "low weight",
    EvictionReason.SUPERSEDED: "a newer memory that superseded it",
    EvictionReason.MANUAL_DELETION: "manual deletion",
}


def _lineage_of(row: Mapping[str, Any]) -> list[uuid.UUID]:
    """Return the memories whose words a digest holds, by its row in a copy; that of a bundle may hold anything."""
    found = []
    for ids in (row.get("parents"), row.get("roots")):
        for each in ids if type(ids) is list else ():
            with suppress(ValueError):
                found.append(uuid.UUID(str(each)))
    return found


class ArchiveQuerySet(TenantQuerySet):
    """Copies."""

    def of(self, fragment_ids: Iterable[uuid.UUID]) -> Self:
        """Return those of some fragments, the oldest first."""
        return self.filter(fragment_id__in=list(fragment_ids)).order_by("archived_at", "id")

    def whole(self) -> Self:
        """Return those from which a fragment that is gone can come back."""
        return self.exclude(reason=CopyReason.COMPACTED)

    def originals(self, fragments: Iterable[Fragment]) -> dict[uuid.UUID, str]:
        """Return the texts of the compacted ones among these as they were said, where a copy is still kept."""
        found: dict[uuid.UUID, str] = {}
        compacted = [fragment.id for fragment in fragments if fragment.compression != Compression.FULL]
        for copy in self.of(compacted).filter(reason=CopyReason.COMPACTED) if compacted else ():
            former = copy.unpacked()["fragment"]
            if former["compression"] == Compression.FULL:
                found[copy.fragment_id] = former[
                    "content"
                ]  # the last one: a text may be given anew and compacted again
        return found

    def said(self, fragments: Sequence[Fragment]) -> dict[uuid.UUID, str | None]:
        """Return what each fragment said before it was compacted; None where no copy is kept any more."""
        originals = self.originals(fragments)
        return {
            row.id: row.content if row.compression == Compression.FULL else originals.get(row.id) for row in fragments
        }

    def texts(self, fragment_ids: Iterable[uuid.UUID]) -> Iterator[tuple[uuid.UUID, str]]:
        """Return every text that the copies of some fragments hold, each with the fragment."""
        for copy in self.of(fragment_ids):
            held = copy.unpacked()
            parts = procedure_of(held["fragment"].get("extra") or {})
            yield from ((copy.fragment_id, text) for text in (held["fragment"]["content"], *parts))
            yield from ((copy.fragment_id, revision["content"]) for revision in held.get("revisions") or [])

    def conflicts_of(self, fragment_ids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
        """Return the conflicts that some fragments were a part of when they were copied."""
        copies = [copy.unpacked() for copy in self.of(fragment_ids).whole()]
        sides = [copy[side] or [] for copy in copies for side in ("newcomer_of", "existing_of")]
        return [uuid.UUID(conflict) for side in sides for conflict in side]


class Archive(TenantModel):
    """A compressed copy of a fragment as it was, kept so that upkeep can be undone."""

    namespace = parent("memories.Namespace")
    fragment_id = models.UUIDField()
    reason = models.CharField(max_length=64)
    payload = models.BinaryField()
    # The job that made it necessary; soft, for jobs are cleared away before copies are.
    operation_id = models.UUIDField(null=True)
    archived_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    # Of a digest: whose words it holds, for the payload can't be asked.
    lineage = ArrayField(models.UUIDField(), null=True)

    objects = ArchiveQuerySet.as_manager()
    # Forgotten: deleted by fragment id.
    spec = TableSpec(
        kind="canonical", record="archive", local=("project_id", "namespace_id", "payload", "lineage"), erase="swept"
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("archive_project_id", "id"),
            in_calendar("archive_expiry_in_calendar", "expires_at"),
        ]
        indexes: ClassVar = [
            # Undo, restore and forget: the copies of one fragment.
            models.Index(fields=["project", "fragment_id"], name="archive_by_fragment"),
            # Undo of a whole job.
            models.Index(
                fields=["project", "operation_id", "id"],
                name="archive_by_operation",
                condition=models.Q(operation_id__isnull=False),
            ),
            # Retention.
            models.Index(fields=["project", "expires_at"], name="archive_by_expiry"),
            # Digests, which are few: forgetting looks for those that hold a memory's words.
            models.Index(fields=["project", "id"], name="archive_digests", condition=models.Q(lineage__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id} as of {self.archived_at:%Y-%m-%d}"

    @staticmethod
    def packed(payload: str) -> bytes:
        """JSON text, compressed."""
        return zlib.compress(payload.encode())

    @staticmethod
    def lineage_in(payload: str) -> list[uuid.UUID] | None:
        """Return what a copy's fragment was made of, where that is a digest."""
        if '"source_type": "digest"' not in payload:  # most are none, and need not be read
            return None
        row = json.loads(payload).get("fragment")
        return _lineage_of(row) if type(row) is dict and row.get("source_type") == SourceType.DIGEST else None

    def text(self) -> str:
        """Return the JSON text as the database wrote it."""
        return zlib.decompress(bytes(self.payload)).decode()

    def unpacked(self) -> dict[str, Any]:
        """`fragment` and what stood under it, by name, as lists of rows."""
        found: dict[str, Any] = json.loads(self.text())
        return found


@tracked("id", "project", "namespace", "original_id", "evicted_at", "reason", "authority")
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
    # Of the fragment: who may restore or forget it needs a ceiling as high.
    authority = models.SmallIntegerField(default=1)

    # Forgotten: deleted with its fragment id.
    spec = TableSpec(kind="canonical", record="tombstone", local=("project_id", "namespace_id"), erase="swept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("tombstone_project_id", "id"),
            unique_in_project("tombstone_original", "original_id"),
            one_of("tombstone_reason", "reason", EvictionReason),
            between("tombstone_authority", "authority", 1, 6),
            json_of("tombstone_details_object", "reason_details", "object"),
        ]
        indexes: ClassVar = [
            # The list, and what a question's topics used to be about.
            models.Index(fields=["project", "namespace", "-evicted_at", "-id"], name="tombstone_pages"),
        ]

    def __str__(self) -> str:
        return f"{self.original_id} evicted {self.evicted_at:%Y-%m-%d}"

    def sentence(self) -> str:
        """Return what to say of the gap."""
        topics = listed(self.topics) or "various topics"
        people = listed(self.participants) or "unknown participants"
        date = f"{self.approximate_date:%B %Y}" if self.approximate_date else "an unknown date"
        known = f"I previously knew about {topics} with {people} around {date}"
        return f"{known}, but this memory was evicted due to {REASONS[EvictionReason(self.reason)]}."


class ErasureQuerySet(TenantQuerySet):
    """Fingerprints of forgotten texts."""

    def of_texts(self, project_id: uuid.UUID, texts: Sequence[str], *, namespace_id: uuid.UUID | None = None) -> Self:
        """Those of some texts, in whatever guise (`nova_folded`); with a namespace those that bar them there alone."""
        digests = "SELECT unnest(nova_fingerprints(%s, t)) FROM unnest(%s::text[]) AS u (t)"
        here = {"namespace_id": namespace_id} if namespace_id else {}
        return self.within(project_id).filter(fingerprint__in=RawSQL(digests, [project_id, list(texts)]), **here)

    def remember(
        self,
        project_id: uuid.UUID,
        fragment_ids: Sequence[uuid.UUID],
        *,
        authority: int,
        texts: Sequence[tuple[uuid.UUID, str]] = (),
        everywhere: bool = False,
    ) -> None:
        """Keep the fingerprints of what fragments say, their former texts and these, forgotten with this authority.

        They bar these texts in the namespace of each fragment, or everywhere in the project.
        """
        rows = Fragment.objects.within(project_id).filter(id__in=fragment_ids, extra__has_any_keys=PROCEDURE)
        texts = [*texts, *((i, part) for i, extra in rows.values_list("id", "extra") for part in procedure_of(extra))]
        with connection.cursor() as cursor:
            cursor.execute(
                """WITH home AS MATERIALIZED (
                       SELECT id, namespace_id FROM memories_fragment
                       WHERE project_id = %(project)s AND id = ANY (%(ids)s)
                       UNION SELECT original_id, namespace_id FROM memories_tombstone
                       WHERE project_id = %(project)s AND original_id = ANY (%(ids)s))
                   INSERT INTO memories_erasure AS e
                       (id, project_id, fingerprint, fragment_id, namespace_id, authority, erased_at)
                   SELECT gen_random_uuid(), %(project)s, fingerprint, fragment_id,
                       (SELECT h.namespace_id FROM home h WHERE h.id = fragment_id AND NOT %(everywhere)s),
                       %(authority)s, now()
                   FROM (
                       SELECT nova_erasure_print(project_id, content) AS fingerprint, id AS fragment_id
                       FROM memories_fragment
                       WHERE project_id = %(project)s AND id = ANY (%(ids)s)
                       UNION
                       SELECT nova_erasure_print(project_id, content), fragment_id FROM memories_revision
                       WHERE project_id = %(project)s AND fragment_id = ANY (%(ids)s)
                       UNION
                       SELECT nova_erasure_print(%(project)s, content), id
                       FROM unnest(%(owners)s::uuid[], %(texts)s::text[]) AS t (id, content)
                   ) AS texts
                   ON CONFLICT (project_id, fingerprint, fragment_id, namespace_id)
                   DO UPDATE SET authority = greatest(e.authority, excluded.authority)""",
                {
                    "project": project_id,
                    "ids": list(fragment_ids),
                    "authority": authority,
                    "everywhere": everywhere,
                    "owners": [owner for owner, _ in texts],
                    "texts": [text for _, text in texts],
                },
            )

    def bar_only_themselves(self, project_id: uuid.UUID, fragment_ids: Sequence[uuid.UUID]) -> None:
        """Let texts be said again whose memories went with a user: only those very memories never return."""
        with connection.cursor() as cursor:
            cursor.execute(
                """UPDATE memories_erasure SET fingerprint = sha256(uuid_send(gen_random_uuid()))
                   WHERE project_id = %s AND fragment_id = ANY (%s)""",
                [project_id, list(fragment_ids)],
            )


@tracked("id", "project", "fragment_id", "namespace_id", "authority", "erased_at", digested=("fingerprint",))
class Erasure(TenantModel):
    """The keyed fingerprint of a forgotten text: enough to stop its return, never enough to read it."""

    fingerprint = models.BinaryField(max_length=32)
    fragment_id = models.UUIDField()
    # Where the text may not stand; null is the whole project. Soft: a namespace that is gone may be restored.
    namespace_id = models.UUIDField(null=True)
    # Of who forgot it: what a weaker one forgets does not gag a stronger one.
    authority = models.SmallIntegerField()
    erased_at = models.DateTimeField(default=timezone.now)

    objects = ErasureQuerySet.as_manager()
    # Kept: it is the erasure.
    spec = TableSpec(
        kind="canonical",
        record="erasure",
        local=("project_id",),
        later={"namespace_id": None},
        erase="kept",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("erasure_project_id", "id"),
            models.UniqueConstraint(
                fields=["project", "fingerprint", "fragment_id", "namespace_id"],
                name="erasure_once",
                nulls_distinct=False,
            ),
            between("erasure_authority", "authority", 1, 6),
        ]

    def __str__(self) -> str:
        return f"erased {self.erased_at:%Y-%m-%d}"

"""Backups: the files that hold what a project remembers, and how far each was proven."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memories.models.enums import BackupOrigin, ExportPolicy
from memories.models.history import tracked
from memories.models.table_spec import TableSpec
from memories.models.tenant import (
    TenantModel,
    TenantQuerySet,
    Xid8Field,
    one_of,
    parent,
    unique_in_project,
)

SOUND = "sound"  # the verdict of a backup that is whole


class BackupQuerySet(TenantQuerySet):
    """Backups."""

    def newest_first(self) -> "BackupQuerySet":
        """In the order of lists."""
        return self.order_by("-created_at", "-id")

    def broken(self) -> "BackupQuerySet":
        """Return those that a check or a test restore failed on."""
        return self.exclude(verdict__in=("", SOUND), drill_verdict__in=("", SOUND))

    def unproven(self) -> "BackupQuerySet":
        """Return those that were never read to their end and found whole."""
        return self.exclude(verdict=SOUND).exclude(drill_verdict=SOUND)


@tracked("id", "project", "policy", "base", "sha256", "signer", "protected", "operation_id", "created_at")
class Backup(TenantModel):
    """One bundle in the storage. The row is written when the file is whole: a row without a file is a damage."""

    policy = models.CharField(max_length=16, choices=ExportPolicy)
    policy_version = models.PositiveSmallIntegerField()
    # By name; a bundle speaks of namespaces in no other way.
    namespaces = ArrayField(models.TextField(), default=list)
    include_embeddings = models.BooleanField(default=False)
    # What it goes on from: this one holds only what changed since.
    base = parent("memories.Backup", related_name="increments", null=True)
    origin = models.CharField(max_length=16, choices=BackupOrigin)
    file = models.CharField(max_length=255)
    # For whom is the file's own affair.
    encrypted = models.BooleanField(default=False)
    size = models.PositiveBigIntegerField()
    # Of the whole file, in hexadecimal; of the public key that signed it; empty before an upload was read.
    sha256 = models.CharField(max_length=64)
    signer = models.CharField(max_length=64, blank=True)
    records = models.PositiveBigIntegerField(default=0)
    # Of fragments, by bucket, with the reason why they were chosen.
    counts = models.JSONField(default=list)
    # What changed in transactions from this number on may be missing: the next increment begins there.
    upto = Xid8Field(null=True)
    exported_at = models.DateTimeField(null=True)
    protected = models.BooleanField(default=False)
    verified_at = models.DateTimeField(null=True)
    # Empty: never tried; `sound`, or the code of what is wrong.
    verdict = models.CharField(max_length=32, blank=True)
    drilled_at = models.DateTimeField(null=True)
    drill_verdict = models.CharField(max_length=32, blank=True)
    operation_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = BackupQuerySet.as_manager()
    # Not exported: it is the export.
    # Kept: names of namespaces and numbers; its file is named by the answer to a deletion.
    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("backup_project_id", "id"),
            unique_in_project("backup_file", "file"),
            one_of("backup_policy", "policy", ExportPolicy),
            one_of("backup_origin", "origin", BackupOrigin),
        ]
        indexes: ClassVar = [
            # The list page, retention, and the last good drill.
            models.Index(fields=["project", "-created_at", "-id"], name="backup_pages"),
        ]

    def __str__(self) -> str:
        return f"{self.policy} backup of {self.created_at:%Y-%m-%d %H:%M}"

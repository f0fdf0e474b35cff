"""Tombstones of namespaces, and how one is answered."""

from typing import Any

from django.db.models import Exists, F, OuterRef
from rest_framework import serializers

from memories.models import Archive, Tombstone
from memories.models.enums import EvictionReason


class TombstoneAnswer(serializers.Serializer[Any]):
    """What remains of a memory that left; never its text."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.name")
    original_id = serializers.UUIDField()
    evicted_at = serializers.DateTimeField()
    topics = serializers.ListField(child=serializers.CharField())
    participants = serializers.ListField(child=serializers.CharField())
    approximate_date = serializers.DateField(allow_null=True)
    reason = serializers.ChoiceField(EvictionReason.choices)
    reason_details = serializers.DictField()
    sentence = serializers.CharField()
    restorable = serializers.BooleanField(help_text="Whether the archive still holds a copy.")


def tombstones_of(namespaces: Any) -> Any:
    """Return the tombstones of these namespaces, and whether a copy is there still."""
    copies = Archive.objects.whole().filter(project_id=OuterRef("project_id"), fragment_id=OuterRef("original_id"))
    rows = Tombstone.objects.filter(namespace__in=namespaces).select_related("namespace")
    return rows.annotate(created_at=F("evicted_at"), restorable=Exists(copies))

"""Forms and answers of conflicts: which to list, how they are told."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from conflicts.enums import ConflictKind, ConflictReason, Resolution
from conflicts.resolution import with_claims
from conflicts.rulings import binding_on, with_words
from memories.access import Principal
from memories.rest.answers import ClaimAnswer, OrNull
from memories.rest.fields import AboutUserQuery, Text
from memories.rest.inputs import namespace_form
from memories.rest.rulings import RulingAnswer


class ConflictQuery(AboutUserQuery):
    """The filters of a list."""

    status = serializers.ChoiceField(["pending", "resolved", "all"], default="pending")
    kind = serializers.ChoiceField(ConflictKind.choices, required=False)
    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100, required=False)
    predicate = Text(max_length=100, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class SideAnswer(serializers.Serializer[Any]):
    """One side of a conflict."""

    id = serializers.UUIDField()
    content = serializers.CharField()
    status = serializers.CharField()
    source = serializers.CharField()
    agent_id = serializers.CharField()
    owner = serializers.UUIDField(source="owner_id", allow_null=True)
    created_at = serializers.DateTimeField()
    corroboration = serializers.IntegerField()
    reinforcements = serializers.IntegerField()
    disputes = serializers.IntegerField()
    claim = serializers.SerializerMethodField()

    @extend_schema_field(ClaimAnswer(allow_null=True))
    def get_claim(self, row: Any) -> Any:
        """What it claims of what the conflict is about."""
        return ClaimAnswer(row.told).data if row.told else None


class StatementAnswer(serializers.Serializer[Any]):
    """What a free text was read as."""

    subject = serializers.CharField()
    predicate = serializers.CharField()
    value = serializers.CharField()
    negated = serializers.BooleanField()


class ConflictAnswer(serializers.Serializer[Any]):
    """A newcomer in quarantine and the standing claim that it opposes; for a dispute only the latter."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.root_name")
    user = serializers.CharField(source="namespace.user", allow_null=True)
    kind = serializers.ChoiceField(ConflictKind.choices)
    reason = serializers.ChoiceField(ConflictReason.choices)
    status = serializers.SerializerMethodField()
    revision = serializers.IntegerField()
    new_id = serializers.UUIDField(source="newcomer_id", allow_null=True)
    existing_id = serializers.UUIDField(allow_null=True)
    newcomer = SideAnswer(allow_null=True)
    existing = SideAnswer(allow_null=True)
    new_claim = serializers.SerializerMethodField()
    existing_claim = serializers.SerializerMethodField()
    statement = StatementAnswer(allow_null=True)
    new_authority = serializers.IntegerField(allow_null=True)
    existing_authority = serializers.IntegerField(allow_null=True)
    new_trust = serializers.FloatField(allow_null=True)
    existing_trust = serializers.FloatField(allow_null=True)
    created_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    resolution = serializers.SerializerMethodField()
    keep = OrNull(allow_null=True)
    resolved_by = serializers.UUIDField(allow_null=True)
    note = serializers.CharField()
    ruling = RulingAnswer(allow_null=True, help_text="Of a pending one: the ruling that it opens again.")

    def get_status(self, row: Any) -> str:
        """pending or resolved."""
        return "pending" if row.resolved_at is None else "resolved"

    def get_resolution(self, row: Any) -> Resolution | None:
        """How it ended."""
        return Resolution(row.resolution) if row.resolution else None

    @extend_schema_field(ClaimAnswer(allow_null=True))
    def get_new_claim(self, row: Any) -> Any:
        """What the newcomer claims."""
        return ClaimAnswer(row.new_claim).data if row.new_claim else None

    @extend_schema_field(ClaimAnswer(allow_null=True))
    def get_existing_claim(self, row: Any) -> Any:
        """What stands."""
        return ClaimAnswer(row.old_claim).data if row.old_claim else None


def answers(principal: Principal, rows: Sequence[Any]) -> list[Any]:
    """Conflicts, each with the ruling that it opens again."""
    found = binding_on([row for row in rows if row.resolved_at is None])
    answer = {row.id: row for row in with_words(principal, list(found.values()))}
    with_claims(rows)
    for row in rows:
        for side, claim in ((row.newcomer, row.new_claim), (row.existing, row.old_claim)):
            if side:
                side.told = claim
        row.ruling = answer[found[row.id].id] if row.id in found else None
    return list(ConflictAnswer(rows, many=True).data)

"""Forms of votes, and how one is answered."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from conflicts.enums import Uncounted
from conflicts.votes import Counted
from memories.models.enums import Status
from memories.rest.fields import AboutUser, Text


class DisputeInput(AboutUser):
    """Why it is wrong."""

    reason = Text(max_length=1000, required=False, allow_blank=True)


class CorroborateInput(AboutUser):
    """Which source says so too."""

    source_id = Text(max_length=255, required=False)


class VoteAnswer(serializers.Serializer[Any]):
    """What the vote did."""

    id = serializers.UUIDField()
    counted = serializers.BooleanField()
    reason = serializers.ChoiceField(Uncounted.choices, allow_null=True, help_text="Why it does not count.")
    trust = serializers.FloatField()
    confidence = serializers.FloatField()
    status = serializers.ChoiceField(Status.choices)
    reinforcements = serializers.IntegerField()
    disputes = serializers.IntegerField()
    corroboration = serializers.IntegerField()
    conflict_id = serializers.UUIDField(allow_null=True)


def vote_answer(counted: Counted) -> dict[str, Any]:
    """Return what a vote did, as the API shows it."""
    row = counted.fragment
    trust = round(row.trust_at(timezone.now()), 4)
    shown = {
        "id": row.id,
        "counted": counted.counted,
        "reason": counted.uncounted,
        "trust": trust,
        "confidence": trust,
        "status": row.status,
    }
    shown |= {"reinforcements": row.reinforcements, "disputes": row.disputes, "corroboration": row.corroboration}
    return VoteAnswer({**shown, "conflict_id": counted.conflict and counted.conflict.id}).data

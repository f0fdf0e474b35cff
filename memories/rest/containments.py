"""Forms and answers of containments: what is to be set aside, and what was."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from memories.models import Containment
from memories.models.enums import ContainmentKind
from memories.models.fragment import CONTENT_LIMIT
from memories.rest.cases import CarriedAnswer
from memories.rest.fields import Flag, Moment, Strict, Text, Whole

GROUNDS = ("key_id", "owner", "source_id", "content")


class ContainmentInput(Strict):
    """What is to be set aside: all that a key or an owner wrote, or that comes from a source, or that is a text."""

    key_id = Text(
        max_length=100, required=False, help_text="A key, by its id or its first part: `nova_…`. It is revoked."
    )
    owner = Text(max_length=100, required=False, help_text="An owner, by name or id. All its keys are revoked.")
    source_id = Text(max_length=255, required=False, help_text="Where memories come from, as their writers named it.")
    content = Text(max_length=CONTENT_LIMIT, required=False, help_text="All that says this, whoever said it.")
    since = Moment(required=False, help_text="Only what was written from then on.")
    note = Text(max_length=1000, required=False, allow_blank=True, default="", help_text="Why.")
    expected_count = Whole(min_value=0, required=False, help_text="Another count than this sets nothing aside: 409.")
    dry_run = Flag(default=False, help_text="Only say what would happen.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Just one ground."""
        if sum(name in attrs for name in GROUNDS) != 1:
            raise serializers.ValidationError({"key_id": [f"Give one of these: {', '.join(GROUNDS)}."]})
        return attrs


class ReachedAnswer(serializers.Serializer[Any]):
    """Memories, by their number and the first hundred."""

    count = serializers.IntegerField()
    ids = serializers.ListField(child=serializers.UUIDField())


class ExtentAnswer(serializers.Serializer[Any]):
    """What a containment reaches."""

    written = ReachedAnswer(help_text="Memories of the ground; they are quarantined.")
    derived = ReachedAnswer(help_text="What was made of these, digests too; quarantined with them.")
    upheld = ReachedAnswer(
        help_text="Theirs, but somebody of no less authority said the same, or a person chose it: these stay."
    )
    repeated = ReachedAnswer(help_text="Set aside, although somebody weaker said the same, who may say it again.")
    restored = ReachedAnswer(help_text="What they had taken the place of and stands again.")
    released = ReachedAnswer(help_text="What waited because of them and stands now.")
    votes = serializers.IntegerField(help_text="How many votes count no more.")
    decisions = serializers.ListField(
        child=serializers.UUIDField(), help_text="Conflicts that the key or owner decided: look at them one by one."
    )
    keys = serializers.ListField(child=serializers.UUIDField(), help_text="The keys that are revoked.")
    answers = CarriedAnswer(help_text="Which answers carried what is set aside, as far as receipts are kept.")


class ContainmentAnswer(serializers.Serializer[Any]):
    """A containment; without an id one that was only looked at."""

    id = serializers.UUIDField(allow_null=True)
    dry_run = serializers.BooleanField()
    kind = serializers.ChoiceField(ContainmentKind.choices)
    target_id = serializers.UUIDField(allow_null=True, help_text="The key or the owner.")
    since = serializers.DateTimeField(allow_null=True)
    count = serializers.IntegerField(help_text="How many memories are set aside.")
    extent = ExtentAnswer()
    note = serializers.CharField()
    applied_by = serializers.UUIDField(allow_null=True)
    applied_at = serializers.DateTimeField(allow_null=True)
    undone_by = serializers.UUIDField(allow_null=True)
    undone_at = serializers.DateTimeField(allow_null=True)


class ContainmentsQuery(Strict):
    """A page of them."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


def containment_answers(rows: Sequence[Containment]) -> list[dict[str, Any]]:
    """Return containments in JSON's terms."""
    return [dict(ContainmentAnswer(_told(row)).data) for row in rows]


def _told(row: Containment) -> dict[str, Any]:
    names = ("id", "kind", "target_id", "since", "note", "applied_by", "applied_at", "undone_by", "undone_at")
    return {
        **{name: getattr(row, name) for name in names},
        "dry_run": False,
        "count": row.written,
        "extent": row.report,
    }

"""Forms and answers of cases: which to list, how they are told."""

import re
from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from conflicts.resolution.case_groups import GROUPS
from conflicts.resolution.cases import Case, CaseFilter, CaseValue
from memories.rest.fields import AboutUserQuery, Id, Text
from memories.rest.inputs import namespace_form
from memories.rest.rulings import RulingAnswer

EXCERPT = 240  # characters
MOST_NAMED = 20  # memories and conflicts that a value names
SOURCE = "The source that its writer named, else the agent."
PATTERN = "A part of the challenger’s text, in whatever case; * stands for anything."


class CaseConditions(serializers.Serializer[Any]):
    """Which cases: those in which a challenger meets all of these."""

    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100, required=False)
    predicate = Text(max_length=100, required=False)
    # A serializer is a field, and a field has a source: here it is one of the conditions.
    source = Text(max_length=255, required=False, help_text=SOURCE)  # type: ignore[assignment]
    owner = Id(required=False)
    pattern = Text(max_length=200, required=False, help_text=PATTERN)


CONDITIONS = ("namespace", "subject", "predicate", "source", "owner", "pattern", "status")


def filter_of(values: dict[str, Any]) -> CaseFilter:
    """Return the conditions of a validated request."""
    return CaseFilter(**{name: values[name] for name in CONDITIONS if name in values})


class CasesQuery(CaseConditions, AboutUserQuery):
    """A page of them."""

    status = serializers.ChoiceField(["pending", "settled", "all"], default="pending")
    sort = serializers.ChoiceField(
        ["oldest", "newest", "most"], default="oldest", help_text="Since when it waits, or how many challenge."
    )
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class CaseGroupsQuery(CaseConditions, AboutUserQuery):
    """By what what waits is counted."""

    by = serializers.ChoiceField(list(GROUPS))


class ExcerptAnswer(serializers.Serializer[Any]):
    """Some words of the strongest memory that says a value."""

    fragment_id = serializers.UUIDField()
    text = serializers.CharField()


class CarriedAnswer(serializers.Serializer[Any]):
    """Who was told so, as far as receipts are kept: "17 answers to 3 agents"."""

    answers = serializers.IntegerField()
    agents = serializers.IntegerField()
    last_at = serializers.DateTimeField(allow_null=True)


class CaseValueAnswer(serializers.Serializer[Any]):
    """A value that is claimed: whether it stands, who says so how often, and who was told."""

    id = serializers.CharField(help_text="By which a decision chooses it.")
    value = serializers.CharField()
    negated = serializers.BooleanField(help_text="Its texts say that it does not hold.")
    stands = serializers.BooleanField()
    waiting = serializers.SerializerMethodField()
    chosen = serializers.BooleanField(help_text="By the ruling.")
    ruled_out = serializers.BooleanField(help_text="By the ruling.")
    authority = serializers.IntegerField()
    voices = serializers.IntegerField(help_text="Owners who have it from nowhere that another one has it from.")
    repetitions = serializers.IntegerField(help_text="How often its owners said it again.")
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    sources = serializers.ListField(child=serializers.CharField())
    owners = serializers.ListField(child=serializers.CharField())
    memories = serializers.SerializerMethodField()
    conflicts = serializers.SerializerMethodField()
    excerpt = serializers.SerializerMethodField()
    carried = CarriedAnswer()

    def get_waiting(self, value: CaseValue) -> int:
        """How many memories wait with it; 0 also where it was replaced or rejected, and is told as it was."""
        return len(value.waits)

    @extend_schema_field(serializers.ListField(child=serializers.UUIDField()))
    def get_memories(self, value: CaseValue) -> list[str]:
        """The first that say it."""
        return [str(one.fragment.id) for one in value.memories[:MOST_NAMED]]

    @extend_schema_field(serializers.ListField(child=serializers.UUIDField()))
    def get_conflicts(self, value: CaseValue) -> list[str]:
        """The first in which it waits."""
        return [str(one.conflict_id) for one in value.waits[:MOST_NAMED]]

    @extend_schema_field(ExcerptAnswer)
    def get_excerpt(self, value: CaseValue) -> Any:
        """Some words around the value."""
        example = value.example
        return {"fragment_id": str(example.id), "text": excerpt_of(example.content, value.value)}


def excerpt_of(text: str, value: str) -> str:
    """Return the part of a text around a value, else its beginning; … where more stands."""
    found = re.search(re.escape(value), text, re.IGNORECASE)
    at = found.start() if found else 0
    start = max(0, min(at + len(value) // 2 - EXCERPT // 2, len(text) - EXCERPT))
    part = text[start : start + EXCERPT]
    return f"{'…' if start else ''}{part}{'…' if start + EXCERPT < len(text) else ''}"


class CaseAnswer(serializers.Serializer[Any]):
    """A question that somebody has to answer: what stands, what is claimed against it, and what was decided."""

    id = serializers.CharField()
    namespace = serializers.CharField(source="namespace.root_name")
    user = serializers.CharField(source="namespace.user", allow_null=True)
    subject = serializers.CharField(help_text="Empty when all that names it was forgotten.")
    predicate = serializers.CharField()
    scope = serializers.CharField()
    session_id = serializers.CharField(source="key.session_id")
    status = serializers.SerializerMethodField()
    revision = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="Challengers that a decision settles.")
    since = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    values = CaseValueAnswer(many=True, help_text="What stands, then the strongest challengers, then former ones.")
    ruling = RulingAnswer(allow_null=True)

    @extend_schema_field(serializers.ChoiceField(["pending", "settled"]))
    def get_status(self, case: Case) -> str:
        """Whether something waits."""
        return "pending" if case.waiting else "settled"


class CaseGroupAnswer(serializers.Serializer[Any]):
    """What waits of one source, owner, namespace or predicate."""

    id = serializers.CharField(help_text="As the filter of that name takes it.")
    name = serializers.CharField()
    cases = serializers.IntegerField()
    waiting = serializers.IntegerField()
    since = serializers.DateTimeField()
    last_at = serializers.DateTimeField()


def case_answers(cases: Sequence[Case]) -> list[Any]:
    """Return cases as they are answered."""
    return list(CaseAnswer(cases, many=True).data)

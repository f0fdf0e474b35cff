"""/api/v1/claims: what was true when, and what was believed when."""

import base64
import binascii
import datetime
import uuid
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from conflicts.front import Question, believed, claims, lives, timeline
from memories import access
from memories.api.answers import ClaimFields, OrNull
from memories.api.authentication import principal_of
from memories.api.fields import AboutUserQuery, Moment, Text, validated
from memories.api.inputs import namespace_form
from memories.api.pages import page_of, paged
from memories.api.rulings import RulingMarkAnswer
from memories.models.words import SourceClass, Status

OLDEST_FIRST, NEWEST_FIRST = ("begins", "recorded_at", "id"), ("-begins", "-recorded_at", "-id")


class ClaimsQuery(AboutUserQuery):
    """Which claims, at which point of both times."""

    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100, required=False)
    predicate = Text(max_length=100, required=False)
    session_id = Text(max_length=255, default="")
    status = serializers.ChoiceField([*Status.choices, ("all", "all")], default="active")
    as_of = Moment(required=False)
    known_at = Moment(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class TimelineQuery(AboutUserQuery):
    """Which key."""

    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100)
    predicate = Text(max_length=100)
    session_id = Text(max_length=255, default="")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class BelievedAnswer(ClaimFields):
    """A claim, as it was believed."""

    fragment_id = serializers.UUIDField()
    namespace = serializers.CharField()
    user = serializers.CharField(allow_null=True)
    source = serializers.ChoiceField(SourceClass.choices)
    owner = OrNull(allow_null=True)
    owner_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(Status.choices)
    recorded_at = serializers.DateTimeField()
    ruling = RulingMarkAnswer(allow_null=True, help_text="The ruling in force, at `known_at`, on what it says.")


class BeliefAnswer(serializers.Serializer[Any]):
    """What was believed of a claim for a time; `until` null means still."""

    until = serializers.DateTimeField(allow_null=True)
    status = serializers.ChoiceField(Status.choices)
    value = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        """With `from`, which is no name in Python."""
        return {"from": serializers.DateTimeField(source="since"), **super().get_fields()}


class LifeAnswer(BelievedAnswer):
    """A claim on a key and all that was ever believed of it."""

    superseded_by = serializers.UUIDField(allow_null=True)
    moved = serializers.BooleanField(help_text="It was changed and says nothing of this key any more.")
    beliefs = BeliefAnswer(many=True)
    rulings = RulingMarkAnswer(many=True, help_text="All that was ever ruled on what it says, oldest first.")


class ClaimsView(APIView):
    """Claims at a point of both times."""

    @extend_schema(operation_id="claims_list", parameters=[ClaimsQuery], responses={200: page_of(BelievedAnswer)})
    def get(self, request: Request) -> Response:
        """The claims that held at `as_of` (default now), as they were believed at `known_at` (default now).

        Subject and predicate in any spelling; `session_id` asks what is believed in that session. Newest first.
        """
        query = validated(ClaimsQuery, request.query_params.dict())
        limit, cursor, status = query.pop("limit"), query.pop("cursor", None), query.pop("status")
        question = Question(**query, status=None if status == "all" else status)
        principal = principal_of(request)
        with access.enter(principal, why="claims"):
            rows = claims(principal, question, now=timezone.now())
            page = paged(
                request,
                rows,
                lambda found: list(BelievedAnswer(believed(principal, found), many=True).data),
                limit=limit,
                cursor=cursor,
            )
            return Response(page)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a timeline, and whether the page before or after it is wanted."""

    back: bool
    begins: datetime.datetime
    recorded_at: datetime.datetime
    row: uuid.UUID

    @classmethod
    def read(cls, text: str) -> Self:
        """The cursor of a link. Raises ValidationError for anything that is not one of ours."""
        try:
            way, *moments, row = base64.urlsafe_b64decode(text.encode()).decode().split("|")
            begins, recorded_at = map(datetime.datetime.fromisoformat, moments)
            if way not in ("<", ">") or begins.tzinfo is None or recorded_at.tzinfo is None:
                raise ValueError(text)
            return cls(way == "<", begins, recorded_at, uuid.UUID(row))
        except (ValueError, OverflowError, binascii.Error) as error:
            raise serializers.ValidationError({"cursor": ["This is no cursor of a list."]}) from error

    def __str__(self) -> str:
        text = f"{'<' if self.back else '>'}|{self.begins.isoformat()}|{self.recorded_at.isoformat()}|{self.row}"
        return base64.urlsafe_b64encode(text.encode()).decode()

    def beyond(self) -> Q:
        """The rows on the wanted side."""
        side = "lt" if self.back else "gt"
        later = Q(begins=self.begins, **{f"recorded_at__{side}": self.recorded_at})
        last = Q(begins=self.begins, recorded_at=self.recorded_at, **{f"id__{side}": self.row})
        return Q(**{f"begins__{side}": self.begins}) | later | last


class TimelineView(APIView):
    """The history of a key."""

    @extend_schema(operation_id="claims_timeline", parameters=[TimelineQuery], responses={200: page_of(LifeAnswer)})
    def get(self, request: Request) -> Response:
        """Every claim on a key that was not forgotten, in the order in which they begin to hold.

        `beliefs` says from when until when it was believed in which state, value and period.
        """
        query = validated(TimelineQuery, request.query_params.dict())
        limit, cursor = query.pop("limit"), query.pop("cursor", None)
        principal = principal_of(request)
        with access.enter(principal, why="claims"):
            found, links = _turned(request, timeline(principal, **query), limit=limit, cursor=cursor)
            shown = lives(principal, found, subject=query["subject"], predicate=query["predicate"])
            return Response({**links, "results": LifeAnswer(shown, many=True).data})


def _turned(
    request: Request, rows: QuerySet[Any], *, limit: int, cursor: str | None
) -> tuple[list[Any], dict[str, str | None]]:
    """One page of a timeline, with the links to its neighbours. Raises ValidationError for a bad cursor."""
    place = Cursor.read(cursor) if cursor else None
    back = place is not None and place.back
    asked = rows.filter(place.beyond()) if place else rows
    found = list(asked.order_by(*(NEWEST_FIRST if back else OLDEST_FIRST))[: limit + 1])
    more, page = len(found) > limit, found[:limit]
    if back:
        page.reverse()

    def link(row: Any, *, back: bool) -> str:
        text = str(Cursor(back, row.begins, row.recorded_at, row.id))
        return str(replace_query_param(request.build_absolute_uri(), "cursor", text))

    has_next, has_previous = (True, more) if back else (more, place is not None)
    following = link(page[-1], back=False) if page and has_next else None
    former = link(page[0], back=True) if page and has_previous else None
    return page, {"next": following, "previous": former}

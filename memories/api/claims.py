"""/api/v1/claims: what was true when, and what was believed when."""

import base64
import binascii
import datetime
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Self

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from conflicts.public import BeliefQuery, Believed, believed, claims, lives, timeline
from memories import access
from memories.api.answers import ClaimFields, OrNull
from memories.api.authentication import principal_of
from memories.api.fields import AboutUserQuery, Moment, Text, validated
from memories.api.inputs import namespace_form
from memories.api.pagination import page_of
from memories.api.rulings import RulingMarkAnswer
from memories.models.enums import SourceClass, Status

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
    limit = serializers.IntegerField(
        min_value=1,
        max_value=200,
        default=50,
        help_text="Memories; one that has claimed several values of the key shows each.",
    )
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
        question = BeliefQuery(**query, status=None if status == "all" else status)
        principal = principal_of(request)
        with access.enter(principal, why="claims"):
            rows = claims(principal, question, now=timezone.now())
            found, links = _listed(request, rows, partial(believed, principal), limit=limit, cursor=cursor)
            return Response({**links, "results": BelievedAnswer(found, many=True).data})


@dataclass(frozen=True, slots=True)
class ClaimCursor:
    """A claim in the list, and whether the page before or after it is wanted."""

    back: bool
    at: datetime.datetime
    fragment: uuid.UUID
    claim: uuid.UUID

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the cursor of a link. Raise ValidationError for anything that is not one of ours."""
        way, (at,), (fragment, claim) = _cursor_parts(text, moments=1)
        return cls(way == "<", at, fragment, claim)

    def __str__(self) -> str:
        return _cursor_text(self.back, self.at.isoformat(), self.fragment, self.claim)

    def reach(self) -> Q:
        """The fragments on the wanted side, with the claim's own."""
        side = "gt" if self.back else "lt"
        same = Q(created_at=self.at, **{f"id__{side}e": self.fragment})
        return Q(**{f"created_at__{side}": self.at}) | same


def _listed(
    request: Request,
    rows: QuerySet[Any],
    told: Callable[[list[Any]], list[Believed]],
    *,
    limit: int,
    cursor: str | None,
) -> tuple[list[Believed], dict[str, str | None]]:
    """One page of the claims of fragments, with the links to its neighbours. Raises ValidationError for a bad cursor.

    A fragment's claims keep together and in their order, over pages too.
    """
    place = ClaimCursor.read(cursor) if cursor else None
    back = place is not None and place.back
    asked = rows.filter(place.reach()) if place else rows
    asked = asked.order_by(*(("created_at", "id") if back else ("-created_at", "-id")))
    page: list[Believed] = []
    moments: dict[uuid.UUID, datetime.datetime] = {}
    done = 0
    while len(page) <= limit and (batch := list(asked[done : done + limit + 2])):
        done += len(batch)
        moments |= {row.id: row.created_at for row in batch}
        for _, mine in groupby(told(batch), key=attrgetter("fragment_id")):
            page += _after(place, list(mine), back=back)
    more, page = len(page) > limit, page[:limit]
    if back:
        page.reverse()

    def link(one: Believed, *, back: bool) -> str:
        return _link(request, ClaimCursor(back, moments[one.fragment_id], one.fragment_id, one.id))

    return page, _neighbours(page, link, back=back, more=more, placed=place is not None)


def _after(place: ClaimCursor | None, mine: list[Believed], *, back: bool) -> list[Believed]:
    """Of a fragment's claims those beyond the cursor, in the order of reading."""
    ordered = mine[::-1] if back else mine
    ids = [one.id for one in ordered]
    return ordered[ids.index(place.claim) + 1 :] if place and place.claim in ids else ordered


@dataclass(frozen=True, slots=True)
class TimelineCursor:
    """A place in a timeline, and whether the page before or after it is wanted."""

    back: bool
    begins: datetime.datetime
    recorded_at: datetime.datetime
    row: uuid.UUID

    @classmethod
    def read(cls, text: str) -> Self:
        """The cursor of a link. Raises ValidationError for anything that is not one of ours."""
        way, (begins, recorded_at), (row,) = _cursor_parts(text, moments=2)
        return cls(way == "<", begins, recorded_at, row)

    def __str__(self) -> str:
        return _cursor_text(self.back, self.begins.isoformat(), self.recorded_at.isoformat(), self.row)

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
    place = TimelineCursor.read(cursor) if cursor else None
    back = place is not None and place.back
    asked = rows.filter(place.beyond()) if place else rows
    found = list(asked.order_by(*(NEWEST_FIRST if back else OLDEST_FIRST))[: limit + 1])
    more, page = len(found) > limit, found[:limit]
    if back:
        page.reverse()

    def link(row: Any, *, back: bool) -> str:
        return _link(request, TimelineCursor(back, row.begins, row.recorded_at, row.id))

    return page, _neighbours(page, link, back=back, more=more, placed=place is not None)


def _cursor_text(back: bool, *parts: object) -> str:  # the first part
    return base64.urlsafe_b64encode("|".join(map(str, ["<" if back else ">", *parts])).encode()).decode()


def _cursor_parts(text: str, *, moments: int) -> tuple[str, list[datetime.datetime], list[uuid.UUID]]:
    try:
        way, *parts = base64.urlsafe_b64decode(text.encode()).decode().split("|")
        times = [datetime.datetime.fromisoformat(part) for part in parts[:moments]]
        if way not in ("<", ">") or len(parts) != 3 or any(time.tzinfo is None for time in times):
            raise ValueError(text)
        return way, [time.astimezone(datetime.UTC) for time in times], [uuid.UUID(part) for part in parts[moments:]]
    except (ValueError, OverflowError, binascii.Error) as error:
        raise serializers.ValidationError({"cursor": ["This is no cursor of a list."]}) from error


def _link(request: Request, cursor: TimelineCursor | ClaimCursor) -> str:
    return str(replace_query_param(request.build_absolute_uri(), "cursor", str(cursor)))


def _neighbours(
    page: Sequence[Any], link: Callable[..., str], *, back: bool, more: bool, placed: bool
) -> dict[str, str | None]:
    """The links of a page, of which the one where it came from is known."""
    has_next, has_previous = (True, more) if back else (more, placed)
    following = link(page[-1], back=False) if page and has_next else None
    former = link(page[0], back=True) if page and has_previous else None
    return {"next": following, "previous": former}

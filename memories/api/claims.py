"""/api/v1/claims: what was true when, and what was believed when."""

import datetime
import uuid
from collections.abc import Callable
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.history import BeliefQuery, Believed, believed_claims, claims, load_lives, timeline
from memories import access
from memories.api.pagination import cursor_of, links_of, page_at, page_of
from memories.cursors import NEWEST_FIRST, Cursor, reading_order
from memories.rest.authentication import principal_of
from memories.rest.claims import BelievedAnswer, ClaimsQuery
from memories.rest.fields import validated_query
from memories.rest.histories import BY_PERIOD, LifeAnswer, TimelineQuery


class ClaimsView(APIView):
    """Claims at a point of both times."""

    @extend_schema(operation_id="claims_list", parameters=[ClaimsQuery], responses={200: page_of(BelievedAnswer)})
    def get(self, request: Request) -> Response:
        """The claims that held at `as_of` (default now), as they were believed at `known_at` (default now).

        Subject and predicate in any spelling; `session_id` asks what is believed in that session. Newest first.
        """
        query = validated_query(ClaimsQuery, request)
        limit, cursor, status = query.pop("limit"), query.pop("cursor", None), query.pop("status")
        question = BeliefQuery(**query, status=None if status == "all" else status, wider=True)
        principal = principal_of(request)
        with access.enter(principal, why="claims"):
            rows = claims(principal, question, now=timezone.now())
            found, links = _listed(request, rows, partial(believed_claims, principal), limit=limit, cursor=cursor)
            return Response({**links, "results": BelievedAnswer(found, many=True).data})


def _listed(
    request: Request,
    rows: QuerySet[Any],
    answer: Callable[[list[Any]], list[Believed]],
    *,
    limit: int,
    cursor: str | None,
) -> tuple[list[Believed], dict[str, str | None]]:
    """One page of the claims of fragments, with the links to its neighbours. Raise ValidationError for a bad cursor.

    A fragment's claims keep together and in their order, over pages too.
    """
    place = cursor_of(cursor, ids=2)
    back = place is not None and place.back
    found = rows
    if place:
        at, fragment, _ = place.values
        found = rows.filter(place.beyond(NEWEST_FIRST) | Q(created_at=at, id=fragment))
    found = found.order_by(*reading_order(NEWEST_FIRST, place))
    page: list[Believed] = []
    moments: dict[uuid.UUID, datetime.datetime] = {}
    done = 0
    while len(page) <= limit and (batch := list(found[done : done + limit + 2])):
        done += len(batch)
        moments |= {row.id: row.created_at for row in batch}
        for _, claims_of_row in groupby(answer(batch), key=attrgetter("fragment_id")):
            page += _after(place, list(claims_of_row), back=back)
    more, page = len(page) > limit, page[:limit]
    if back:
        page.reverse()

    def at_claim(one: Believed, *, back: bool) -> Cursor:
        return Cursor((moments[one.fragment_id], one.fragment_id, one.id), back)

    return page, links_of(request, page, at_claim, more=more, cursor=place)


def _after(place: Cursor | None, earlier: list[Believed], *, back: bool) -> list[Believed]:
    """Return of a fragment's claims those beyond the cursor, in the order of reading."""
    ordered = earlier[::-1] if back else earlier
    ids = [one.id for one in ordered]
    return ordered[ids.index(place.values[-1]) + 1 :] if place and place.values[-1] in ids else ordered


class TimelineView(APIView):
    """The history of a key."""

    @extend_schema(operation_id="claims_timeline", parameters=[TimelineQuery], responses={200: page_of(LifeAnswer)})
    def get(self, request: Request) -> Response:
        """Every claim on a key that was not forgotten, in the order in which they begin to hold.

        `beliefs` says from when until when it was believed in which state, value and period.
        """
        query = validated_query(TimelineQuery, request)
        limit, cursor = query.pop("limit"), query.pop("cursor", None)
        principal = principal_of(request)
        with access.enter(principal, why="claims"):
            rows = timeline(principal, **query)
            found, links = page_at(request, rows, BY_PERIOD, limit=limit, cursor=cursor_of(cursor, times=2))
            shown = load_lives(principal, found, subject=query["subject"], predicate=query["predicate"])
            return Response({**links, "results": LifeAnswer(shown, many=True).data})

"""/api/v1/events: what happens to beliefs, to poll or to listen to."""

import asyncio
import datetime
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import APIException, Throttled
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.events import Announcement, Bookmark, Happening, News, NoBookmark, latest, list_events
from memories.access import Principal, rate_limits
from memories.rest.authentication import bearer_of, principal_of
from memories.rest.fields import AboutUserQuery, Text, validated_query
from memories.rest.inputs import namespace_form

EVERY, HEARTBEAT, LONGEST = 1.0, 15.0, 300.0  # seconds: between two looks, of silence, of a stream
# A stream of which nothing was heard for so long has ended, or never began: its caller left before.
LEASE = datetime.timedelta(minutes=1)
PAGE = 200
NOW = "now"
RETRY = 2000  # milliseconds until a listener comes back

Look = Callable[[Bookmark], News]


class EventsQuery(AboutUserQuery):
    """From where on, and which."""

    since = Text(required=False, help_text="The `next` of an answer, or `now`; without it, from the beginning.")
    kind = serializers.ChoiceField(Happening.choices, required=False)
    namespace = Text(required=False, validators=[namespace_form])
    limit = serializers.IntegerField(min_value=1, max_value=PAGE, default=50)


class WhoAnswer(serializers.Serializer[Any]):
    """Who did it: a key, a person or the service itself."""

    kind = serializers.CharField(allow_null=True)
    owner = serializers.UUIDField(allow_null=True)
    key = serializers.UUIDField(allow_null=True)
    user = serializers.CharField(allow_null=True)


class AnnouncementAnswer(serializers.Serializer[Any]):
    """One thing that happened."""

    id = serializers.CharField(source="mark", help_text="A cursor: `since` this.")
    kind = serializers.ChoiceField(Happening.choices)
    at = serializers.DateTimeField()
    namespace = serializers.CharField()
    fragment_id = serializers.UUIDField(allow_null=True)
    conflict_id = serializers.UUIDField(allow_null=True)
    operation_id = serializers.UUIDField(allow_null=True, help_text="The consolidation, or the undo of one.")
    other_id = serializers.UUIDField(
        allow_null=True, help_text="What superseded it, the claim that it opposes, or the run that an undo took back."
    )
    receipt_id = serializers.UUIDField(
        allow_null=True, help_text="Of a recall notice: the answer that carried the fragment; `why` is its reason then."
    )
    who = WhoAnswer()
    why = serializers.CharField(allow_null=True)


class NewsAnswer(serializers.Serializer[Any]):
    """What happened, oldest first, and the cursor to read on from."""

    next = serializers.CharField()
    previous = serializers.CharField(allow_null=True)
    results = AnnouncementAnswer(many=True)


class EventStream(BaseRenderer):
    """Server-Sent Events; the view writes them itself."""

    media_type = "text/event-stream"
    format = "event-stream"
    charset = None

    def render(self, data: Any, media_type: str | None = None, context: Any = None) -> bytes:
        """Return nothing: errors are problems, and streams are no data."""
        return b""


class EventsView(APIView):
    """Events."""

    renderer_classes = [JSONRenderer, EventStream]

    @extend_schema(
        operation_id="events_list",
        parameters=[
            EventsQuery,
            OpenApiParameter("Last-Event-ID", str, OpenApiParameter.HEADER),
            OpenApiParameter("format", exclude=True),  # the header Accept says it
        ],
        responses={(200, "application/json"): NewsAnswer, (200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """What happened to beliefs in the namespaces that the key covers: ids, never text.

        Ask again with `since` = `next`. With `Accept: text/event-stream` events are sent as they happen, from
        `Last-Event-ID`, `since` or now on; a stream ends after five minutes, come back then. A key may have
        EVENT_STREAMS_PER_KEY of them open.
        """
        query = validated_query(EventsQuery, request)
        principal = principal_of(request)
        body: dict[str, Any] = {"kinds": [query["kind"]] if "kind" in query else Happening.values}
        body |= {"namespace": query.get("namespace")}
        if request.accepted_renderer.media_type == EventStream.media_type:
            return _listened(request, body, since=query.get("since"))
        since = bookmark_of(principal, "since", query["since"]) if "since" in query else None
        page = list_events(principal, since=since, limit=query["limit"], **body)
        answer = {"next": page.next, "previous": None, "results": page.announcements}
        return Response(NewsAnswer(answer).data)


def bookmark_of(principal: Principal, field: str, text: str) -> Bookmark:
    """Return the place that a text names, `now` behind all that is over. Raise ValidationError."""
    if text == NOW:
        return latest(principal)
    try:
        return Bookmark.read(text)
    except NoBookmark as error:
        raise serializers.ValidationError({field: ["This is no cursor of events."]}) from error


def _listened(request: Request, query: Mapping[str, Any], *, since: str | None) -> StreamingHttpResponse:
    principal = principal_of(request)

    def look(mark: Bookmark) -> News:
        """Return what is new, in a transaction of its own; no connection is kept while the stream sleeps."""
        try:
            bearer_of(get_authorization_header(request), now=timezone.now())  # who ended meanwhile hears no more
            return list_events(principal, since=mark, limit=PAGE, **query)
        finally:
            connection.close_if_unusable_or_obsolete()

    last = request.headers.get("Last-Event-ID")
    begin = bookmark_of(principal, "Last-Event-ID", last) if last else bookmark_of(principal, "since", since or NOW)
    news = look(begin)
    most: int = settings.EVENT_STREAMS_PER_KEY
    seat = rate_limits.acquire_seat(rate_limits.STREAM, str(principal.key_id), most=most, until=timezone.now() + LEASE)
    if seat is None:
        raise Throttled(wait=RETRY / 1000, detail=f"{most} streams of this key are open.")
    content = _seated(seat, _event_stream(begin, news, look))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(content, content_type=EventStream.media_type, headers=headers)


async def _seated(seat: uuid.UUID, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Return the stream; others may listen once it has ended, however it did."""
    told = time.monotonic()
    try:
        async for piece in stream:
            yield piece
            if time.monotonic() - told >= HEARTBEAT:
                if await sync_to_async(_tell)(rate_limits.renew_seat, seat, until=timezone.now() + LEASE) is False:
                    return
                told = time.monotonic()
    finally:
        await asyncio.shield(sync_to_async(_tell)(rate_limits.release_seat, seat))


def _tell(what: Callable[..., bool | None], seat: uuid.UUID, **more: Any) -> bool | None:
    try:
        return what(seat, **more)
    except DatabaseError:
        return None  # the seat ends by itself, in time
    finally:
        connection.close_if_unusable_or_obsolete()


async def _event_stream(begin: Bookmark, news: News, look: Look) -> AsyncIterator[bytes]:
    """Return the stream: what was heard first, then what is new each second, and a sign of life in silence."""
    begun = spoken = time.monotonic()
    yield f"retry: {RETRY}\nid: {begin}\n\n".encode()
    while time.monotonic() - begun < LONGEST:
        for announcement in news.announcements:
            yield _frame(announcement)
            spoken = time.monotonic()
        if len(news.announcements) < PAGE:
            if time.monotonic() - spoken >= HEARTBEAT:
                yield b": nothing new\n\n"
                spoken = time.monotonic()
            await asyncio.sleep(EVERY)
        try:
            news = await sync_to_async(look)(news.next)
        except (APIException, DatabaseError):
            return  # who comes back is told why


def _frame(announcement: Announcement) -> bytes:
    data = JSONRenderer().render(AnnouncementAnswer(announcement).data)
    return f"id: {announcement.mark}\nevent: {announcement.kind}\ndata: ".encode() + data + b"\n\n"

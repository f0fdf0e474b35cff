"""/api/v1/timeline: what was decided and done, on one line, and what two points of it differ in."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api.pagination import cursor_of, links_of, page_of
from memories.cursors import BadCursor
from memories.rest.authentication import principal_of
from memories.rest.fields import validated_query
from memories.rest.timeline import DifferenceAnswer, DifferenceQuery, EntryAnswer, TimelineEntriesQuery
from memories.timeline import PLACE, Entry, difference, entries


class ProjectTimelineView(APIView):
    """The line."""

    @extend_schema(operation_id="timeline", parameters=[TimelineEntriesQuery], responses={200: page_of(EntryAnswer)})
    def get(self, request: Request) -> Response:
        """Decisions, consolidations, restores, merges, forks, backups, evictions, forgettings, deletions.

        Also containments, rollbacks, and what took one of them back. Newest first, of the namespaces that the key
        covers; what concerns all of the project is told to a key for all of it, where no namespace is asked for.
        """
        query = validated_query(TimelineEntriesQuery, request)
        cursor = cursor_of(query.get("cursor"), **PLACE)
        names = ("namespace", "since", "until", "limit")
        wanted: dict[str, Any] = {name: query[name] for name in names if name in query}
        if "kind" in query:
            wanted["kinds"] = [query["kind"]]
        try:
            page = entries(principal_of(request), cursor=cursor, **wanted)
        except BadCursor as error:
            raise serializers.ValidationError({"cursor": ["This is no cursor of a list."]}) from error
        links = links_of(request, page.entries, Entry.cursor, more=page.more, cursor=cursor)
        return Response({**links, "results": EntryAnswer(page.entries, many=True).data})


class DifferenceView(APIView):
    """A difference."""

    @extend_schema(operation_id="timeline_difference", parameters=[DifferenceQuery], responses={200: DifferenceAnswer})
    def get(self, request: Request) -> Response:
        """What was believed at one point and at another, key by key, and how many memories changed their status.

        Of claims that hold at the later point. Up to 2,000 memories whose claims changed; 410 further back than history
        is kept.
        """
        query, now = validated_query(DifferenceQuery, request), timezone.now()
        points = {"since": query["since"], "until": query.get("until", now)}
        found = difference(principal_of(request), **points, namespace=query.get("namespace"), now=now)
        return Response(DifferenceAnswer({**points, "keys": found.keys, "memories": found.memories}).data)

"""/api/v1/notices: which answers carried what does not hold any more."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.events import NOTICES, latest
from memories import access
from memories.access import Principal
from memories.api.events import bookmark_of
from memories.api.pagination import paged
from memories.models import RecallNotice
from memories.rest.authentication import principal_of
from memories.rest.fields import validated_query
from memories.rest.notices import NoticeAnswer, NoticesQuery


class NoticePage(serializers.Serializer[Any]):
    """A page of notices, and what to ask with for those that come after all of its pages."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    bookmark = serializers.CharField(help_text="`since` this the next time; what was being written may come twice.")
    results = NoticeAnswer(many=True)


class NoticesView(APIView):
    """Recall notices."""

    @extend_schema(operation_id="notices_list", parameters=[NoticesQuery], responses={200: NoticePage})
    def get(self, request: Request) -> Response:
        """A page of recall notices, newest first: ids, never text.

        One for each answer, as long as its receipt is kept, and each memory in it that was superseded, ruled out,
        disputed or contained since, or stands again. Of the namespaces and users that the key covers; `mine`: of the
        answers that it got itself.
        """
        query = validated_query(NoticesQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            mark = latest(principal)
            page = paged(
                request,
                _asked(principal, query),
                lambda page: list(NoticeAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response({**page, "bookmark": str(mark)})


def _asked(principal: Principal, query: dict[str, Any]) -> Any:
    names = [query["namespace"]] if "namespace" in query else None
    rows = RecallNotice.objects.within(principal.project_id).with_status().select_related("namespace")
    rows = rows.filter(namespace__in=access.readable_scopes(principal, names))
    rows = rows.filter(**{name: query[name] for name in ("reason", "fragment_id", "receipt_id") if name in query})
    if query["mine"]:
        rows = rows.filter(key_id=principal.key_id)
    if "since" in query:
        mark = bookmark_of(principal, "since", query["since"])
        rows = rows.after(mark.recorded_in, mark.number if mark.table == NOTICES else 0)
    return rows

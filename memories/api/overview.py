"""/api/v1/stats and /api/v1/namespaces: what there is."""

from typing import Any

from django.db import connection
from django.db.models import Count
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.front import waiting
from memories import access
from memories.access import Principal
from memories.api.authentication import principal_of
from memories.api.fields import Strict, Text, validated
from memories.api.fragments import IDEMPOTENCY
from memories.api.inputs import namespace_form
from memories.api.once import Answer, answer_once
from memories.models import Fragment, Namespace, PendingEmbedding
from memories.models.words import FragmentType, Status, Tier
from memories.providers import active_model


class StatsQuery(Strict):
    """Which namespace; without one, all that the key covers."""

    namespace = Text(required=False, validators=[namespace_form])


class StatsAnswer(serializers.Serializer[Any]):
    """Counts of fragments."""

    total = serializers.IntegerField()
    by_status = serializers.DictField(child=serializers.IntegerField())
    by_tier = serializers.DictField(child=serializers.IntegerField())
    by_type = serializers.DictField(child=serializers.IntegerField())
    pending_embeddings = serializers.IntegerField()
    pending_conflicts = serializers.IntegerField()
    storage_bytes = serializers.IntegerField()


class StatsView(APIView):
    """Counts."""

    @extend_schema(operation_id="stats", parameters=[StatsQuery], responses={200: StatsAnswer})
    def get(self, request: Request) -> Response:
        """How many fragments there are, by status, tier and type; how many wait for their vector or for a person."""
        query = validated(StatsQuery, request.query_params.dict())
        principal = principal_of(request)
        with access.enter(principal, why="stats"):
            if "namespace" in query:
                namespaces = access.readable(principal, [query["namespace"]])
            else:
                namespaces = access.all_readable(principal)
            rows = Fragment.objects.within(principal.project_id).in_namespaces(namespaces)
            pending = PendingEmbedding.objects.within(principal.project_id).filter(model=active_model())
            data = {
                "total": rows.count(),
                "by_status": _counts(rows, "status", Status.values),
                "by_tier": _counts(rows, "tier", Tier.values),
                "by_type": _counts(rows, "type", FragmentType.values),
                "pending_embeddings": pending.filter(fragment__namespace__in=namespaces).count(),
                "pending_conflicts": waiting(principal, namespace=query.get("namespace")).count(),
                "storage_bytes": _text_bytes(principal, namespaces),
            }
        return Response(data)


def _counts(rows: Any, field: str, words: list[str]) -> dict[str, int]:
    found = dict(rows.order_by().values_list(field).annotate(n=Count("id")))
    return {word: found.get(word, 0) for word in words}


def _text_bytes(principal: Principal, namespaces: list[Namespace]) -> int:
    """Bytes that the fragment rows take on disk, without indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(pg_column_size(f.*)), 0) FROM memories_fragment f"
            " WHERE project_id = %s AND namespace_id = ANY (%s)",
            [principal.project_id, [namespace.id for namespace in namespaces]],
        )
        return int(cursor.fetchone()[0])


class NamespaceInput(Strict):
    """A namespace to make."""

    name = Text(validators=[namespace_form])


class NamespaceAnswer(serializers.Serializer[Any]):
    """A namespace."""

    name = serializers.CharField()
    agent = serializers.CharField()
    language = serializers.CharField()
    created_at = serializers.DateTimeField()


class NamespaceList(serializers.Serializer[Any]):
    """The namespaces that a key covers."""

    results = NamespaceAnswer(many=True)


class NamespacesView(APIView):
    """Namespaces: list and make."""

    @extend_schema(operation_id="namespaces_list", responses={200: NamespaceList})
    def get(self, request: Request) -> Response:
        """The namespaces that the key covers, by name."""
        with access.enter(principal_of(request), why="list"):
            rows = access.all_readable(principal_of(request))
            return Response({"results": NamespaceAnswer(rows, many=True).data})

    @extend_schema(
        operation_id="namespaces_make",
        request=NamespaceInput,
        parameters=[IDEMPOTENCY],
        responses={201: NamespaceAnswer},
    )
    def post(self, request: Request) -> Response:
        """Makes a namespace; one that exists is answered as it is."""
        values = validated(NamespaceInput, request.data)

        def effect(_: None) -> Answer:
            return Answer(201, NamespaceAnswer(access.writable(principal_of(request), values["name"])).data)

        return answer_once(request, prepare=lambda: None, effect=effect)

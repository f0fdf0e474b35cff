"""/api/v1/graph: what memories speak of, and how their claims join it."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access
from memories.access import Principal
from memories.models import NAME_LIMIT
from memories.models.enums import EntityLabel
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUserQuery, Text, validated_query
from memories.rest.inputs import namespace_form
from memories.upkeep.graph import DEEPEST, GraphGround, entities, explore


class GraphQuery(AboutUserQuery):
    """Around which entity, in which namespace; without one, in all that the key covers."""

    entity = Text(max_length=1000)
    depth = serializers.IntegerField(min_value=1, max_value=DEEPEST, default=1)
    namespace = Text(required=False, validators=[namespace_form])


class EntitiesQuery(AboutUserQuery):
    """Which entities."""

    q = Text(max_length=NAME_LIMIT)
    namespace = Text(required=False, validators=[namespace_form])
    label = serializers.ChoiceField(EntityLabel.choices, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class NodeAnswer(serializers.Serializer[Any]):
    """An entity: its most frequent spelling and kind, and how many memories mention it."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    label = serializers.ChoiceField(EntityLabel.choices)
    mentions = serializers.IntegerField()


class EdgeAnswer(serializers.Serializer[Any]):
    """A claim that its namespace believes: source – predicate → target."""

    source = serializers.UUIDField()
    predicate = serializers.CharField()
    target = serializers.UUIDField()
    fragment_id = serializers.UUIDField()
    namespace = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)


class GraphAnswer(serializers.Serializer[Any]):
    """What surrounds an entity."""

    entity = serializers.UUIDField()
    nodes = NodeAnswer(many=True)
    edges = EdgeAnswer(many=True)
    fragments = serializers.ListField(child=serializers.UUIDField(), help_text="The latest that mention the entity.")
    truncated = serializers.BooleanField()


class EntitiesAnswer(serializers.Serializer[Any]):
    """Entities, those with the most mentions first."""

    results = NodeAnswer(many=True)


def _ground(principal: Principal, query: dict[str, Any]) -> GraphGround:
    """Return where to look. Raise NotFound for a namespace that is not covered."""
    return GraphGround(access.requested_scopes(principal, query.get("namespace")), timezone.now())


class GraphView(APIView):
    """The graph around an entity."""

    @extend_schema(operation_id="graph", parameters=[GraphQuery], responses={200: GraphAnswer})
    def get(self, request: Request) -> Response:
        """Entities and claims up to `depth` claims away from `entity`, named in any spelling or by its id.

        Only what a default answer may show: active memories, claims that hold now, none of a session's. At most 200
        entities and 500 claims; `truncated` says that there are more.
        """
        query = validated_query(GraphQuery, request)
        with access.enter(principal_of(request), why="graph"):
            found = explore(_ground(principal_of(request), query), query["entity"], depth=query["depth"])
            return Response(GraphAnswer(found).data)


class EntitiesView(APIView):
    """Entities by name."""

    @extend_schema(operation_id="graph_entities", parameters=[EntitiesQuery], responses={200: EntitiesAnswer})
    def get(self, request: Request) -> Response:
        """The entities whose name holds `q` in any spelling.

        The most mentioned first.
        """
        query = validated_query(EntitiesQuery, request)
        with access.enter(principal_of(request), why="graph"):
            ground = _ground(principal_of(request), query)
            found = entities(ground, query["q"], label=query.get("label"), most=query["limit"])
            return Response(EntitiesAnswer({"results": found}).data)

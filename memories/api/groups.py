"""/api/v1/episodes and /api/v1/clusters: memories that belong together."""

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access
from memories.access import Principal
from memories.api.pagination import page_of, paged
from memories.models import NAME_LIMIT, Namespace
from memories.rest.answers import FragmentAnswer, OrNull, answers
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, AboutUserQuery, Id, Moment, Text, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.upkeep import graph
from memories.upkeep.graph import MOST_READ, EpisodeQuery

SMALLEST = 2


class GroupPage(AboutUserQuery):
    """Where, and which page."""

    namespace = Text(required=False, validators=[namespace_form])
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class EpisodesQuery(GroupPage):
    """The filters of a list of episodes."""

    since = Moment(required=False)
    until = Moment(required=False)
    agent = Text(max_length=63, required=False)


class EpisodeInput(AboutUser):
    """An episode to make."""

    namespace = Text(validators=[namespace_form])
    title = Text(max_length=NAME_LIMIT, required=False, default="", allow_blank=True)
    ids = serializers.ListField(child=Id(), min_length=1, max_length=MOST_READ)

    def validate_ids(self, value: list[uuid.UUID]) -> list[uuid.UUID]:
        """Return each once."""
        if len(set(value)) != len(value):
            raise serializers.ValidationError("Name each memory once.")
        return value


class EpisodeAnswer(serializers.Serializer[Any]):
    """What belongs together in time."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.name")
    conversation_id = OrNull(allow_null=True)
    title = serializers.SerializerMethodField()
    size = serializers.IntegerField()
    began_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()

    def get_title(self, row: Any) -> str:
        """What somebody called it, else how it begins."""
        return graph.title_of(row)


class WholeEpisodeAnswer(EpisodeAnswer):
    """An episode with its memories in order."""

    summary = serializers.CharField()
    members = FragmentAnswer(many=True)
    truncated = serializers.BooleanField()


def _requested_namespaces(principal: Principal, query: dict[str, Any]) -> list[Namespace]:
    return access.requested_scopes(principal, query.get("namespace"))


def _complete_episode(principal: Principal, episode_id: uuid.UUID) -> dict[str, Any]:
    now = timezone.now()
    row = graph.episode(principal, episode_id, now=now)
    answer = graph.members(row, now=now)
    return {
        **EpisodeAnswer(row).data,
        "summary": graph.summary_of(answer),
        "members": answers(answer, now=now),
        "truncated": row.size > len(answer),
    }


class EpisodesView(APIView):
    """Episodes: list and make."""

    @extend_schema(operation_id="episodes_list", parameters=[EpisodesQuery], responses={200: page_of(EpisodeAnswer)})
    def get(self, request: Request) -> Response:
        """A page of episodes, those that began last first: conversations, and what somebody put together."""
        query = validated_query(EpisodesQuery, request)
        options = {name: query[name] for name in ("since", "until", "agent") if name in query}
        principal = principal_of(request)
        with access.enter(principal, why="episodes"):
            rows = graph.episodes(
                principal, EpisodeQuery(_requested_namespaces(principal, query), **options), now=timezone.now()
            )
            return Response(
                paged(
                    request,
                    rows,
                    lambda page: list(EpisodeAnswer(page, many=True).data),
                    limit=query["limit"],
                    cursor=query.get("cursor"),
                )
            )

    @extend_schema(
        operation_id="episodes_make",
        request=EpisodeInput,
        parameters=[IDEMPOTENCY],
        responses={201: WholeEpisodeAnswer},
    )
    def post(self, request: Request) -> Response:
        """Puts memories of a namespace together, in the order given."""
        principal = principal_of(request)
        values = validated(EpisodeInput, request.data)

        def effect(_: None) -> IdempotentAnswer:
            made = graph.create_episode(principal, **values)
            return IdempotentAnswer(201, lambda: _complete_episode(principal, made.id), values["ids"])

        return answer_once(request, prepare=lambda: None, effect=effect)


class EpisodeView(APIView):
    """One episode."""

    @extend_schema(operation_id="episodes_read", responses={200: WholeEpisodeAnswer})
    def get(self, request: Request, episode_id: uuid.UUID) -> Response:
        """The episode with up to 200 of its memories, in the order in which they were said or put.

        With a summary.
        """
        with access.enter(principal_of(request), why="episode"):
            return Response(_complete_episode(principal_of(request), episode_id))


class ClustersQuery(GroupPage):
    """The filters of a list of clusters."""

    min_size = serializers.IntegerField(min_value=SMALLEST, default=3)


class LabelInput(AboutUser):
    """What to call a cluster; null takes the label away."""

    label = Text(max_length=NAME_LIMIT, allow_null=True)


class ClusterAnswer(serializers.Serializer[Any]):
    """Memories that hang together by similar links, the oldest hundred of them first."""

    id = serializers.UUIDField(help_text="Of its oldest member.")
    namespace = serializers.CharField()
    label = serializers.CharField(allow_null=True)
    topics = serializers.ListField(child=serializers.CharField())
    size = serializers.IntegerField()
    members = serializers.ListField(child=serializers.UUIDField())
    created_at = serializers.DateTimeField()


class ClustersView(APIView):
    """Clusters."""

    @extend_schema(operation_id="clusters_list", parameters=[ClustersQuery], responses={200: page_of(ClusterAnswer)})
    def get(self, request: Request) -> Response:
        """A page of clusters of at least `min_size` members, those whose oldest memory is newest first."""
        query = validated_query(ClustersQuery, request)
        principal, least = principal_of(request), query["min_size"]
        with access.enter(principal, why="clusters"):
            rows = graph.clusters(principal, _requested_namespaces(principal, query), min_size=least)
            return Response(
                paged(
                    request,
                    rows,
                    lambda page: list(ClusterAnswer(graph.cluster_answers(page, min_size=least), many=True).data),
                    limit=query["limit"],
                    cursor=query.get("cursor"),
                )
            )


class ClusterView(APIView):
    """One cluster."""

    @extend_schema(operation_id="clusters_label", request=LabelInput, responses={200: ClusterAnswer})
    def patch(self, request: Request, cluster_id: uuid.UUID) -> Response:
        """Calls it something. The label outlives rebuilds and every single member.

        A `label` of null takes it away.
        """
        text = validated(LabelInput, request.data)["label"]
        answer = graph.set_label(principal_of(request), cluster_id, text, now=timezone.now())
        return Response(ClusterAnswer(answer).data)

"""/api/v1/models: embedding models side by side, and how far each is in the project.

Models are the installation's, vectors are a project's: no tenant's key changes a model (docs/decisions/0100).
"""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, upkeep
from memories.access import NotFound, NotPermitted
from memories.api.pagination import page_of, paged
from memories.models import EmbeddingModel, Fragment
from memories.models.enums import ModelState
from memories.providers import readiness_of
from memories.rest.authentication import principal_of
from memories.rest.fields import Strict, Text, validated_query

WORK = ("backfill", "compare", "activate", "retire")


def refused(request: Request) -> Response:
    """Refuse what only the operator of the installation does, to any key."""
    raise NotPermitted("models belong to the operator: script/manage models, or a superuser in /admin/")


class ModelQuery(Strict):
    """Which page of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class ModelAnswer(serializers.Serializer[Any]):
    """A model; `embedder` says whether this process has it at hand."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    provider = serializers.CharField()
    dim = serializers.IntegerField()
    state = serializers.ChoiceField(ModelState.choices)
    floor = serializers.FloatField(
        allow_null=True, help_text="The cosine that unrelated texts hardly reach; null: not measured yet."
    )
    embedder = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    def get_embedder(self, row: EmbeddingModel) -> str:
        """`loading`, `ready` or `failed`."""
        return readiness_of(row)


class ModelDetails(ModelAnswer):
    """With how many of the project's fragments have a vector of it."""

    fragments = serializers.IntegerField()
    missing = serializers.IntegerField()


def _model(model_id: uuid.UUID) -> EmbeddingModel:
    row: EmbeddingModel | None = EmbeddingModel.objects.filter(id=model_id).first()
    if row is None:
        raise NotFound("model")
    return row


class ModelsView(APIView):
    """Models."""

    @extend_schema(operation_id="models_list", parameters=[ModelQuery], responses={200: page_of(ModelAnswer)})
    def get(self, request: Request) -> Response:
        """A page of models, newest first.

        Everything else about models belongs to the operator.
        """
        query = validated_query(ModelQuery, request)
        return Response(
            paged(
                request,
                EmbeddingModel.objects.all(),
                lambda rows: list(ModelAnswer(rows, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
        )

    @extend_schema(exclude=True)
    def post(self, request: Request) -> Response:
        """Refuse to add one."""
        return refused(request)


class ModelView(APIView):
    """One model."""

    @extend_schema(operation_id="models_read", responses={200: ModelDetails})
    def get(self, request: Request, model_id: uuid.UUID) -> Response:
        """The model, with how far it is in this project.

        It says how many of the project's fragments have no vector of it yet.
        """
        principal = principal_of(request)
        row: Any = _model(model_id)
        row.missing = upkeep.vector_backfill.missing(principal, row)
        with access.enter(principal, why="read"):
            row.fragments = Fragment.objects.within(principal.project_id).count()
        return Response(ModelDetails(row).data)


class ModelWorkView(APIView):
    """What is done with a model."""

    @extend_schema(exclude=True)
    def post(self, request: Request, model_id: uuid.UUID) -> Response:
        """Refuse to fill, compare, switch or retire one."""
        return refused(request)

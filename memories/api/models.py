"""/api/v1/models: embedding models side by side: add, fill, compare, switch, switch back, retire.

Models are the installation's, vectors are a project's: what is said of a model holds for all projects.
"""

import re
import uuid
from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, jobs, upkeep
from memories.access import NotFound, Principal
from memories.api.authentication import principal_of
from memories.api.fields import Flag, Strict, Text, Whole, validated, words
from memories.api.fragments import IDEMPOTENCY
from memories.api.inputs import namespace_form
from memories.api.once import Answer, answer_once
from memories.api.operations import OperationAnswer, require_all
from memories.api.pages import page_of, paged
from memories.models import EmbeddingModel, Fragment
from memories.models.search import LARGEST_DIM
from memories.models.words import ModelState
from memories.providers import FAMILIES, PROVIDERS, active_model, readiness_of

# A name on the hub. Folders are the operator's business: manage.py reembed takes them.
HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
ONLY_DIM = 384  # of the providers that are one model


class ModelQuery(Strict):
    """Which page of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class ModelInput(Strict):
    """A model to add."""

    name = Text(max_length=200)
    provider = serializers.ChoiceField(list(PROVIDERS))
    dim = Whole(min_value=1, max_value=LARGEST_DIM)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What the provider can serve."""
        name, provider = attrs["name"], attrs["provider"]
        if provider not in FAMILIES and (name, attrs["dim"]) != (provider, ONLY_DIM):
            raise serializers.ValidationError({"name": [f"This provider is the model {provider} of {ONLY_DIM}."]})
        if provider == "sentence-transformers" and not HUB_NAME.fullmatch(name):
            raise serializers.ValidationError({"name": ["Give a name such as organisation/model, not a folder."]})
        if provider == "openai" and not settings.EMBEDDINGS_URL:
            raise serializers.ValidationError({"provider": ["The operator has set no EMBEDDINGS_URL."]})
        return attrs


class SwitchInput(Strict):
    """Whether to switch although vectors are missing."""

    force = Flag(default=False)


class CompareInput(Strict):
    """What to ask both models, and where."""

    queries = words(longest=2000, most=50, required=False)
    sample = Whole(min_value=0, max_value=100, default=20)
    namespace = Text(required=False, validators=[namespace_form])

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """At least something."""
        if not attrs.get("queries") and not attrs["sample"]:
            raise serializers.ValidationError("Give queries, a sample above 0, or both.")
        return attrs


class ModelAnswer(serializers.Serializer[Any]):
    """A model; `embedder` says whether this process has it at hand."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    provider = serializers.CharField()
    dim = serializers.IntegerField()
    state = serializers.ChoiceField(ModelState.choices)
    embedder = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    def get_embedder(self, row: EmbeddingModel) -> str:
        """`loading`, `ready` or `failed`."""
        return readiness_of(row)


class ModelDetails(ModelAnswer):
    """With how many of the project's fragments have a vector of it."""

    fragments = serializers.IntegerField()
    missing = serializers.IntegerField()


class OverlapAnswer(serializers.Serializer[Any]):
    """What one question showed; its source is `given` or `sample`."""

    source = serializers.CharField()
    overlap = serializers.FloatField(allow_null=True)


class ComparisonAnswer(serializers.Serializer[Any]):
    """The share of common hits among the best `depth` of both models; `missing` counts fragments without a vector."""

    model = serializers.CharField()
    against = serializers.CharField()
    depth = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    least = serializers.FloatField(allow_null=True)
    queries = OverlapAnswer(many=True)
    missing = serializers.IntegerField()


def _model(model_id: uuid.UUID) -> EmbeddingModel:
    row: EmbeddingModel | None = EmbeddingModel.objects.filter(id=model_id).first()
    if row is None:
        raise NotFound("model")
    return row


class ModelsView(APIView):
    """Models: list and add."""

    verbs = {"POST": "admin"}

    @extend_schema(operation_id="models_list", parameters=[ModelQuery], responses={200: page_of(ModelAnswer)})
    def get(self, request: Request) -> Response:
        """A page of models, newest first."""
        query = validated(ModelQuery, request.query_params.dict())
        return Response(
            paged(
                request,
                EmbeddingModel.objects.all(),
                lambda rows: list(ModelAnswer(rows, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
        )

    @extend_schema(
        operation_id="models_add", request=ModelInput, parameters=[IDEMPOTENCY], responses={201: ModelAnswer}
    )
    def post(self, request: Request) -> Response:
        """Adds a model: new fragments get a vector of it at once, older ones by a backfill."""
        require_all(principal_of(request))
        values = validated(ModelInput, request.data)

        def effect(_: None) -> Answer:
            return Answer(201, ModelAnswer(upkeep.add_model(**values, now=timezone.now())).data)

        return answer_once(request, prepare=lambda: None, effect=effect)


class ModelView(APIView):
    """One model."""

    @extend_schema(operation_id="models_read", responses={200: ModelDetails})
    def get(self, request: Request, model_id: uuid.UUID) -> Response:
        """The model, with how far it is in this project."""
        principal = principal_of(request)
        row: Any = _model(model_id)
        row.missing = upkeep.missing(principal, row)
        with access.enter(principal, why="read"):
            row.fragments = Fragment.objects.within(principal.project_id).count()
        return Response(ModelDetails(row).data)


class BackfillView(APIView):
    """Filling."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="models_backfill", request=None, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, model_id: uuid.UUID) -> Response:
        """Embeds what has no vector of it, in every project; the answer is this project's operation."""
        principal = _admin(request)

        def prepare() -> EmbeddingModel:
            upkeep.begin_backfill(_model(model_id).id)
            return _started_elsewhere(principal, model_id, kind="backfill")

        return answer_once(request, prepare=prepare, effect=lambda model: _started(principal, model, kind="backfill"))


class CompareView(APIView):
    """Comparing."""

    verbs = {"POST": "admin"}

    @extend_schema(operation_id="models_compare", request=CompareInput, responses={200: ComparisonAnswer})
    def post(self, request: Request, model_id: uuid.UUID) -> Response:
        """What share of the ten best of the active model this one finds too: for given queries, the newest memories."""
        model, active = _model(model_id), active_model()
        values = validated(CompareInput, request.data)
        given, namespace = values.get("queries", []), values.get("namespace")
        principal = principal_of(request)
        rows = upkeep.compare(principal, model, active, queries=given, namespace=namespace, sample=values["sample"])
        shares = [row.share for row in rows if row.share is not None]
        return Response(
            ComparisonAnswer(
                {
                    "model": model.name,
                    "against": active.name,
                    "depth": upkeep.DEPTH,
                    "mean": round(sum(shares) / len(shares), 4) if shares else None,
                    "least": min(shares, default=None),
                    "queries": [{"source": row.source, "overlap": row.share} for row in rows],
                    "missing": upkeep.missing(principal, model),
                }
            ).data
        )


class ActivateView(APIView):
    """Switching."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="models_activate", request=SwitchInput, parameters=[IDEMPOTENCY], responses={200: ModelAnswer}
    )
    def post(self, request: Request, model_id: uuid.UUID) -> Response:
        """Makes it the model of questions; the one before stays ready. With `force` what is missing follows."""
        principal = _admin(request)
        force = validated(SwitchInput, request.data or {})["force"]

        def effect(gaps: bool) -> Answer:
            row = upkeep.activate(model_id)
            if gaps:
                jobs.start_for_model(principal, kind="backfill", model=row, now=timezone.now())
            return Answer(200, ModelAnswer(row).data)

        return answer_once(
            request,
            prepare=lambda: upkeep.check_complete(_model(model_id), project_id=principal.project_id, force=force),
            effect=effect,
        )


class RetireView(APIView):
    """Retiring."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="models_retire", request=None, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, model_id: uuid.UUID) -> Response:
        """Ends it and drops its vectors, in every project; the answer is this project's operation."""
        principal = _admin(request)

        def prepare() -> EmbeddingModel:
            upkeep.retire(_model(model_id).id)
            return _started_elsewhere(principal, model_id, kind="retire")

        return answer_once(request, prepare=prepare, effect=lambda model: _started(principal, model, kind="retire"))


def _admin(request: Request) -> Principal:
    principal = principal_of(request)
    require_all(principal)
    return principal


def _started_elsewhere(principal: Principal, model_id: uuid.UUID, *, kind: str) -> EmbeddingModel:
    model = _model(model_id)
    jobs.start_elsewhere(principal, kind=kind, model=model, now=timezone.now())
    return model


def _started(principal: Principal, model: EmbeddingModel, *, kind: str) -> Answer:
    return Answer(
        202, OperationAnswer(jobs.start_for_model(principal, kind=kind, model=model, now=timezone.now())).data
    )

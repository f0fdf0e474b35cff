"""/api/v1/forget: erasing what a filter finds, for good."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.authority import rank_of
from memories import access, erasure, jobs
from memories.access import NotFound, Principal
from memories.erasure import ErasureRequest
from memories.models import Namespace
from memories.models.fragment import CONTENT_LIMIT
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, Flag, Id, Text, Whole, validated
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.rest.operations import OperationAnswer
from memories.rest.search import FilterInput
from memories.retrieval import Filters

MOST_IDS = 10_000
FILTERS = list(Filters.__dataclass_fields__)


class ForgetInput(FilterInput, AboutUser):
    """What is to be forgotten: the filters of a search, here or under `filters`, and ids; how many that are."""

    namespace = Text(validators=[namespace_form])
    ids = serializers.ListField(child=Id(), min_length=1, max_length=MOST_IDS, required=False)
    filters = FilterInput(required=False)
    content = Text(max_length=CONTENT_LIMIT, required=False, help_text="All that says this, whoever said it.")
    expected_count = Whole(min_value=0, required=False, help_text="Another count than this forgets nothing: 409.")
    dry_run = Flag(default=False, help_text="Only count.")
    purge_backups = Flag(default=False, help_text="Delete the backups that still hold any of it.")
    everywhere = Flag(default=False, help_text="Bar the texts in the whole project, not in the namespace alone.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Something that narrows, and a count unless it is a dry run."""
        attrs = super().validate(attrs)
        if Filters(**conditions(attrs)) == Filters() and not (attrs.get("ids") or attrs.get("content")):
            raise serializers.ValidationError({"filters": ["Say what is to be forgotten: filters, ids or content."]})
        if not attrs["dry_run"] and "expected_count" not in attrs:
            raise serializers.ValidationError({"expected_count": ["Say how many memories these are."]})
        return attrs


def conditions(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters among validated values."""
    here = {name: values[name] for name in FILTERS if name in values}
    return {**here, **values.get("filters", {})}


class LiftInput(AboutUser):
    """Which text may be said again, and where."""

    content = Text(max_length=CONTENT_LIMIT)
    namespace = Text(required=False, validators=[namespace_form], help_text="There alone; else in all of the project.")


class LiftAnswer(serializers.Serializer[Any]):
    """What was lifted."""

    lifted = serializers.IntegerField(help_text="How many fingerprints went.")


class ForgetAnswer(serializers.Serializer[Any]):
    """What was forgotten, or would be."""

    count = serializers.IntegerField(help_text="How many memories.")
    ids = serializers.ListField(child=serializers.UUIDField(), help_text="The first hundred of them.")
    digests = serializers.IntegerField(help_text="How many digests held their words and went too.")
    restored_ids = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="What stands again, for what it had lost to is gone; the first hundred.",
    )
    backups = serializers.ListField(
        child=serializers.DictField(), help_text="Backups that still hold any of it; told to an admin of the project."
    )
    dry_run = serializers.BooleanField()
    operation = OperationAnswer(allow_null=True, help_text="What forgets them, when they are many: 202.")


class ForgetView(APIView):
    """Forgetting by filter."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="forget",
        request=ForgetInput,
        parameters=[IDEMPOTENCY],
        responses={200: ForgetAnswer, 202: ForgetAnswer},
    )
    def post(self, request: Request) -> Response:
        """Erases all that fits, every copy of it, if it is as many as expected; more than 1,000 as an operation.

        `dry_run` only counts; `everywhere` bars the texts in the whole project.
        """
        principal = principal_of(request)
        values = validated(ForgetInput, request.data)
        options = ErasureRequest(Filters(**conditions(values)), values.get("ids", []), values.get("content", ""))

        def effect(_: None) -> IdempotentAnswer:
            return _forgotten(principal, values, options)

        return answer_once(request, prepare=lambda: None, effect=effect)


class LiftView(APIView):
    """Lifting an erasure."""

    verbs = {"POST": "admin"}

    @extend_schema(operation_id="erasures_lift", request=LiftInput, responses={200: LiftAnswer})
    def post(self, request: Request) -> Response:
        """Lets a forgotten text be said again; history keeps who did. 404 when it was not forgotten there.

        In all of the project, or in one `namespace`.
        """
        principal, values = principal_of(request), validated(LiftInput, request.data)
        place = _requested_namespace(principal, values["namespace"]) if "namespace" in values else None
        if place is None and not principal.covers_all:
            raise NotFound("erasure")
        authority = rank_of(principal)
        return Response({"lifted": erasure.lift(principal, values["content"], authority=authority, namespace=place)})


def _requested_namespace(principal: Principal, name: str) -> Namespace:
    with access.enter(principal, why="forget"):
        place = access.find(principal, name)
    if place is None:
        raise NotFound("namespace")
    return place


def _forgotten(principal: Principal, values: dict[str, Any], request: ErasureRequest) -> IdempotentAnswer:
    place = _requested_namespace(principal, values["namespace"])
    erasure.check_everywhere(principal, everywhere=values["everywhere"])
    erasure.check_purging(principal, purge=values["purge_backups"])
    now = timezone.now()
    # What is not tried alone has purged nothing yet, should it be answered before it is done.
    purge = values["purge_backups"] and values["dry_run"]
    found = erasure.preview(principal, place, request, purge_backups=purge, now=now)
    answer: dict[str, Any] = {**found.report(), "dry_run": values["dry_run"], "operation": None}
    if values["dry_run"]:
        return IdempotentAnswer(200, answer)
    expected, authority = values["expected_count"], rank_of(principal)
    along = {"purge_backups": values["purge_backups"], "everywhere": values["everywhere"]}
    if found.count > erasure.FEW:
        erasure.check_right(place, found, expected=expected, authority=authority)
        options = erasure.erasure_options(request.by_ids(found.ids), expected=expected, authority=authority, **along)
        operation = jobs.start(principal, kind="forget", namespace=place, options=options, now=now)
        return IdempotentAnswer(202, {**answer, "operation": OperationAnswer(operation).data})
    done = erasure.forget_all(principal, place, request, expected=expected, authority=authority, **along, now=now)
    return IdempotentAnswer(200, {**answer, **done.report()})

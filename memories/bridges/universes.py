"""/api/v1/bridges/universes: branches of parallel runs."""

from typing import Any

from django.core.validators import RegexValidator
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, jobs, namespaces
from memories.access import NotFound
from memories.models import Namespace
from memories.models.namespace import SHARED
from memories.models.project import NAME_PART
from memories.rest.authentication import principal_of
from memories.rest.fields import Strict, Text, UserField, validated
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.rest.operations import OperationAnswer, of_all_users, started_answer

FEW = 2_000  # memories that are copied while the caller waits
branch_form = RegexValidator(rf"^(?!{SHARED}\Z){NAME_PART}\Z", "Use a–z, 0–9, '.', '_' and '-'; `shared` is reserved.")


class BranchInput(Strict):
    """A branch that begins."""

    branch_id = Text(max_length=63, validators=[branch_form])
    source_namespace = Text(validators=[namespace_form])
    user = UserField(help_text="Only this user's memories, into the same user's scope of the branch.")


class BranchMergeInput(Strict):
    """A branch that ends in another namespace."""

    branch_id = Text(max_length=63, validators=[branch_form])
    target_namespace = Text(validators=[namespace_form])
    user = UserField(help_text="Only this user's memories, into the same user's scope of the target.")


class BranchAnswer(serializers.Serializer[Any]):
    """The branch's namespace, or a user's scope in it, and how many memories it began with."""

    namespace = serializers.CharField()
    forked_from = serializers.CharField()
    copied = serializers.IntegerField()


def branch_of(place: str, branch_id: str) -> str:
    """Return the name of a branch beside a namespace or a scope."""
    return f"{place.partition(':')[0]}:{branch_id}"


class BranchesView(APIView):
    """Branches."""

    @extend_schema(
        operation_id="bridges_universes_branches",
        request=BranchInput,
        parameters=[IDEMPOTENCY],
        responses={201: BranchAnswer, 202: OperationAnswer},
    )
    def post(self, request: Request) -> Response | HttpResponse:
        """Forks the source into the branch's namespace; a large one as an operation: 202. Told twice it is one.

        With `user` only that user's scope.
        """
        principal = principal_of(request)
        values = validated(BranchInput, request.data)
        place = values["source_namespace"]
        name = principal.scope(branch_of(place, values["branch_id"]))

        def effect(_: None) -> IdempotentAnswer:
            source = next(iter(access.readable(principal, [place])), None)
            if source is None or not principal.covers(name):
                raise NotFound("namespace")
            with access.enter(of_all_users(principal, source), why="fork"):
                known = Namespace.objects.within(principal.project_id).named([name]).filter(forked_from=source).first()
                if known is not None:
                    made = {"namespace": name, "forked_from": source.name, "copied": namespaces.copied(known)}
                    return IdempotentAnswer(201, made)
                if namespaces.size(source) > FEW:
                    options: dict[str, Any] = {"kind": "fork", "namespace": source, "options": {"target": name}}
                    return IdempotentAnswer(
                        202, OperationAnswer(jobs.start(principal, **options, now=timezone.now())).data
                    )
                return IdempotentAnswer(201, BranchAnswer(namespaces.copy_namespace(source, name)).data)

        return answer_once(request, prepare=lambda: None, effect=effect)


class MergesView(APIView):
    """Merges."""

    @extend_schema(
        operation_id="bridges_universes_merges",
        request=BranchMergeInput,
        parameters=[IDEMPOTENCY],
        responses={202: OperationAnswer},
    )
    def post(self, request: Request) -> Response:
        """Merges the branch into the target; follow the operation under its id."""
        principal = principal_of(request)
        values = validated(BranchMergeInput, request.data)
        target = values["target_namespace"]
        source = principal.scope(branch_of(target, values["branch_id"]))
        return started_answer(request, kind="merge", namespace=target, options={"source": source})

"""/api/v1/namespaces/{name}: forking, merging, deleting; /api/v1/projects/{name}: deleting."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, jobs, namespaces
from memories.access import NotFound
from memories.erasure import CountDiffers
from memories.operations import ACCEPT
from memories.rest.authentication import principal_of
from memories.rest.fields import (
    AboutUser,
    AboutUserQuery,
    Flag,
    Id,
    Strict,
    Text,
    Whole,
    asked_of,
    validated,
    validated_query,
)
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.rest.operations import ACCEPT_HELP, OperationAnswer, meant, of_all_users, place_of, started_answer
from memories.rest.timeline import ComparisonAnswer, ComparisonQuery
from memories.timeline import compare

COUNT, DIGITS = "expected_count", 18


class ForkInput(AboutUser):
    """The branch that begins; without a user it takes along all of them."""

    target = Text(max_length=127, help_text="`project:branch`, or the branch alone.")


class MergeInput(AboutUser):
    """Where the branch's writes go; without a user those of all its users."""

    target = Text(validators=[namespace_form])
    dry_run = Flag(default=False)
    plan_id = Id(required=False, help_text="Of a dry run: do what it said, or nothing.")
    only = serializers.ListField(
        child=Id(),
        required=False,
        min_length=1,
        max_length=1000,
        help_text="Just these memories of the branch, of any user, also where the counterpart changed since, or left.",
    )
    accept_recall_loss = Flag(default=False, help_text=ACCEPT_HELP)


class DeleteInput(Strict):
    """That the caller knows what goes: how many memories, or the name once more."""

    expected_count = Whole(min_value=0, required=False, help_text="Another number of memories deletes nothing: 409.")
    confirm = Text(max_length=127, required=False, help_text="The name once more.")


class NamespaceDeleteInput(DeleteInput, AboutUserQuery):
    """The same of a namespace with all its users, or of one user's scope."""


def confirmed(request: Request, name: str, kind: type[DeleteInput] = DeleteInput) -> dict[str, Any]:
    """Return the validated request to delete something of that name; in the body or in the query."""
    data = {**_asked(request), **request.data} if isinstance(request.data, dict) else request.data
    values = validated(kind, data)
    if COUNT not in values and "confirm" not in values:
        raise serializers.ValidationError({COUNT: ["Say how many memories go, or confirm with the name."]})
    if values.get("confirm", name) != name:
        raise serializers.ValidationError({"confirm": [f"Repeat the name: {name}."]})
    return values


def _asked(request: Request) -> dict[str, Any]:
    """Return what the address asks for, with its number as a body has it."""
    asked = asked_of(request)
    count = asked.get(COUNT, "")
    # Python reads no number of thousands of digits.
    return asked | ({COUNT: int(count)} if count.isdecimal() and len(count) <= DIGITS else {})


class ForkView(APIView):
    """Forking."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="namespaces_fork", request=ForkInput, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, name: str) -> Response:
        """Copies the namespace into a new or empty one; the report counts what was copied."""
        target = validated(ForkInput, request.data)["target"]
        target = target if ":" in target else f"{principal_of(request).project}:{target}"
        target = meant(principal_of(request), target)
        return started_answer(request, kind="fork", namespace=name, options={"target": target})


class MergeView(APIView):
    """Merging."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="namespaces_merge", request=MergeInput, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, name: str) -> Response:
        """Replays what the namespace wrote through the target's gate; the report lists what became of it.

        `dry_run` only plans; `plan_id` applies that plan.
        """
        values = validated(MergeInput, request.data)
        options: dict[str, Any] = {
            "source": meant(principal_of(request), name),
            **({"plan_id": str(values["plan_id"])} if "plan_id" in values else {}),
        }
        options |= {"only": [str(i) for i in values["only"]]} if "only" in values else {}
        options |= {ACCEPT: True} if values[ACCEPT] else {}
        arguments = {"namespace": values["target"], "options": options, "dry_run": values["dry_run"]}
        return started_answer(request, kind="merge", **arguments)


class ComparisonView(APIView):
    """Comparing."""

    @extend_schema(operation_id="namespaces_compare", parameters=[ComparisonQuery], responses={200: ComparisonAnswer})
    def get(self, request: Request, name: str) -> Response:
        """Of which keys this namespace believes otherwise than another one, and what: a branch beside what lives.

        Up to 2,000 memories that claim something of such keys, else 409 `too_much_changed`.
        """
        query = validated_query(ComparisonQuery, request)
        found = compare(principal_of(request), name, query["other"], now=timezone.now())
        return Response(ComparisonAnswer({"namespace": name, "other": query["other"], "keys": found}).data)


class NamespaceView(APIView):
    """One namespace."""

    verbs = {"DELETE": "admin"}

    @extend_schema(
        operation_id="namespaces_delete", parameters=[NamespaceDeleteInput], responses={202: OperationAnswer}
    )
    def delete(self, request: Request, name: str) -> Response:
        """Deletes the namespace with all that it holds; answers 202 with the operation that does.

        Only with `expected_count`, or its name as `confirm`. Asked again while it goes, it answers the same operation.
        """
        principal, values = principal_of(request), confirmed(request, name, NamespaceDeleteInput)

        def effect(_: None) -> IdempotentAnswer:
            namespace = place_of(principal, name)
            assert namespace is not None  # it was named
            with access.enter(of_all_users(principal, namespace), why="count"):
                _check_count(values, namespaces.size(namespace))
            options: dict[str, Any] = {"kind": "delete", "namespace": None, "options": {"namespace": namespace.name}}
            return IdempotentAnswer(202, OperationAnswer(jobs.start(principal, **options, now=timezone.now())).data)

        return answer_once(request, prepare=lambda: None, effect=effect)


class ProjectView(APIView):
    """The project of a key."""

    verbs = {"DELETE": "admin"}

    @extend_schema(operation_id="projects_delete", parameters=[DeleteInput], responses={202: OperationAnswer})
    def delete(self, request: Request, name: str) -> Response:
        """Deletes the project with everything in it, this key too; answers 202 with the operation that does.

        Only with `expected_count`, or its name as `confirm`; of the key's own project.
        """
        principal = principal_of(request)
        if name != principal.project or not principal.covers_all or principal.user is not None:
            raise NotFound("project")
        values = confirmed(request, name)

        def effect(_: None) -> IdempotentAnswer:
            _check_count(values, namespaces.count_project(principal).memories)
            options: dict[str, Any] = {"kind": "delete_project", "namespace": None, "options": {"project": name}}
            return IdempotentAnswer(202, OperationAnswer(jobs.start(principal, **options, now=timezone.now())).data)

        return answer_once(request, prepare=lambda: None, effect=effect)


def _check_count(values: dict[str, Any], count: int) -> None:
    expected = values.get(COUNT, count)
    if expected != count:
        raise CountDiffers(count=count, expected=expected)

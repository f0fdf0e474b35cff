"""How a long job is started and answered over HTTP."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories import access, jobs
from memories.access import NotFound, NotPermitted, Principal
from memories.models import Namespace, Operation
from memories.models.enums import OperationState
from memories.models.namespace import is_written
from memories.operations import BadOptions
from memories.rest.authentication import principal_of
from memories.rest.idempotency import IdempotentAnswer, answer_once

ACCEPT_HELP = "Although recall checks would fail afterwards."


class OperationAnswer(serializers.Serializer[Any]):
    """A long job."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    namespace = serializers.SerializerMethodField()
    options = serializers.DictField()
    dry_run = serializers.BooleanField()
    state = serializers.ChoiceField(OperationState.choices)
    stage = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True)
    progress = serializers.SerializerMethodField()
    report = serializers.DictField(allow_null=True)
    error = serializers.DictField(allow_null=True)
    cancel_requested = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_namespace(self, row: Operation) -> str | None:
        """The namespace's name, None for the whole project."""
        return row.namespace.name if row.namespace else None

    def get_progress(self, row: Operation) -> float | None:
        """done / total in 0..1, None while the total is not known."""
        return round(min(1.0, row.done / row.total), 4) if row.total else None


def place_of(principal: Principal, name: str | None) -> Namespace | None:
    """Return the namespace to work on, None for the whole project. Raise NotFound, NotPermitted."""
    if name is None:
        require_all(principal)
        return None
    found = access.find(principal, name)
    if found is None:
        raise NotFound("namespace")
    return found


def meant(principal: Principal, name: str) -> str:
    """Return a namespace's name as a request means it: with its user. What is no name is told of later."""
    return principal.scope(name) if is_written(name) else name


def require_all(principal: Principal) -> None:
    """Whoever touches the whole project has to cover it."""
    if not principal.asks_for_all:
        raise NotPermitted("this is about all of the project, of which this request covers only a part")


# What takes a namespace's users along, and the other namespace that it names.
WITH_USERS = {"fork": "target", "merge": "source", "pack": "", "delete": "", "rollback": ""}


def of_all_users(principal: Principal, namespace: Namespace | None) -> Principal:
    """Return who touches a namespace with all its users. Raise NotPermitted where it has some who are not reached."""
    if namespace is None or namespace.user is not None:
        return principal
    everybody = principal.of_everybody()
    if not principal.speaks_for_all:
        with access.enter(everybody, why="look"):
            if Namespace.objects.within(namespace.project_id).below([namespace]).exists():
                raise NotPermitted("this is about all users of the namespace: name one, or take a key for all of them")
    return everybody


def require_places(principal: Principal, kind: str, namespace: Namespace | None, options: dict[str, Any]) -> Principal:
    """Return who starts a job that takes users along: as far as it reaches.

    Raise NotFound, NotPermitted unless all that it touches is the principal's: the other namespace, the users.
    """
    other = options.get(WITH_USERS[kind])
    if isinstance(other, str) and is_written(other):
        if not principal.covers(other):
            raise NotFound("namespace")
        of_all_users(principal, access.find(principal, other))
    return of_all_users(principal, namespace)


def started_answer(
    request: Request, *, kind: str, namespace: str | None, options: dict[str, Any], dry_run: bool = False
) -> Response:
    """Return the answer to a request that starts a job: 202 with the operation."""
    principal = principal_of(request)

    def effect(_: None) -> IdempotentAnswer:
        scope = place_of(principal, namespace)
        who = require_places(principal, kind, scope, options) if kind in WITH_USERS else principal
        arguments: dict[str, Any] = {"kind": kind, "namespace": scope, "options": options, "dry_run": dry_run}
        return IdempotentAnswer(202, OperationAnswer(jobs.start(who, **arguments, now=timezone.now())).data)

    try:
        return answer_once(request, prepare=lambda: None, effect=effect)
    except BadOptions as error:
        raise serializers.ValidationError({error.field: [str(error)]}) from error

"""/api/v1/tasks: agents report what they work on, and read what was worked on lately."""

import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, agent_tasks, jobs
from memories.access import Principal
from memories.agent_tasks import Reported, TaskReport
from memories.models.enums import TaskStatus
from memories.models.namespace import FORM
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, AboutUserQuery, Moment, Text, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY, with_capacity
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form

AHEAD = datetime.timedelta(minutes=5)
MOST = 50


class TaskInput(AboutUser):
    """A task as it stands."""

    namespace = Text(
        required=False, validators=[namespace_form], help_text="Not needed by a key of exactly one namespace."
    )
    id = Text(max_length=255)
    title = Text(max_length=1_000)
    status = serializers.ChoiceField(TaskStatus.choices)
    summary = Text(max_length=10_000, required=False, allow_blank=True, default="")
    updated_at = Moment(required=False)

    def validate_updated_at(self, value: datetime.datetime) -> datetime.datetime:
        """Not in the future, within what clocks differ by."""
        if value > timezone.now() + AHEAD:
            raise serializers.ValidationError("This lies in the future.")
        return value


class RecentQuery(AboutUserQuery):
    """Whose tasks, and how many."""

    namespace = Text(required=False, validators=[namespace_form])
    limit = serializers.IntegerField(min_value=1, max_value=MOST, default=10)


class RecentTaskAnswer(serializers.Serializer[Any]):
    """A task: a title of at most 120 characters, a summary of at most 200."""

    id = serializers.CharField()
    namespace = serializers.CharField()
    title = serializers.CharField()
    status = serializers.ChoiceField(TaskStatus.choices)
    summary = serializers.CharField()
    updated_at = serializers.DateTimeField()


class TaskAnswer(RecentTaskAnswer):
    """A reported task; `proposing`: it failed so often that a proposal was queued."""

    fragment_id = serializers.UUIDField(allow_null=True)
    proposing = serializers.BooleanField()


class FetchAnswer(serializers.Serializer[Any]):
    """Where the tasks of an answer come from: `source` is database, or none when nobody knows of any."""

    source = serializers.CharField()
    fetched_at = serializers.DateTimeField()
    latency_ms = serializers.FloatField()
    cache_hit = serializers.BooleanField()


class RecentTasksAnswer(serializers.Serializer[Any]):
    """Recent tasks, the latest first."""

    tasks = RecentTaskAnswer(many=True)
    provenance = FetchAnswer()


class TasksView(APIView):
    """Tasks."""

    @extend_schema(
        operation_id="tasks_report",
        request=TaskInput,
        parameters=[IDEMPOTENCY],
        responses={201: TaskAnswer, 200: TaskAnswer},
    )
    def post(self, request: Request) -> Response:
        """Reports a task; what completed or failed is remembered too. Older reports than the last change nothing.

        200 when it was known already.
        """
        principal, now = principal_of(request), timezone.now()
        values = validated(TaskInput, request.data)
        place = values.pop("namespace", None) or only_namespace(principal)
        report = TaskReport(**{"updated_at": now, **values}, namespace=place)

        def effect(prepared: Any) -> IdempotentAnswer:
            answer = jobs.report_task(principal, report, prepared, now=now)
            named = [answer.task.fragment_id] if answer.task.fragment_id else []
            return IdempotentAnswer(201 if answer.made else 200, TaskAnswer(answered(answer)).data, named)

        def prepare() -> Any:
            access.require_reach(principal, [place])
            return agent_tasks.prepare_report(report)

        answer = answer_once(request, prepare=prepare, effect=effect)
        return with_capacity(principal, answer, stored=1 if answer.data["fragment_id"] else 0)


def answered(report: Reported) -> dict[str, Any]:
    """Return the task as the API shows it."""
    task = report.task
    return {
        "id": task.task_id,
        "namespace": task.namespace.name,
        "title": task.title,
        "status": task.status,
        "summary": task.summary,
        "updated_at": task.updated_at,
        "fragment_id": task.fragment_id,
        "proposing": report.impasse,
    }


def only_namespace(principal: Principal) -> str:
    """Return the grant's namespace when it names exactly one. Raise ValidationError otherwise."""
    names = principal.namespaces
    if len(names) != 1 or not FORM.fullmatch(names[0]):
        raise serializers.ValidationError({"namespace": ["This field is required."]})
    return names[0]


class RecentTasksView(APIView):
    """Recent tasks."""

    @extend_schema(operation_id="tasks_recent", parameters=[RecentQuery], responses={200: RecentTasksAnswer})
    def get(self, request: Request) -> Response:
        """The latest tasks of the namespaces that the key covers, short enough for a prompt.

        Ten unless `limit` says otherwise, at most 50.
        """
        query = validated_query(RecentQuery, request)
        principal, name = principal_of(request), query.get("namespace")
        with access.enter(principal, why="tasks"):
            namespaces = access.requested_scopes(principal, name)
            found = agent_tasks.recent(principal, namespaces, limit=query["limit"], now=timezone.now())
        provenance = {key: getattr(found, key) for key in ("source", "fetched_at", "latency_ms", "cache_hit")}
        return Response(RecentTasksAnswer({"tasks": found.tasks, "provenance": provenance}).data)

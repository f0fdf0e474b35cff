"""/api/v1/rollbacks: a namespace as it was at a point in time."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.operations import ACCEPT
from memories.rest.fields import AboutUser, Flag, Id, Moment, Text, validated
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.inputs import namespace_form
from memories.rest.operations import ACCEPT_HELP, OperationAnswer, started_answer


class RollbackInput(AboutUser):
    """Which namespace, and to when."""

    namespace = Text(validators=[namespace_form], help_text="With all its users, or of one of them: `user`.")
    to = Moment(help_text="An ISO 8601 time with an offset: what was recorded until then.")
    dry_run = Flag(default=False)
    plan_id = Id(required=False, help_text="Of a dry run: do what it said, or nothing.")
    accept_recall_loss = Flag(default=False, help_text=ACCEPT_HELP)


class RollbackView(APIView):
    """Rolling back."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="rollbacks_start",
        request=RollbackInput,
        parameters=[IDEMPOTENCY],
        responses={202: OperationAnswer},
    )
    def post(self, request: Request) -> Response:
        """Lets memories, claims, rulings and statuses of a namespace be what they were at a time.

        What came since is archived, what was evicted since comes back while a copy is kept; what was forgotten stays
        forgotten, and what is contained stays contained. `dry_run` only plans; `plan_id` applies that plan, or answers
        `plan_changed`. `POST /operations/{id}/undo` takes it back.
        """
        values = validated(RollbackInput, request.data)
        options: dict[str, Any] = {"to": values["to"].isoformat()}
        options |= {"plan_id": str(values["plan_id"])} if "plan_id" in values else {}
        options |= {ACCEPT: True} if values[ACCEPT] else {}
        arguments = {"namespace": values["namespace"], "options": options, "dry_run": values["dry_run"]}
        return started_answer(request, kind="rollback", **arguments)

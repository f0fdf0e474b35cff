"""/api/v1/packs: a namespace as one SQLite file."""

import uuid
from typing import Any

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, packs
from memories.access import NotFound
from memories.api.backups import recipients_field
from memories.api.operations import changeable
from memories.models.enums import OperationState
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, Text, validated
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.inputs import namespace_form
from memories.rest.operations import OperationAnswer, started_answer


class PackInput(AboutUser):
    """What is to be packed."""

    namespace = Text(validators=[namespace_form])
    recipients = recipients_field()


class PacksView(APIView):
    """Packs."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="packs_make", request=PackInput, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request) -> Response:
        """Packs a namespace; the operation's report names the pack (`pack_id`)."""
        values = validated(PackInput, request.data)
        options = {"recipients": values["recipients"]} if "recipients" in values else {}
        return started_answer(request, kind="pack", namespace=values["namespace"], options=options)


class PackDownloadView(APIView):
    """The file of a pack."""

    verbs = {"GET": "admin"}

    @extend_schema(
        operation_id="packs_download",
        responses={(200, "application/vnd.sqlite3"): OpenApiResponse(OpenApiTypes.BINARY, "The SQLite file.")},
    )
    def get(self, request: Request, operation_id: uuid.UUID) -> Any:
        """The SQLite file: `manage.py pack search` reads it offline, `pack import` brings it back."""
        principal = principal_of(request)
        with access.enter(principal, why="download"):
            made = changeable(principal, operation_id, kind="pack")
            if made.state != OperationState.SUCCEEDED or made.namespace is None:
                raise NotFound("pack")
        name = f"{made.namespace.name.replace(':', '-').replace('/', '-')}.sqlite"
        return FileResponse(
            packs.stored(principal, made),
            as_attachment=True,
            filename=name,
            content_type="application/vnd.sqlite3",
        )

"""/api/v1/backups and /api/v1/restores: signed bundles of what is remembered; proving them, bringing them back."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, backups
from memories.access import NotFound, Principal
from memories.api.operations import rows_of
from memories.api.pagination import page_of, paged
from memories.models import Backup, Namespace
from memories.models.enums import BackupOrigin, ExportPolicy
from memories.operations import ACCEPT
from memories.rest.authentication import principal_of
from memories.rest.fields import Flag, Id, Strict, Text, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.rest.operations import ACCEPT_HELP, OperationAnswer, require_all, started_answer
from memories.rest.parsers import StrictJSONParser, UnlabelledJSONParser


def recipients_field() -> serializers.ListField:
    """Return the field that says whom a file is encrypted for."""
    answer = (
        "Public keys (age1…, ssh-ed25519 …) that it is encrypted for; empty: not at all. Without it the server's own."
    )
    return serializers.ListField(child=Text(), required=False, max_length=20, help_text=answer)


class BackupInput(Strict):
    """A backup to make."""

    project = Text(required=False, help_text="The key's own project.")
    namespaces = serializers.ListField(child=Text(validators=[namespace_form]), required=False, max_length=1000)
    policy = serializers.ChoiceField(ExportPolicy.choices, default=ExportPolicy.FULL)
    include_embeddings = Flag(default=False)
    base = Id(required=False, allow_null=True, help_text="Only what changed since that backup.")
    recipients = recipients_field()


class BackupQuery(Strict):
    """The filters of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class DownloadQuery(Strict):
    """In which form."""

    format = serializers.ChoiceField(["bundle", "json"], default="bundle")


class ProtectInput(Strict):
    """Whether it stays."""

    protected = Flag(default=True)


class BucketAnswer(serializers.Serializer[Any]):
    """How many memories a backup holds for what reason."""

    bucket = serializers.CharField()
    reason = serializers.CharField()
    count = serializers.IntegerField()


class BackupAnswer(serializers.Serializer[Any]):
    """A backup."""

    id = serializers.UUIDField()
    policy = serializers.ChoiceField(ExportPolicy.choices)
    policy_version = serializers.IntegerField()
    namespaces = serializers.ListField(child=serializers.CharField())
    include_embeddings = serializers.BooleanField()
    base = serializers.UUIDField(source="base_id", allow_null=True)
    origin = serializers.ChoiceField(BackupOrigin.choices)
    encrypted = serializers.BooleanField(help_text="Whether only the identity of a recipient opens it.")
    size = serializers.IntegerField()
    sha256 = serializers.CharField()
    signer = serializers.CharField()
    records = serializers.IntegerField()
    counts = BucketAnswer(many=True)
    protected = serializers.BooleanField()
    verdict = serializers.CharField(help_text="Of the last verification: `sound`, a code, or empty.")
    verified_at = serializers.DateTimeField(allow_null=True)
    drill_verdict = serializers.CharField(help_text="Of the last drill, likewise.")
    drilled_at = serializers.DateTimeField(allow_null=True)
    exported_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


OPTIONAL = ("trust_signer", "allow_version", "into", "namespace", ACCEPT)


class RestoreInput(Strict):
    """A restore to start: of a backup that is here."""

    backup_id = Id()
    dry_run = Flag(default=False, help_text="Only plan.")
    trust_signer = Text(required=False, help_text="A signer that has to be believed here: only the operator adds one.")
    allow_version = Flag(default=False)
    plan_id = Id(required=False, help_text="Of a dry run: do what it said, or nothing.")
    into = Text(required=False, validators=[namespace_form], help_text="A new namespace, beside what lives.")
    namespace = Text(required=False, validators=[namespace_form], help_text="Which one goes there; of several.")
    accept_recall_loss = Flag(default=False, help_text=ACCEPT_HELP)


class UploadInput(Strict):
    """A restore to start: of a file that is sent along."""

    upload = serializers.FileField()
    dry_run = serializers.BooleanField(default=False)
    trust_signer = Text(required=False)
    allow_version = serializers.BooleanField(default=False)
    into = Text(required=False, validators=[namespace_form])
    namespace = Text(required=False, validators=[namespace_form])
    accept_recall_loss = serializers.BooleanField(default=False, help_text=ACCEPT_HELP)


class RestoreAnswer(OperationAnswer):
    """A restore, or the plan of one."""


def _visible(request: Request, rows: Any) -> Any:
    return rows if principal_of(request).asks_for_all else rows.none()


def backup_of(request: Request, backup_id: uuid.UUID) -> Backup:
    """Return the backup. Raise NotFound, also for who covers only a part of the project, or asks for a user."""
    if not principal_of(request).asks_for_all:
        raise NotFound("backup")
    return backups.get_backup(principal_of(request), backup_id)


class Admin(APIView):
    """Views for admins."""

    verbs = dict.fromkeys(("GET", "POST", "DELETE"), "admin")


class BackupsView(Admin):
    """Backups: list and make."""

    @extend_schema(operation_id="backups_list", parameters=[BackupQuery], responses={200: page_of(BackupAnswer)})
    def get(self, request: Request) -> Response:
        """A page of backups."""
        query = validated_query(BackupQuery, request)
        with access.enter(principal_of(request), why="list"):
            page = paged(
                request,
                _visible(request, backups.backups(principal_of(request))),
                lambda page: list(BackupAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(
        operation_id="backups_make",
        request=BackupInput,
        parameters=[IDEMPOTENCY],
        responses={202: OperationAnswer},
    )
    def post(self, request: Request) -> Response:
        """Starts a backup; the operation's report names it (`backup_id`).

        Takes a key for all of the project.
        """
        values = validated(BackupInput, request.data)
        if values.pop("project", principal_of(request).project) != principal_of(request).project:
            raise NotFound("project")
        self._require_places(principal_of(request), values.get("namespaces", []))
        if values.get("base"):
            backup_of(request, values["base"])
        options = {name: str(value) if name == "base" else value for name, value in values.items() if value is not None}
        return started_answer(request, kind="backup", namespace=None, options=options)

    @staticmethod
    def _require_places(principal: Principal, names: list[str]) -> None:
        """Raise NotFound for a namespace that is not there or not covered."""
        with access.enter(principal, why="backup"):
            known = set(Namespace.objects.within(principal.project_id).named(names).values_list("name", flat=True))
        if any(name not in known or not principal.covers(name) for name in names):
            raise NotFound("namespace")


class BackupView(Admin):
    """One backup."""

    @extend_schema(operation_id="backups_read", responses={200: BackupAnswer})
    def get(self, request: Request, backup_id: uuid.UUID) -> Response:
        """What it holds, and how far it was proven."""
        return Response(BackupAnswer(backup_of(request, backup_id)).data)

    @extend_schema(operation_id="backups_delete", responses={204: None})
    def delete(self, request: Request, backup_id: uuid.UUID) -> Response:
        """Deletes it with its file; not while it is protected, or another goes on from it."""
        backups.delete(principal_of(request), backup_of(request, backup_id).id)
        return Response(status=204)


class OwnFormat(BaseContentNegotiation):
    """`format` is the view's own parameter and names no renderer."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        """Return the first."""
        return next(iter(parsers))

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> Any:
        """Return the first, and what it makes."""
        first = next(iter(renderers))
        return first, first.media_type


class DownloadView(Admin):
    """The file."""

    content_negotiation_class = OwnFormat

    @extend_schema(
        operation_id="backups_download",
        parameters=[DownloadQuery],
        responses={
            (200, "application/gzip"): OpenApiResponse(OpenApiTypes.BINARY),
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT),
        },
    )
    def get(self, request: Request, backup_id: uuid.UUID) -> HttpResponseBase:
        """Streams the bundle; with `format=json` gives a small one as a V1 envelope."""
        query = validated_query(DownloadQuery, request)
        row = backup_of(request, backup_id)
        if query["format"] == "json" and row.encrypted:
            raise backups.bundle.Sealed("it is encrypted: take it as it is")
        file = backups.storage.open_file(row.file)
        if query["format"] == "json":
            with file:
                return Response(backups.bundle.envelope_of(file, now=timezone.now()))
        return FileResponse(file, as_attachment=True, filename=row.file, content_type="application/gzip")


def _proof(request: Request, kind: str, backup_id: uuid.UUID) -> Response:
    backup_of(request, backup_id)
    return started_answer(request, kind=kind, namespace=None, options={"backup_id": str(backup_id)})


class VerifyView(Admin):
    """Verifying."""

    @extend_schema(
        operation_id="backups_verify", request=None, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, backup_id: uuid.UUID) -> Response:
        """Reads it to its end: checksums, signature, counts, order."""
        return _proof(request, "verify", backup_id)


class DrillView(Admin):
    """Drilling."""

    @extend_schema(
        operation_id="backups_drill", request=None, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, backup_id: uuid.UUID) -> Response:
        """Restores it into temporary tables and compares what comes out.

        Nobody sees them.
        """
        return _proof(request, "drill", backup_id)


class ProtectView(Admin):
    """Protecting."""

    @extend_schema(
        operation_id="backups_protect", request=ProtectInput, parameters=[IDEMPOTENCY], responses={200: BackupAnswer}
    )
    def post(self, request: Request, backup_id: uuid.UUID) -> Response:
        """Keeps it from retention and deletion, or lets go of it."""
        values = validated(ProtectInput, request.data)
        which = backup_of(request, backup_id).id

        def effect(_: None) -> IdempotentAnswer:
            row = backups.protect(principal_of(request), which, protected=values["protected"])
            return IdempotentAnswer(200, BackupAnswer(row).data)

        return answer_once(request, prepare=lambda: None, effect=effect)


class RestoresView(Admin):
    """Restores: list and start."""

    parser_classes = (StrictJSONParser, UnlabelledJSONParser, MultiPartParser)

    @extend_schema(operation_id="restores_list", parameters=[BackupQuery], responses={200: page_of(RestoreAnswer)})
    def get(self, request: Request) -> Response:
        """A page of restores, planned ones too, with their reports."""
        query = validated_query(BackupQuery, request)
        with access.enter(principal_of(request), why="list"):
            page = paged(
                request,
                _visible(request, rows_of(principal_of(request)).filter(kind="restore")),
                lambda page: list(RestoreAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(
        operation_id="restores_start",
        request={"application/json": RestoreInput, "multipart/form-data": UploadInput},
        parameters=[IDEMPOTENCY],
        responses={202: OperationAnswer},
    )
    def post(self, request: Request) -> Response:
        """Plans (`dry_run`) or does it; the report has the plan. A file that is sent along stays a week as a backup.

        Of a `backup_id`, or multipart with the file as `upload`. `into` a new namespace it becomes a branch, which can
        be compared with what lives, and merged in part. `trust_signer` names a signer who has to be trusted
        here already, else 403.
        """
        if (request.content_type or "").startswith("multipart/"):
            return self._of_upload(request)
        values = validated(RestoreInput, request.data)
        row = backup_of(request, values["backup_id"])
        return self._start(request, row.id, values)

    def _of_upload(self, request: Request) -> Response:
        values = validated(UploadInput, {**request.POST.dict(), **request.FILES.dict()})
        if request.headers.get("Idempotency-Key"):
            raise serializers.ValidationError({"Idempotency-Key": ["Not with a file, which adds nothing twice."]})
        require_all(principal_of(request))
        row = backups.import_bundle(
            principal_of(request), values["upload"], now=timezone.now(), allow_version=values["allow_version"]
        )
        return self._start(request, row.id, values)

    @staticmethod
    def _start(request: Request, backup_id: uuid.UUID, values: dict[str, Any]) -> Response:
        options: dict[str, Any] = {"backup_id": str(backup_id)}
        options |= {name: values[name] for name in OPTIONAL if values.get(name)}
        options |= {"plan_id": str(values["plan_id"])} if values.get("plan_id") else {}
        return started_answer(request, kind="restore", namespace=None, options=options, dry_run=values["dry_run"])

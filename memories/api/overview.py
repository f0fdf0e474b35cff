"""/api/v1/stats, /health-report and /namespaces: what there is, and how it does."""

from typing import Any

from django.db import connection
from django.db.models import Count
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.resolution import waiting
from memories import access, backups, jobs, namespaces, upkeep
from memories.access import Principal
from memories.api.pagination import cursor_of, page_at, page_of
from memories.models import Fragment, Namespace, PendingEmbedding
from memories.models.enums import ArchivePolicy, CapacityStatus, FragmentType, Status, Tier
from memories.project_health import project_health
from memories.providers import active_model
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUserQuery, Strict, Text, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.upkeep.lifecycle import Capacity


class StatsQuery(AboutUserQuery):
    """Which namespace; without one, all that the key covers."""

    namespace = Text(required=False, validators=[namespace_form])


class PlaceAnswer(serializers.Serializer[Any]):
    """How full a project or a tier is; a limit of 0 is none."""

    ratio = serializers.SerializerMethodField()
    status = serializers.ChoiceField(CapacityStatus.choices)
    fragments = serializers.IntegerField()
    limit = serializers.IntegerField()

    def get_ratio(self, row: Capacity) -> float:
        """fragments / limit."""
        return round(row.ratio, 4)


class CapacityAnswer(serializers.Serializer[Any]):
    """How full the whole project is, and each tier of it."""

    ratio = serializers.FloatField()
    status = serializers.ChoiceField(CapacityStatus.choices)
    fragments = serializers.IntegerField()
    limit = serializers.IntegerField()
    tiers = serializers.DictField(child=PlaceAnswer())

    def to_representation(self, instance: dict[str, Capacity]) -> dict[str, Any]:
        """The capacities by place."""
        answer = {place: dict(PlaceAnswer(capacity).data) for place, capacity in instance.items()}
        return {**answer.pop("all"), "tiers": answer}


class ProofsAnswer(serializers.Serializer[Any]):
    """How many backups there are, and how old the last that was proven by a drill is."""

    count = serializers.IntegerField()
    bytes = serializers.IntegerField()
    last_backup_at = serializers.DateTimeField(allow_null=True)
    last_drill_at = serializers.DateTimeField(allow_null=True)
    last_drill_age_seconds = serializers.IntegerField(allow_null=True)


class StatsAnswer(serializers.Serializer[Any]):
    """Counts of fragments."""

    total = serializers.IntegerField()
    users = serializers.IntegerField(help_text="Whose scopes are counted; with all_users, of all users.")
    by_status = serializers.DictField(child=serializers.IntegerField())
    by_tier = serializers.DictField(child=serializers.IntegerField())
    by_type = serializers.DictField(child=serializers.IntegerField())
    pending_embeddings = serializers.IntegerField()
    pending_conflicts = serializers.IntegerField()
    storage_bytes = serializers.IntegerField()
    tier_bytes = serializers.DictField(child=serializers.IntegerField(), help_text="Of texts and vectors.")
    capacity = CapacityAnswer(help_text="Of the whole project.")
    backups = ProofsAnswer(help_text="Of the whole project.")


class ShareAnswer(serializers.Serializer[Any]):
    """So many of so many."""

    number = serializers.IntegerField()
    of = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="number / of, null of nothing.")


class SilentSupersessionAnswer(serializers.Serializer[Any]):
    """A memory that yielded to another one without a person."""

    id = serializers.UUIDField()
    superseded_by = serializers.UUIDField()
    at = serializers.DateTimeField()
    can_be_undone = serializers.BooleanField(help_text="By `POST /fragments/{id}/reinstate`.")


class HealthReportAnswer(serializers.Serializer[Any]):
    """How well the memory does its work."""

    claims = ShareAnswer(help_text="Active memories that claim something.")
    protected = ShareAnswer(help_text="Active memories that upkeep spares for their importance, a pin or an anchor.")
    digested = ShareAnswer(help_text="Of what was old enough for a digest, what went into one.")
    digests = serializers.IntegerField(help_text="Active digests.")
    nothing_found = ShareAnswer(help_text="Searches of thirty days that found nothing; of the whole project.")
    superseded = serializers.IntegerField(help_text="Memories that yielded in thirty days without a person.")
    supersessions = SilentSupersessionAnswer(many=True, help_text="The latest fifty of them.")
    conflicts_by_age = serializers.DictField(
        child=serializers.IntegerField(), help_text="Waiting conflicts up to a `day`, `week`, `month` old, and `older`."
    )
    last_drill_at = serializers.DateTimeField(allow_null=True, help_text="Of the whole project.")
    are_backups_proven = serializers.BooleanField(help_text="Whether a drill within a week was good.")


class HealthReportView(APIView):
    """Health report."""

    @extend_schema(operation_id="health_report", parameters=[StatsQuery], responses={200: HealthReportAnswer})
    def get(self, request: Request) -> Response:
        """How well the memory does its work: what it claims, spares, condenses, finds; what nobody looked at."""
        query = validated_query(StatsQuery, request)
        report = project_health(principal_of(request), query.get("namespace"), now=timezone.now())
        return Response(HealthReportAnswer(report).data)


class StatsView(APIView):
    """Counts."""

    @extend_schema(operation_id="stats", parameters=[StatsQuery], responses={200: StatsAnswer})
    def get(self, request: Request) -> Response:
        """How many fragments there are, by status, tier and type; how many wait for their vector or for a person.

        Octets by tier too, and the `capacity` of the project and its tiers.
        """
        query = validated_query(StatsQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="stats"):
            places = access.requested_scopes(principal, query.get("namespace"))
            rows = Fragment.objects.within(principal.project_id).in_namespaces(places)
            pending = PendingEmbedding.objects.within(principal.project_id).filter(model=active_model())
            data = {
                "total": rows.count(),
                "users": len({row.user for row in places if row.parent_id}),
                "by_status": _counts(rows, "status", Status.values),
                "by_tier": _counts(rows, "tier", Tier.values),
                "by_type": _counts(rows, "type", FragmentType.values),
                "pending_embeddings": pending.filter(fragment__namespace__in=places).count(),
                "pending_conflicts": waiting(principal, namespace=query.get("namespace")).count(),
                "storage_bytes": _text_bytes(principal, places),
                "tier_bytes": upkeep.lifecycle.sizes(principal.project_id, namespace_ids=[row.id for row in places]),
                "capacity": CapacityAnswer(upkeep.lifecycle.capacities(principal.project_id)).data,
                "backups": ProofsAnswer(backups.backup_status(principal, now=timezone.now())).data,
            }
        return Response(data)


def _counts(rows: Any, field: str, words: list[str]) -> dict[str, int]:
    found = dict(rows.order_by().values_list(field).annotate(n=Count("id")))
    return {word: found.get(word, 0) for word in words}


def _text_bytes(principal: Principal, places: list[Namespace]) -> int:
    """Bytes that the fragment rows take on disk, without indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(pg_column_size(f.*)), 0) FROM memories_fragment f"
            " WHERE project_id = %s AND namespace_id = ANY (%s)",
            [principal.project_id, [namespace.id for namespace in places]],
        )
        return int(cursor.fetchone()[0])


def language_known(name: str) -> None:
    """Raise ValidationError unless Postgres can stem words of the language."""
    if name not in (known := namespaces.languages()):
        raise serializers.ValidationError(f"There are {', '.join(known)}.")


class NamespaceQuery(Strict):
    """Which page."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class NamespaceInput(Strict):
    """A namespace to make."""

    name = Text(validators=[namespace_form])
    language = Text(required=False, validators=[language_known])


class NamespaceChange(Strict):
    """What is to change of a namespace."""

    name = Text(validators=[namespace_form])
    archive_policy = serializers.ChoiceField(ArchivePolicy.choices, required=False)
    language = Text(required=False, validators=[language_known])

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what changes nothing."""
        if len(attrs) == 1:
            raise serializers.ValidationError("Give an archive_policy, a language or both.")
        return attrs


class NamespaceAnswer(serializers.Serializer[Any]):
    """A namespace."""

    name = serializers.CharField()
    agent = serializers.CharField()
    language = serializers.CharField()
    archive_policy = serializers.ChoiceField(ArchivePolicy.choices)
    created_at = serializers.DateTimeField()


class ChangedNamespaceAnswer(NamespaceAnswer):
    """A namespace, and the operation that builds its keywords anew where its language is another one."""

    operation = serializers.UUIDField(allow_null=True)


BY_NAME = ("name",)


class NamespacesView(APIView):
    """Namespaces: list, make and set."""

    verbs = {"PATCH": "admin"}

    @extend_schema(
        operation_id="namespaces_list", parameters=[NamespaceQuery], responses={200: page_of(NamespaceAnswer)}
    )
    def get(self, request: Request) -> Response:
        """The namespaces that the key covers, by name."""
        query = validated_query(NamespaceQuery, request)
        cursor = cursor_of(query.get("cursor"), times=0, ids=0, texts=1)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            readable = [row.id for row in access.all_readable(principal)]
            rows = Namespace.objects.within(principal.project_id).filter(id__in=readable)
            found, links = page_at(request, rows, BY_NAME, limit=query["limit"], cursor=cursor)
            return Response({**links, "results": NamespaceAnswer(found, many=True).data})

    @extend_schema(
        operation_id="namespaces_make",
        request=NamespaceInput,
        parameters=[IDEMPOTENCY],
        responses={201: NamespaceAnswer},
    )
    def post(self, request: Request) -> Response:
        """Makes a namespace; one that exists is answered as it is."""
        values = validated(NamespaceInput, request.data)

        def effect(_: None) -> IdempotentAnswer:
            made = namespaces.make_namespace(principal_of(request), **values)
            return IdempotentAnswer(201, NamespaceAnswer(made).data)

        return answer_once(request, prepare=lambda: None, effect=effect)

    @extend_schema(operation_id="namespaces_set", request=NamespaceChange, responses={200: ChangedNamespaceAnswer})
    def patch(self, request: Request) -> Response:
        """Sets what a namespace archives of its faded memories, and the language of its words.

        `archive_policy` is `episodic` or `all`; `all` is refused (403) to a ceiling below what it holds. `language`
        is a text search configuration of Postgres; another one starts an operation that builds the keywords anew.
        """
        principal = principal_of(request)
        values = validated(NamespaceChange, request.data)
        with access.enter(principal, why="set namespace"):
            found, is_other = namespaces.change_namespace(principal, **values)
            answer = {**NamespaceAnswer(found).data, "operation": None}
            if is_other:
                wanted: dict[str, Any] = {"kind": "rebuild", "namespace": found, "options": {"target": "keywords"}}
                answer["operation"] = str(jobs.start(principal, **wanted, now=timezone.now()).id)
        return Response(answer)

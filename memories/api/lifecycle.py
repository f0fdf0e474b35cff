"""/api/v1/fragments/{id}/tier and compact, /api/v1/tombstones, /api/v1/evictions: how memories are kept and leave."""

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, upkeep
from memories.api.overview import CapacityAnswer
from memories.api.pagination import page_of, paged
from memories.models.enums import Compression, Tier
from memories.rest.answers import FragmentAnswer, StoredAnswer
from memories.rest.authentication import principal_of
from memories.rest.entity_tags import ETAG, IF_MATCH, with_tag
from memories.rest.fields import AboutUser, AboutUserQuery, Moment, Text, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY, answer_of, stored_answers
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.rest.tombstones import TombstoneAnswer, tombstones_of

# `from` is the contract's word and Python's.
TierChange = type(
    "TierChange",
    (AboutUser,),
    {
        "__doc__": "Where the fragment is, and where it is to be.",
        "from": serializers.ChoiceField(Tier.choices),
        "to": serializers.ChoiceField(Tier.choices),
    },
)


class TierView(APIView):
    """How close at hand a fragment is kept."""

    @extend_schema(
        operation_id="fragments_tier",
        request=TierChange,
        parameters=[IDEMPOTENCY, IF_MATCH, ETAG],
        responses={200: FragmentAnswer},
    )
    def post(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Moves the fragment to another tier; 409 when it is not where the caller thinks.

        The tiers are `hot`, `warm` and `cold`.
        """
        principal = principal_of(request)
        values = validated(TierChange, request.data)

        def effect(_: None) -> IdempotentAnswer:
            upkeep.lifecycle.move_one(principal, fragment_id, here=values["from"], there=values["to"])
            return IdempotentAnswer(200, lambda: answer_of(principal, fragment_id), [fragment_id])

        return with_tag(answer_once(request, prepare=lambda: None, effect=effect))


class CompactInput(AboutUser):
    """How much of the text is to be left; `full` gives it back."""

    level = serializers.ChoiceField(Compression.choices)


class CompactAnswer(serializers.Serializer[Any]):
    """What the compaction did, and the fragment after it."""

    compacted_count = serializers.IntegerField()
    skipped_high_weight = serializers.IntegerField()
    already_compressed = serializers.IntegerField()
    compacted_ids = serializers.ListField(child=serializers.UUIDField())
    fragment = FragmentAnswer()


class CompactView(APIView):
    """How much of a text is left."""

    @extend_schema(
        operation_id="fragments_compact",
        request=CompactInput,
        parameters=[IDEMPOTENCY, IF_MATCH, ETAG],
        responses={200: CompactAnswer},
    )
    def post(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Shortens the text whatever its age, or gives it back while the archive holds it.

        To the `level` `summary`, `keywords` or `hash`; `full` gives it back.
        """
        principal = principal_of(request)
        level = validated(CompactInput, request.data)["level"]

        def effect(_: None) -> IdempotentAnswer:
            answer = upkeep.lifecycle.compact_one(principal, fragment_id, level=level, now=timezone.now())
            return IdempotentAnswer(
                200, lambda: {**answer, "fragment": answer_of(principal, fragment_id)}, [fragment_id]
            )

        return with_tag(answer_once(request, prepare=lambda: None, effect=effect), of="fragment")


class TombstoneQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    topic = Text(max_length=100, required=False)
    since = Moment(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class TombstonesView(APIView):
    """Tombstones."""

    @extend_schema(
        operation_id="tombstones_list", parameters=[TombstoneQuery], responses={200: page_of(TombstoneAnswer)}
    )
    def get(self, request: Request) -> Response:
        """What was known and is gone, the last to leave first."""
        query = validated_query(TombstoneQuery, request)
        principal = principal_of(request)
        conditions = {"topics__contains": [query["topic"].lower()]} if "topic" in query else {}
        conditions |= {"evicted_at__gte": query["since"]} if "since" in query else {}
        with access.enter(principal, why="list"):
            named = "namespace" in query
            namespaces = access.readable_scopes(principal, [query["namespace"]] if named else None)
            page = paged(
                request,
                tombstones_of(namespaces).within(principal.project_id).filter(**conditions),
                lambda rows: list(TombstoneAnswer(rows, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)


class TombstoneView(APIView):
    """One tombstone."""

    @extend_schema(operation_id="tombstones_read", responses={200: TombstoneAnswer})
    def get(self, request: Request, tombstone_id: uuid.UUID) -> Response:
        """The tombstone, by its own id or by the id of the fragment that was.

        `restorable` says whether the archive holds it still.
        """
        principal = principal_of(request)
        with access.enter(principal, why="read"):
            found = upkeep.lifecycle.visible_tombstone(principal, tombstone_id)
            row = tombstones_of([found.namespace]).within(principal.project_id).get(id=found.id)
            return Response(TombstoneAnswer(row).data)


class RestoreTombstoneView(APIView):
    """Bringing back."""

    @extend_schema(
        operation_id="tombstones_restore", request=None, parameters=[IDEMPOTENCY, ETAG], responses={200: StoredAnswer}
    )
    def post(self, request: Request, tombstone_id: uuid.UUID) -> Response:
        """Brings the fragment back byte for byte; one that is opposed by now passes the gate at its own authority."""
        principal = principal_of(request)

        def effect(_: None) -> IdempotentAnswer:
            admission = upkeep.lifecycle.restore(principal, tombstone_id, now=timezone.now())
            return IdempotentAnswer(200, lambda: stored_answers(principal, [admission])[0], [admission.fragment.id])

        return with_tag(answer_once(request, prepare=lambda: None, effect=effect))


class PreviewQuery(AboutUserQuery):
    """Of which tier, how many."""

    tier = serializers.ChoiceField(Tier.choices, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class CandidateAnswer(serializers.Serializer[Any]):
    """Who would leave."""

    id = serializers.UUIDField()
    namespace = serializers.CharField()
    tier = serializers.ChoiceField(Tier.choices)
    authority = serializers.IntegerField(min_value=1, max_value=6)
    is_protected = serializers.BooleanField(
        help_text="It leaves only so that nothing stronger has to, or because its owner holds more than its share."
    )
    effective_weight = serializers.FloatField()
    priority = serializers.FloatField()


class PreviewAnswer(serializers.Serializer[Any]):
    """How full it is, how many would leave now, and who would be the first."""

    capacity = CapacityAnswer()
    would_evict = serializers.IntegerField()
    results = CandidateAnswer(many=True)


class EvictionPreviewView(APIView):
    """Evictions before they happen."""

    @extend_schema(operation_id="evictions_preview", parameters=[PreviewQuery], responses={200: PreviewAnswer})
    def get(self, request: Request) -> Response:
        """The first to leave of what the key covers: the weakest first, and of equals the lowest priority.

        It says how full the project is, and of each its `authority` and whether it `is_protected`.
        """
        query = validated_query(PreviewQuery, request)
        principal, tier = principal_of(request), query.get("tier")
        with access.enter(principal, why="preview"):
            names = {namespace.id: namespace.name for namespace in access.requested_scopes(principal, None)}
            found = upkeep.lifecycle.candidates(
                principal, now=timezone.now(), most=query["limit"], tier=tier, namespace_ids=list(names)
            )
            data = {
                "capacity": CapacityAnswer(upkeep.lifecycle.capacities(principal.project_id)).data,
                "would_evict": sum(
                    excess.number for excess in upkeep.lifecycle.excesses(principal.project_id, tier=tier)
                ),
                "results": [
                    {
                        "id": each.id,
                        "namespace": names[each.namespace_id],
                        "tier": each.tier,
                        "authority": each.authority,
                        "is_protected": each.is_protected,
                        "effective_weight": round(each.effective_weight, 4),
                        "priority": round(each.priority, 4),
                    }
                    for each in found
                ],
            }
        return Response(data)

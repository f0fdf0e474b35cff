"""/api/v1/digests: one memory in place of several, now."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import upkeep
from memories.operations import BadOptions
from memories.rest.answers import StoredAnswer
from memories.rest.authentication import principal_of
from memories.rest.entity_tags import ETAG, with_tag
from memories.rest.fields import AboutUser, Id, validated
from memories.rest.fragments import IDEMPOTENCY, stored_answers, with_capacity
from memories.rest.idempotency import IdempotentAnswer, answer_once

FEWEST, MOST = upkeep.consolidation.DIGEST_SIZES


class DigestInput(AboutUser):
    """Which memories become one."""

    ids = serializers.ListField(
        child=Id(),
        min_length=FEWEST,
        max_length=MOST,
        help_text="Active memories of one namespace that claim nothing; not pinned, anchors, shortened or digests.",
    )
    method = serializers.ChoiceField(["extractive", "llm"], default="extractive")


class DigestsView(APIView):
    """Digests."""

    @extend_schema(
        operation_id="digests_make", request=DigestInput, parameters=[IDEMPOTENCY, ETAG], responses={201: StoredAnswer}
    )
    def post(self, request: Request) -> Response:
        """Makes a digest of the memories' best sentences, believed as the weakest of them, and archives them.

        Of 3 to 50 `ids`, at once.
        """
        principal = principal_of(request)
        values, now = validated(DigestInput, request.data), timezone.now()

        def prepare() -> upkeep.consolidation.DigestRequest:
            return upkeep.consolidation.prepare_digest(principal, values["ids"], now=now, method=values["method"])

        def effect(prepared: Any) -> IdempotentAnswer:
            admission = upkeep.consolidation.store_digest(principal, prepared, now=now)
            touched = [admission.fragment.id, *prepared.ids]
            return IdempotentAnswer(201, lambda: stored_answers(principal, [admission])[0], touched)

        try:
            answer = answer_once(request, prepare=prepare, effect=effect)
        except BadOptions as error:
            raise serializers.ValidationError({error.field: [str(error)]}) from error
        return with_capacity(principal, with_tag(answer), stored=1)

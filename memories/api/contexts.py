"""/api/v1/context."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.rest.authentication import principal_of
from memories.rest.contexts import ContextInput, context_answer, context_of
from memories.rest.fields import validated
from memories.retrieval.context import build_context


class ExcludedAnswer(serializers.Serializer[Any]):
    """A memory that was left out, and why: `budget`, `max_memories`, `rival` or `contradicts` (of a stronger claim)."""

    id = serializers.UUIDField()
    reason = serializers.CharField()
    value = serializers.FloatField()


class ContextAnswer(serializers.Serializer[Any]):
    """The block and how it came about."""

    prompt_prefix = serializers.CharField()
    memories_used = serializers.IntegerField()
    tokens_used = serializers.IntegerField()
    truncated = serializers.BooleanField()
    included = serializers.ListField(child=serializers.UUIDField())
    excluded = ExcludedAnswer(many=True)
    receipt_id = serializers.UUIDField(allow_null=True)
    degraded = serializers.ListField(child=serializers.CharField())
    nothing_relevant = serializers.BooleanField()


class ContextView(APIView):
    """Context."""

    verbs = {"POST": "read"}

    @extend_schema(operation_id="context", request=ContextInput, responses={200: ContextAnswer})
    def post(self, request: Request) -> Response:
        """A block of memories for the front of a prompt, within its budget."""
        principal = principal_of(request)
        wanted = context_of(validated(ContextInput, request.data), all_users=principal.all_users)
        return Response(context_answer(build_context(principal, wanted, now=timezone.now())))

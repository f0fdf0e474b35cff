"""/api/v1/bridges/taste-vault: patterns and resolutions in, memories out."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.votes import vote
from memories import access
from memories.access import NotFound
from memories.bridges.events import ID_LIMIT, EventInput, store_event, voucher_fields
from memories.ingest import Draft, find_previous
from memories.models import CONTENT_LIMIT
from memories.models.enums import FragmentType, SourceType
from memories.rest.answers import FragmentAnswer, StoredAnswer
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, Flag, Number, Strict, Text, Whole, validated, words
from memories.rest.fragments import IDEMPOTENCY, answer_of
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.rest.search import QUERY_LIMIT, WIDE, FloorField, SearchAnswer, SearchInput, search_answer


class NodeInput(Strict):
    """A pattern of the vault."""

    id = Text(max_length=ID_LIMIT)
    content = Text(max_length=CONTENT_LIMIT)
    confidence = Number(min_value=0, max_value=1)
    tags = words(required=False)


class PatternInput(EventInput):
    """A pattern that was learnt."""

    node = NodeInput()


class ReinforcementInput(AboutUser):
    """A pattern that proved itself."""

    namespace = Text(validators=[namespace_form])
    node_id = Text(max_length=ID_LIMIT)


class ResolutionBody(Strict):
    """How a conflict of tastes was resolved."""

    id = Text(max_length=ID_LIMIT)
    content = Text(max_length=CONTENT_LIMIT)
    steps = words(longest=500, required=False)
    confidence = Number(min_value=0, max_value=1)


class ResolutionInput(EventInput):
    """A resolution."""

    resolution = ResolutionBody()


class SupplementInput(AboutUser):
    """What the vault is working on."""

    namespace = Text(validators=[namespace_form])
    context = Text(max_length=QUERY_LIMIT)
    limit = Whole(min_value=0, max_value=200, default=5)
    floor = FloorField(min_value=0, max_value=1, required=False)
    project_wide = Flag(required=False, help_text=WIDE)


def pattern_draft(values: dict[str, Any]) -> Draft:
    """Return the memory of a pattern."""
    node = values["node"]
    return Draft(
        **voucher_fields(values),
        content=node["content"],
        type=FragmentType.SEMANTIC,
        source_type=SourceType.TASTE_VAULT,
        source_id=node["id"],
        key=f"{SourceType.TASTE_VAULT}:pattern:{node['id']}",
        tags=node.get("tags", []),
        extra={"confidence": node["confidence"]},
    )


def resolution_draft(values: dict[str, Any]) -> Draft:
    """Return the memory of a resolution: a procedure."""
    resolution = values["resolution"]
    return Draft(
        **voucher_fields(values),
        content=resolution["content"],
        type=FragmentType.PROCEDURAL,
        source_type=SourceType.TASTE_VAULT,
        source_id=resolution["id"],
        key=f"{SourceType.TASTE_VAULT}:resolution:{resolution['id']}",
        extra={"confidence": resolution["confidence"], "steps": resolution.get("steps", [])},
    )


class PatternsView(APIView):
    """Patterns."""

    @extend_schema(
        operation_id="bridges_taste_vault_patterns",
        request=PatternInput,
        parameters=[IDEMPOTENCY],
        responses={201: StoredAnswer, 200: StoredAnswer},
    )
    def post(self, request: Request) -> Response:
        """Remembers a pattern; told again under the same id, it changes what was told."""
        return store_event(request, [pattern_draft(validated(PatternInput, request.data))])


class ResolutionsView(APIView):
    """Resolutions."""

    @extend_schema(
        operation_id="bridges_taste_vault_resolutions",
        request=ResolutionInput,
        parameters=[IDEMPOTENCY],
        responses={201: StoredAnswer, 200: StoredAnswer},
    )
    def post(self, request: Request) -> Response:
        """Remembers how a conflict was resolved, as a procedure."""
        return store_event(request, [resolution_draft(validated(ResolutionInput, request.data))])


class ReinforcementsView(APIView):
    """Reinforcements."""

    @extend_schema(
        operation_id="bridges_taste_vault_reinforcements",
        request=ReinforcementInput,
        parameters=[IDEMPOTENCY],
        responses={200: FragmentAnswer},
    )
    def post(self, request: Request) -> Response:
        """The pattern's memory counts as fresher and weightier.

        The pattern is that of `node_id`.
        """
        principal = principal_of(request)
        values = validated(ReinforcementInput, request.data)

        def effect(_: None) -> IdempotentAnswer:
            access.require_reach(principal, [values["namespace"]])
            pattern = find_previous(
                principal,
                namespace=values["namespace"],
                source_type=SourceType.TASTE_VAULT,
                source_id=values["node_id"],
                type=FragmentType.SEMANTIC,
            )
            if pattern is None:
                raise NotFound("pattern")
            vote(principal, pattern.id, "reinforce", now=timezone.now())
            return IdempotentAnswer(200, lambda: answer_of(principal, pattern.id), [pattern.id])

        return answer_once(request, prepare=lambda: None, effect=effect)


class SupplementView(APIView):
    """Memories for the vault."""

    verbs = {"POST": "read"}

    @extend_schema(
        operation_id="bridges_taste_vault_supplement", request=SupplementInput, responses={200: SearchAnswer}
    )
    def post(self, request: Request) -> Response:
        """The memories that fit a context, at most `limit`: first the vault's own, as far as they fit, then others.

        `project_wide` and `floor` as in a search.
        """
        values = validated(SupplementInput, request.data)
        named = {"context": "query", "limit": "top_k"}
        renamed = {named.get(name, name): value for name, value in values.items() if value is not None}
        own = (SourceType.TASTE_VAULT,)
        return Response(search_answer(principal_of(request), validated(SearchInput, renamed), first=own))

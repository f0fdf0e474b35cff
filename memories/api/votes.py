"""/api/v1/fragments/{id}/reinforce, dispute, corroborate, archive, unarchive."""

import uuid
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.votes import vote
from memories.ingest.updates import archive, archive_key, unarchive
from memories.models import KEY_LIMIT
from memories.rest.answers import FragmentAnswer
from memories.rest.authentication import principal_of
from memories.rest.entity_tags import ETAG, IF_MATCH, with_tag
from memories.rest.fields import AboutUser, Strict, Text, validated
from memories.rest.fragments import IDEMPOTENCY, answer_of
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form
from memories.rest.votes import CorroborateInput, DisputeInput, VoteAnswer, vote_answer


class Nothing(AboutUser):
    """A body without fields."""


class VoteView(APIView):
    """One kind of vote."""

    ballot: ClassVar[str]
    body: ClassVar[type[Strict]] = Nothing

    def post(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Casts the caller's vote; the last one of an owner counts.

        `reinforce`: it helped; it is fresher, weightier, more trusted. `dispute`: it is wrong, with a `reason`; below
        a trust of .4 it is disputed, and of a weaker owner it opens a review. `corroborate`: another source
        (`source_id`) says so too.
        """
        principal = principal_of(request)
        values = validated(self.body, request.data)

        def effect(_: None) -> IdempotentAnswer:
            counted = vote(principal, fragment_id, self.ballot, now=timezone.now(), **values)
            return IdempotentAnswer(200, vote_answer(counted), [fragment_id])

        return answer_once(request, prepare=lambda: None, effect=effect)


def _documented(name: str, body: type[Strict]) -> Any:
    answer = extend_schema(
        operation_id=f"fragments_{name}", request=body, parameters=[IDEMPOTENCY, IF_MATCH], responses={200: VoteAnswer}
    )
    return extend_schema_view(post=answer)


@_documented("reinforce", Nothing)
class ReinforceView(VoteView):
    """It helped."""

    ballot = "reinforce"


@_documented("dispute", DisputeInput)
class DisputeView(VoteView):
    """It is wrong."""

    ballot = "dispute"
    body = DisputeInput


@_documented("corroborate", CorroborateInput)
class CorroborateView(VoteView):
    """Another source says so too."""

    ballot = "corroborate"
    body = CorroborateInput


class ArchiveView(APIView):
    """Out of all default answers, reversibly."""

    @extend_schema(
        operation_id="fragments_archive",
        request=Nothing,
        parameters=[IDEMPOTENCY, IF_MATCH, ETAG],
        responses={200: FragmentAnswer},
    )
    def post(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Archives the fragment.

        It is out of all default answers, reversibly.
        """
        return _moved(request, fragment_id, archive)


class NamedInput(AboutUser):
    """A memory by its caller's own name for it."""

    namespace = Text(validators=[namespace_form])
    key = Text(max_length=KEY_LIMIT, trim_whitespace=False)


class ArchiveByKeyView(APIView):
    """As `ArchiveView`, by the memory's key."""

    @extend_schema(
        operation_id="fragments_archive_by_key",
        request=NamedInput,
        parameters=[IDEMPOTENCY, ETAG],
        responses={200: FragmentAnswer},
    )
    def post(self, request: Request) -> Response:
        """Archives the fragment under a key; stored under the key again, it stands again."""
        principal, named = principal_of(request), validated(NamedInput, request.data)

        def effect(_: None) -> IdempotentAnswer:
            row = archive_key(principal, named["namespace"], named["key"], now=timezone.now())
            return IdempotentAnswer(200, answer_of(principal, row.id), [row.id])

        return with_tag(answer_once(request, prepare=lambda: None, effect=effect))


class UnarchiveView(APIView):
    """Back again, as far as the gate allows."""

    @extend_schema(
        operation_id="fragments_unarchive",
        request=Nothing,
        parameters=[IDEMPOTENCY, IF_MATCH, ETAG],
        responses={200: FragmentAnswer},
    )
    def post(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Lets the fragment stand again.

        As far as the gate allows.
        """
        return _moved(request, fragment_id, unarchive)


def _moved(request: Request, fragment_id: uuid.UUID, move: Any) -> Response:
    principal = principal_of(request)
    validated(Nothing, request.data)

    def effect(_: None) -> IdempotentAnswer:
        move(principal, fragment_id, now=timezone.now())
        return IdempotentAnswer(200, answer_of(principal, fragment_id), [fragment_id])

    return with_tag(answer_once(request, prepare=lambda: None, effect=effect))

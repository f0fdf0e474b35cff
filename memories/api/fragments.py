"""/api/v1/fragments: store, list, read, change, forget."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access
from memories.access import Principal
from memories.api.pagination import page_of, paged
from memories.erasure import forget, sees_backups
from memories.ingest import prepare, store, store_each
from memories.ingest.updates import revise
from memories.models import Embedding
from memories.models.answer_rows import load_answer_rows
from memories.providers import active_model
from memories.rest.answers import ChangedAnswer, FragmentAnswer, StoredAnswer, answers, effects_of
from memories.rest.authentication import principal_of
from memories.rest.entity_tags import ETAG, IF_MATCH, matching, tagged, with_tag
from memories.rest.fields import AboutUserQuery, validated, validated_query
from memories.rest.fragment_lists import ListQuery, matching_fragments
from memories.rest.fragments import (
    IDEMPOTENCY,
    answer_of,
    batch_answers,
    stored_answers,
    with_capacity,
)
from memories.rest.histories import HistoryAnswer, history_answer
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import FragmentBatch, FragmentChange, FragmentInput, draft_of

HELD_IN = OpenApiParameter(
    "X-NovaMem-Backups", str, OpenApiParameter.HEADER, response=[204], description="Backups that hold it still, by id."
)


RESTORED = OpenApiParameter(
    "X-NovaMem-Restored",
    str,
    OpenApiParameter.HEADER,
    response=[204],
    description="What stands again since it had lost to what was forgotten, by id; the first hundred.",
)


class CountAnswer(serializers.Serializer[Any]):
    """How many there are."""

    count = serializers.IntegerField()


PAGE_OR_COUNT = PolymorphicProxySerializer(
    component_name="FragmentPageOrCount",
    serializers=[page_of(FragmentAnswer), CountAnswer],
    resource_type_field_name=None,
    many=False,
)


class StoreView(APIView):
    """Fragments: list and store."""

    @extend_schema(
        operation_id="fragments_list",
        parameters=[ListQuery],
        responses={200: PAGE_OR_COUNT},
    )
    def get(self, request: Request) -> Response:
        """A page of fragments, newest first.

        `status` several times: one of them. `ids` (comma-separated) answers those fragments in every status; `count`
        how many there are instead.
        """
        query = validated_query(ListQuery, request, several=["status"])
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            rows = matching_fragments(principal, query)
            if query["count"]:
                return Response({"count": rows.count()})
            return Response(_page(request, principal, rows, query))

    @extend_schema(
        operation_id="fragments_store",
        request=FragmentInput,
        parameters=[IDEMPOTENCY, ETAG],
        responses={201: StoredAnswer, 200: StoredAnswer},
    )
    def post(self, request: Request) -> Response:
        """Stores one fragment.

        Under a `key` of its own (at most 512 characters, once in a namespace) it replaces what stands there: 200,
        `replaced: true`, the same id, a new revision through the gate. Only its owner may, and nobody with less
        authority (403); it keeps the authority with which it was first stored.
        """
        principal = principal_of(request)
        draft = draft_of(validated(FragmentInput, request.data))

        def effect(prepared: Any) -> IdempotentAnswer:
            (admission,) = store(principal, prepared, now=timezone.now())
            status = 200 if admission.deduplicated or admission.replaced else 201
            return IdempotentAnswer(status, lambda: stored_answers(principal, [admission])[0], [admission.fragment.id])

        answer = answer_once(request, prepare=lambda: prepare([draft], model=principal.active_model), effect=effect)
        return with_capacity(principal, with_tag(answer), stored=1)


def _page(request: Request, principal: Principal, rows: QuerySet[Any], query: dict[str, Any]) -> dict[str, Any]:
    def shown(page: list[Any]) -> list[dict[str, Any]]:
        full = load_answer_rows(principal.project_id, [row.id for row in page])
        return answers(full, now=timezone.now())

    return paged(
        request,
        rows.only("id", "project_id", "created_at"),
        shown,
        limit=query["limit"],
        cursor=query.get("cursor"),
    )


class BlockedAnswer(serializers.Serializer[Any]):
    """An item of a batch that was not stored, for its text was forgotten."""

    status = serializers.CharField(help_text="`blocked_by_erasure`.")
    code = serializers.CharField(help_text="The code of the problem that it would be alone.")


STORED_OR_BLOCKED = PolymorphicProxySerializer(
    component_name="StoredOrBlocked",
    serializers=[StoredAnswer, BlockedAnswer],
    resource_type_field_name=None,
    many=True,
)


class BatchAnswer(serializers.Serializer[Any]):
    """What became of each item, in order."""

    results = STORED_OR_BLOCKED


class BatchView(APIView):
    """Many fragments at once."""

    @extend_schema(
        operation_id="fragments_store_batch",
        request=FragmentBatch,
        parameters=[IDEMPOTENCY],
        responses={201: BatchAnswer},
    )
    def post(self, request: Request) -> Response:
        """Stores up to a thousand fragments in one transaction; a result per item, in order.

        An item whose text was forgotten is reported by itself and the others are stored. It answers `{"status":
        "blocked_by_erasure", "code": "blocked_by_erasure"}` in its place. `embed: "later"` leaves vectors to the
        worker.
        """
        principal = principal_of(request)
        batch = validated(FragmentBatch, request.data)
        drafts = [draft_of(item) for item in batch["fragments"]]

        def effect(prepared: Any) -> IdempotentAnswer:
            each = store_each(principal, prepared, now=timezone.now())
            data = {"results": batch_answers(principal, each)}
            return IdempotentAnswer(201, data, [admission.fragment.id for admission in each if admission is not None])

        answer = answer_once(request, prepare=lambda: prepare(drafts, embed_now=batch["embed"] == "now"), effect=effect)
        return with_capacity(principal, answer, stored=len(drafts))


class ForgetQuery(AboutUserQuery):
    """What goes along."""

    purge_backups = serializers.BooleanField(default=False, help_text="Delete the backups that still hold it.")
    everywhere = serializers.BooleanField(
        default=False, help_text="Bar the text in the whole project, not in the namespace alone."
    )


class ReadQuery(AboutUserQuery):
    """What more to answer."""

    include = serializers.ChoiceField(["embedding"], required=False)


class FragmentView(APIView):
    """One fragment."""

    @extend_schema(operation_id="fragments_read", parameters=[ReadQuery, ETAG], responses={200: FragmentAnswer})
    def get(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """The fragment; `include=embedding` adds its vector under the active model."""
        principal = principal_of(request)
        query = validated_query(ReadQuery, request)
        with access.enter(principal, why="read"):
            answer = answer_of(principal, fragment_id)
            if query.get("include") == "embedding":
                vector = Embedding.objects.within(principal.project_id).vector_of(fragment_id, active_model())
                answer["embedding"] = {**answer["embedding"], "vector": vector}
            return tagged(answer)

    @extend_schema(
        operation_id="fragments_change",
        request=FragmentChange,
        parameters=[IF_MATCH, ETAG],
        responses={200: ChangedAnswer},
    )
    def patch(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Changes fields; a new text keeps the old one in the history, and passes the gate as when it is stored.

        `revision` or `If-Match` guards against lost updates. The newest 500 former texts are kept; only its writer or a
        person may give a new one.
        """
        principal = principal_of(request)
        changes = validated(FragmentChange, request.data)
        with matching(request, changes.pop("revision", None)) as revision:
            done = revise(principal, fragment_id, changes=changes, revision=revision, now=timezone.now())
        with access.enter(principal, why="read"):
            return tagged({**answer_of(principal, fragment_id), **effects_of(done)})

    @extend_schema(
        operation_id="fragments_forget",
        parameters=[ForgetQuery, IF_MATCH, HELD_IN, RESTORED],
        responses={204: None},
    )
    def delete(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Forgets the fragment for good; a keyed fingerprint stops the text from coming back to its namespace.

        To an admin of the project `X-NovaMem-Backups` names the backups that hold it still, and `purge_backups`
        deletes those that are not protected. `everywhere=true` bars the text in the whole project;
        `X-NovaMem-Restored` names what stands again.
        """
        principal, query = principal_of(request), validated_query(ForgetQuery, request)
        with matching(request) as revision:
            done = forget(principal, fragment_id, **query, revision=revision, now=timezone.now())
        held = ", ".join(str(row["id"]) for row in done.backups if not row["purged"])
        answer = {"X-NovaMem-Backups": held} if held and sees_backups(principal) else {}
        answer |= {"X-NovaMem-Restored": ", ".join(done.report()["restored_ids"])} if done.restored else {}
        return Response(status=204, headers=answer)


class HistoryView(APIView):
    """The history of a fragment."""

    @extend_schema(operation_id="fragments_history", responses={200: HistoryAnswer})
    def get(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Former texts, and every change with who made it and why.

        It has what people ruled on it, too.
        """
        principal = principal_of(request)
        with access.enter(principal, why="history"):
            return Response(history_answer(principal, fragment_id))

"""The calls of mem0's client."""

import uuid
from dataclasses import replace
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.votes import vote, withdraw
from memories import access, erasure, ingest
from memories.access import NotFound
from memories.compat.mem0 import structured_exports
from memories.compat.mem0.additions import added_answer, drafts, keyed_drafts
from memories.compat.mem0.bodies import (
    AddInput,
    BatchChange,
    BatchDelete,
    ChangeInput,
    ExportInput,
    ExportWanted,
    FeedbackInput,
    ListBody,
    PageQuery,
    SearchBody,
    Whose,
    asked_for,
    entities_of,
)
from memories.compat.mem0.callers import (
    TokenAuthentication,
    named_memories,
    place_of,
    principal_about_memory,
    principal_about_user,
)
from memories.compat.mem0.filters import AskedMemories, not_of_others
from memories.compat.mem0.selection import (
    entities,
    forget_each,
    forget_matching,
    is_of_another,
    matching,
    memory_answer,
    revise_each,
    shown,
)
from memories.models import Revision
from memories.rest.authentication import key_of, principal_of
from memories.rest.fields import validated, validated_query
from memories.rest.fragments import readable_fragment, with_capacity
from memories.rest.votes import vote_answer
from memories.retrieval import Filters, Question, search

HELPED = "POSITIVE"


class MemZeroView(APIView):
    """Takes keys as mem0's client gives them."""

    authentication_classes = [TokenAuthentication]


@extend_schema(exclude=True)
class PingView(MemZeroView):
    """What the client asks first."""

    def get(self, request: Request) -> Response:
        """The key is valid; without an organisation and a project the client refuses to start."""
        name = principal_of(request).project
        return Response({"status": "ok", "user_email": None, "project_id": name, "org_id": name})


@extend_schema(exclude=True)
class AddView(MemZeroView):
    """Adding."""

    def post(self, request: Request) -> Response:
        """Keeps what is worth it of the turns; `event` is NONE for what stood already or waits for a person."""
        values = validated(AddInput, request.data)
        whose = entities_of(values)
        principal = principal_about_user(request, whose.user)
        wanted = keyed_drafts(principal, drafts(values, whose, namespace=place_of(request)), whose)
        kept = ingest.store_each(principal, ingest.prepare(wanted), now=timezone.now())
        answer = Response({"results": [added_answer(draft, one) for draft, one in zip(wanted, kept, strict=True)]})
        return with_capacity(principal, answer, stored=len(kept))


@extend_schema(exclude=True)
class Mem0SearchView(MemZeroView):
    """Searching."""

    verbs = {"POST": "read"}

    def post(self, request: Request) -> Response:
        """The memories that answer, best first."""
        values = validated(SearchBody, request.data)
        asked = asked_for(values)
        principal = principal_about_user(request, asked.user)
        filters = Filters(
            agent=[asked.entities["agent_id"]] if "agent_id" in asked.entities else [],
            workflow_id=asked.entities.get("app_id", ""),
            conversation_id=asked.entities.get("run_id", ""),
            rows=asked.rows(principal.project_id),
        )
        question = Question(
            query=values["query"],
            namespaces=[place_of(request)],
            project_wide=False,
            all_users=principal.all_users,
            filters=filters,
            top_k=values.get("limit", values["top_k"]),
            min_similarity=values["threshold"],
        )
        found = search(principal, question, now=timezone.now())
        if any(is_of_another(hit.fragment, principal) for hit in found.hits):
            mine = filters.rows & not_of_others(str(principal.user), principal.project_id)
            question = replace(question, filters=replace(filters, rows=mine))
            found = search(principal, question, now=timezone.now())
        hits = [
            {**memory_answer(hit.fragment), "score": hit.score, "source": hit.fragment.source, **hit.labels}
            for hit in found.hits
        ]
        return Response({"results": [shown(hit, values) for hit in hits]})


@extend_schema(exclude=True)
class ListView(MemZeroView):
    """Listing."""

    verbs = {"POST": "read"}

    def post(self, request: Request) -> Response:
        """A page of memories, newest first."""
        values = validated(ListBody, request.data)
        asked = asked_for(values)
        principal = principal_about_user(request, asked.user)
        page = validated_query(PageQuery, request)
        start = (page["page"] - 1) * page["page_size"]
        with access.enter(principal, why="list"):
            rows = matching(principal, place_of(request), asked)
            count = rows.count()
            results = [shown(memory_answer(row), values) for row in rows[start : start + page["page_size"]]]
        url = request.build_absolute_uri(request.path)
        size = page["page_size"]
        more = f"{url}?page={page['page'] + 1}&page_size={size}" if start + size < count else None
        former = f"{url}?page={page['page'] - 1}&page_size={size}" if page["page"] > 1 else None
        return Response({"count": count, "next": more, "previous": former, "results": results})


@extend_schema(exclude=True)
class MemoryView(MemZeroView):
    """One memory."""

    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """The memory."""
        principal = principal_about_memory(request, memory_id)
        with access.enter(principal, why="read"):
            return Response(memory_answer(readable_fragment(principal, memory_id)))

    def put(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Changes text, metadata or time; the former text is kept in the history."""
        principal = principal_about_memory(request, memory_id)
        changes = changes_of(validated(ChangeInput, request.data))
        ingest.updates.revise(principal, memory_id, changes=changes, revision=None, now=timezone.now())
        with access.enter(principal, why="read"):
            return Response(memory_answer(readable_fragment(principal, memory_id)))

    def delete(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Forgets the memory for good."""
        erasure.forget(principal_about_memory(request, memory_id), memory_id, now=timezone.now())
        return Response({"message": "Memory deleted successfully!"})


@extend_schema(exclude=True)
class MemoriesView(MemZeroView):
    """All memories of entities."""

    def delete(self, request: Request) -> Response:
        """Forgets them for good, all or none."""
        asked = asked_for(validated_query(Whose, request))
        if asked == AskedMemories():
            raise serializers.ValidationError({"user_id": ["Name a user, an agent, an app or a run."]})
        forget_matching(request, principal_about_user(request, asked.user), asked)
        return Response({"message": "Memories deleted successfully!"})


@extend_schema(exclude=True)
class Mem0EntitiesView(MemZeroView):
    """Users, agents, apps and runs."""

    def get(self, request: Request) -> Response:
        """Those whom the key reaches, by name, the first thousand of each kind."""
        found = entities(key_of(request), place_of(request))
        return Response({"count": len(found), "results": found})


@extend_schema(exclude=True)
class EntityView(MemZeroView):
    """A user, an agent, an app or a run."""

    verbs = {"DELETE": "admin"}

    def delete(self, request: Request, kind: str, name: str) -> Response:
        """Erases all that is kept there of a user; of an agent, an app or a run what belongs to it, whoever's it is."""
        principal = key_of(request)
        if kind not in ("user", "agent", "app", "run"):
            raise NotFound(f"kind of entity {kind}")
        validated(Whose, {f"{kind}_id": name})
        if kind == "user":
            erasure.erase_user(principal, name, place_of(request), expected=None, now=timezone.now())
        else:
            entity = AskedMemories(entities={f"{kind}_id": name})  # a name, not the wildcard of filters
            forget_matching(request, principal.of_user(None, all_users=True), entity)
        return Response({"message": "Entity deleted successfully!"})


@extend_schema(exclude=True)
class Mem0HistoryView(MemZeroView):
    """What a memory said before."""

    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Its texts, oldest first."""
        principal = principal_about_memory(request, memory_id)
        with access.enter(principal, why="history"):
            row = readable_fragment(principal, memory_id)
            former = Revision.objects.within(principal.project_id).filter(fragment=row).order_by("revision")
            texts = [(revision.content, revision.recorded_at) for revision in former]
        texts.append((row.content, row.updated_at))
        olds = [None, *(text for text, _ in texts)]
        events = [
            {
                "memory_id": row.id,
                "user_id": row.namespace.user,
                "old_memory": old,
                "new_memory": new,
                "event": "UPDATE" if old else "ADD",
            }
            for old, (new, _) in zip(olds, texts, strict=False)
        ]
        times = [row.created_at, *(at for _, at in texts)]
        return Response(
            [
                {**event, "created_at": row.created_at, "updated_at": at}
                for event, at in zip(events, times, strict=False)
            ]
        )


@extend_schema(exclude=True)
class Mem0BatchView(MemZeroView):
    """Several memories at once, all or none."""

    def put(self, request: Request) -> Response:
        """Changes each."""
        rows = validated(BatchChange, request.data)["memories"]
        changes = {row.pop("memory_id"): changes_of(row) for row in rows}
        waiting = revise_each(named_memories(request, list(changes)), changes)
        return Response({"message": f"Successfully updated {len(changes)} memories", "waiting": waiting})

    def delete(self, request: Request) -> Response:
        """Forgets each for good."""
        ids = [row["memory_id"] for row in validated(BatchDelete, request.data)["memories"]]
        forget_each(named_memories(request, ids))
        return Response({"message": f"Successfully deleted {len(ids)} memories"})


@extend_schema(exclude=True)
class FeedbackView(MemZeroView):
    """What somebody thinks of a memory."""

    def post(self, request: Request) -> Response:
        """Votes: it helped, or it is wrong; null takes the owner's vote back."""
        values, now = validated(FeedbackInput, request.data), timezone.now()
        memory_id, given = values["memory_id"], values["feedback"]
        reason = values.get("feedback_reason") or ""
        principal = principal_about_memory(request, memory_id)
        if given is None:
            counted = withdraw(principal, memory_id, now=now)
        elif given == HELPED:
            counted = vote(principal, memory_id, "reinforce", now=now)
        else:
            counted = vote(principal, memory_id, "dispute", now=now, reason=reason)
        told = vote_answer(counted)
        stands = told["counted"] and given is not None
        return Response({**told, "counted": stands, "feedback": given, "feedback_reason": reason or None})


@extend_schema(exclude=True)
class ExportsView(MemZeroView):
    """Asking for an export in a shape of one's own."""

    verbs = {"POST": "read"}

    def post(self, request: Request) -> Response:
        """Nothing is kept: the id says what is asked for, and is worked out when it is fetched."""
        values = validated(ExportInput, request.data)
        asked_for(values)
        told = "Memory export request received. The export will be ready in a few seconds."
        return Response({"message": told, "id": structured_exports.ticket(dict(request.data))}, status=201)


@extend_schema(exclude=True)
class ExportView(MemZeroView):
    """An export."""

    verbs = {"POST": "read"}

    def post(self, request: Request) -> Response:
        """What is believed of the user, in the shape asked for; without an id the memories as they are."""
        values = validated(ExportWanted, request.data)
        if ticket := values.get("memory_export_id"):
            values = validated(ExportInput, structured_exports.request_of(ticket))
        asked = asked_for(values)
        principal = principal_about_user(request, asked.user)
        with access.enter(principal, why="export"):
            rows = matching(principal, place_of(request), asked)
            answer = structured_exports.export(principal, place_of(request), rows, values.get("schema"))
        return Response(answer)


def changes_of(values: dict[str, Any]) -> dict[str, Any]:
    """Return what is to change of a fragment. Raise ValidationError for nothing."""
    named = {"text": "content", "metadata": "extra", "timestamp": "event_at"}
    if not values:
        raise serializers.ValidationError("Give text, metadata or timestamp.")
    return {named[name]: value.start if name == "timestamp" else value for name, value in values.items()}

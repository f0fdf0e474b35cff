"""/compat/mem0/: mem0's REST shapes, for its MemoryClient(host=…).

A user is the request's (docs/spec.md §2.2), a run a conversation, an app a workflow; an agent is the fragment's agent.
Everything lies in one namespace and its users' scopes: the header's, the key's only one, or `mem0` of the project.
"""

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.public import Admission
from memories import access, erasure, ingest
from memories.access import NotFound, Principal, users
from memories.ingest import Draft
from memories.ingest.files import Message
from memories.ingest.messages import drafts_of
from memories.models import CONTENT_LIMIT, Fragment, Namespace, Revision
from memories.models.enums import MATERIAL, Status, Users
from memories.rest.authentication import USER as USER_HEADER
from memories.rest.authentication import KeyAuthentication, bearer_of, key_of, principal_of
from memories.rest.fields import Flag, Number, Strict, Text, UserField, Whole, validated
from memories.rest.fragments import readable_fragment, with_capacity
from memories.rest.inputs import Extra, agent_form
from memories.rest.search import QUERY_LIMIT
from memories.retrieval import Filters, Question, search

USER = "user:"  # the tag of a user from before users had scopes
ANY = "*"
DEFAULT = "mem0"
ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
MOST_DELETED = MOST_USERS = 1000
BESIDE_AND = "Nothing stands beside AND: put it into its list."
DIFFER = "Beside the filters and in them this is not the same."


class TokenAuthentication(KeyAuthentication):
    """mem0 says `Token`, not `Bearer`."""

    def authenticate(self, request: Request) -> Any:
        """As for the API."""
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "token":
            return bearer_of(b"Bearer " + key.encode("latin-1"), now=timezone.now()), None
        return super().authenticate(request)


class Whose(Strict):
    """The entities that a memory belongs to."""

    user_id = UserField(allow_null=True)
    agent_id = Text(max_length=63, required=False, allow_null=True, validators=[agent_form])
    app_id = Text(max_length=255, required=False, allow_null=True)
    run_id = Text(max_length=255, required=False, allow_null=True)


class Conditions(serializers.JSONField):
    """`{"user_id": …}` or `{"AND": [{…}, …]}`; other operators are refused."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Return the entities that a memory has to belong to; `*` stands for any, and is told of the user alone."""
        if isinstance(data, dict) and "AND" in data and len(data) > 1:
            raise serializers.ValidationError({name: [BESIDE_AND] for name in sorted(set(data) - {"AND"})})
        parts = data.get("AND", [data]) if isinstance(data, dict) else None
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            raise serializers.ValidationError("Give an object of entities, or AND with a list of them.")
        whole: dict[str, Any] = {}
        for part in parts:
            if any(whole.setdefault(name, value) != value for name, value in part.items()):
                raise serializers.ValidationError("Two values of one entity fit no memory.")
        values = validated(Whose, {name: value for name, value in whole.items() if value != ANY or name == "user_id"})
        return {name: value for name, value in values.items() if value}


class Mem0Turn(Strict):
    """One turn of a conversation."""

    role = serializers.ChoiceField(["user", "assistant", "tool", "system"])
    content = Text(max_length=100_000, allow_blank=True, trim_whitespace=False)
    name = Text(max_length=100, required=False, allow_null=True)


class Ignored(Whose):
    """What mem0's own extraction takes; there is none here, so these change nothing."""

    infer = Flag(required=False)
    async_mode = Flag(required=False)
    version = Text(required=False)
    output_format = Text(required=False)
    source = Text(required=False)
    enable_graph = Flag(required=False)
    rerank = Flag(required=False)
    keyword_search = Flag(required=False)
    latest_only = Flag(required=False)


class AddInput(Ignored):
    """Memories to add."""

    messages = serializers.ListField(child=Mem0Turn(), min_length=1, max_length=1000)
    filters = Conditions(required=False)
    metadata = Extra(required=False, allow_null=True)


class SearchBody(Ignored):
    """A question."""

    query = Text(max_length=QUERY_LIMIT)
    filters = Conditions(required=False)
    top_k = Whole(min_value=1, max_value=200, default=10)
    threshold = Number(min_value=0, max_value=1, default=0.0)


class ListBody(Ignored):
    """Which memories."""

    filters = Conditions(required=False)


class PageQuery(Strict):
    """Which page."""

    page = serializers.IntegerField(min_value=1, max_value=10_000, default=1)
    page_size = serializers.IntegerField(min_value=1, max_value=200, default=100)


class ChangeInput(Strict):
    """What is to change."""

    text = Text(max_length=CONTENT_LIMIT, required=False)
    metadata = Extra(required=False)


def place_of(request: Request) -> str:
    """Return the namespace in which memories lie."""
    principal = key_of(request)
    only = principal.namespaces[0] if len(principal.namespaces) == 1 else "*"
    named = request.headers.get("X-NovaMem-Namespace", "")
    return named or (only if "*" not in only else f"{principal.project}:{DEFAULT}")


def principal_about_user(request: Request, entities: dict[str, str]) -> Principal:
    """Return who asks, about the user named: one, `*` for all, else the header's. Raise as `principal_of`."""
    if (named := entities.get("user_id")) is None:
        return principal_of(request)
    return key_of(request).of_user(None, all_users=True) if named == ANY else key_of(request).of_user(named)


def principal_about_memory(request: Request, memory_id: uuid.UUID) -> Principal:
    """Return who asks, about the user whose memory it is: mem0's client names none beside an id. Raise NotFound.

    Without a header this takes a key that speaks for all users; for another the memories of users are unknown.
    """
    key = key_of(request)
    if USER_HEADER in request.headers or not key.speaks_for_all or key.users == Users.REQUIRED:
        return principal_of(request)
    with access.enter(key.of_everybody(), why="look"):
        return key.of_user(readable_fragment(key.of_everybody(), memory_id).namespace.user)


def requested_entities(values: dict[str, Any]) -> dict[str, str]:
    """The entities that a request names, beside its filters or in them. Raise ValidationError where these differ."""
    beside: dict[str, str] = {name: values[name] for name in ENTITIES if values.get(name)}
    inside: dict[str, str] = values.get("filters", {})
    if differ := [name for name in beside if inside.get(name, beside[name]) != beside[name]]:
        raise serializers.ValidationError({name: [DIFFER] for name in differ})
    return beside | inside


def memory_answer(row: Fragment) -> dict[str, Any]:
    """Return a memory as mem0 shows it."""
    tagged = [tag.removeprefix(USER) for tag in row.tags if tag.startswith(USER)]
    return {
        "id": row.id,
        "memory": row.shown,
        "user_id": row.namespace.user or next(iter(tagged), None),
        "agent_id": row.agent_id if row.agent_id != row.namespace.agent else None,
        "app_id": row.workflow_id or None,
        "run_id": row.conversation_id or None,
        "metadata": {name: value for name, value in row.extra.items() if name != MATERIAL} or None,
        "categories": [row.category] if row.category else [],
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def drafts(values: dict[str, Any], *, namespace: str) -> list[Draft]:
    """Return what is worth keeping of the turns, as belonging to the entities."""
    entities = requested_entities(values)
    turns = [
        Message(
            turn["role"],
            turn["content"],
            None,
            None,
            entities.get("run_id"),
            None,
            "message",
            turn.get("name"),
            attested=turn["role"] == "user" and not turn.get("name"),
        )
        for turn in values["messages"]
    ]
    belonging: dict[str, Any] = {"workflow_id": entities.get("app_id", "")}
    belonging |= {"agent_id": entities["agent_id"]} if "agent_id" in entities else {}
    found, _ = drafts_of(turns, namespace=namespace)
    metadata = values.get("metadata") or {}
    return [replace(draft, extra={**metadata, **draft.extra}, **belonging) for _, draft in found]


def keyed_drafts(principal: Principal, wanted: list[Draft], entities: dict[str, str]) -> list[Draft]:
    """Return the drafts under keys of their own: equal texts of two entities are two memories.

    Added again by the same, a text is the memory that it was, unless that says something else by now.
    """
    keys = [_key(entities, draft.content) for draft in wanted]
    with access.enter(principal, why="add"):
        namespaces = access.readable(principal, sorted({draft.namespace for draft in wanted}))
        rows = Fragment.objects.within(principal.project_id).in_namespaces(namespaces)
        stands = dict(rows.filter(key__in=keys).values_list("key", "content"))
    return [
        replace(draft, key=key if stands.get(key, draft.content) == draft.content else f"mem0:{uuid.uuid4().hex}")
        for draft, key in zip(wanted, keys, strict=True)
    ]


def _key(entities: dict[str, str], text: str) -> str:
    text_of_key = json.dumps([[name, entities[name]] for name in sorted(entities)] + [text])
    return f"mem0:{hashlib.sha256(text_of_key.encode()).hexdigest()[:32]}"


def added_answer(draft: Draft, admission: Admission | None) -> dict[str, Any]:
    """Return what became of a memory that was to be added; one that was forgotten is told of by itself."""
    if admission is None:
        return {"id": None, "memory": draft.content, "event": "NONE", "status": "blocked_by_erasure"}
    known = admission.deduplicated or admission.replaced or admission.pending_conflicts
    event = "NONE" if known else "ADD"
    return {"id": admission.fragment.id, "memory": admission.fragment.content, "event": event}


def matching(
    principal: Principal, namespace: str, entities: dict[str, str], *, statuses: Sequence[str] = (Status.ACTIVE,)
) -> QuerySet[Any]:
    """Return the memories that stand there and belong to the entities, newest first; to be read inside `access.enter`.

    Those of a user are in the user's scope, or, from before there were scopes, in the namespace with a tag.
    """
    columns = {"agent_id": "agent_id", "app_id": "workflow_id", "run_id": "conversation_id"}
    body: dict[str, Any] = {column: entities[name] for name, column in columns.items() if name in entities}
    there = Q(namespace__in=access.readable_scopes(principal, [namespace]))
    if principal.user is not None:
        root = Namespace.objects.within(principal.project_id).named([namespace])
        there |= Q(namespace__in=root, tags__contains=[USER + principal.user])
    rows = Fragment.objects.within(principal.project_id).filter(there)
    return rows.filter(status__in=statuses, **body).select_related("namespace").newest_first()


def forget_matching(request: Request, principal: Principal, entities: dict[str, str]) -> None:
    """Forget what belongs to the entities, for good, all or none. Raise ValidationError where it is too much.

    What is the namespace's own stays where the key has to name a user.
    """
    key = key_of(request)
    with access.enter(principal, why="forget"):
        rows = matching(principal, place_of(request), entities, statuses=Status.values)
        ids = dict(rows.values_list("id", "namespace__user")[: MOST_DELETED + 1])
        if len(ids) > MOST_DELETED:
            raise serializers.ValidationError(f"These are over {MOST_DELETED} memories; narrow them down.")
        for memory_id in sorted(ids):
            if ids[memory_id] is not None or key.users != Users.REQUIRED:
                erasure.forget(key.of_user(ids[memory_id]), memory_id, now=timezone.now())


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
        entities = requested_entities(values)
        if entities.get("user_id") == ANY:
            raise serializers.ValidationError({"user_id": ["A memory belongs to one user."]})
        principal = principal_about_user(request, entities)
        wanted = keyed_drafts(principal, drafts(values, namespace=place_of(request)), entities)
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
        entities = requested_entities(values)
        filters = Filters(
            agent=[entities["agent_id"]] if "agent_id" in entities else [],
            workflow_id=entities.get("app_id", ""),
            conversation_id=entities.get("run_id", ""),
        )
        principal = principal_about_user(request, entities)
        question = Question(
            query=values["query"],
            namespaces=[place_of(request)],
            project_wide=False,
            all_users=principal.all_users,
            filters=filters,
            top_k=values["top_k"],
            min_similarity=values["threshold"],
        )
        found = search(principal, question, now=timezone.now())
        hits = [
            {**memory_answer(hit.fragment), "score": hit.score, "source": hit.fragment.source, **hit.labels}
            for hit in found.hits
        ]
        others = principal.user is not None  # the namespace may hold tagged memories of other users
        return Response({"results": [hit for hit in hits if not others or hit["user_id"] in (None, principal.user)]})


@extend_schema(exclude=True)
class ListView(MemZeroView):
    """Listing."""

    verbs = {"POST": "read"}

    def post(self, request: Request) -> Response:
        """A page of memories, newest first."""
        values = validated(ListBody, request.data)
        entities = requested_entities(values)
        principal = principal_about_user(request, entities)
        page = validated(PageQuery, request.query_params.dict())
        start = (page["page"] - 1) * page["page_size"]
        with access.enter(principal, why="list"):
            rows = matching(principal, place_of(request), entities)
            count = rows.count()
            results = [memory_answer(row) for row in rows[start : start + page["page_size"]]]
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
        """Changes text or metadata; the former text is kept in the history."""
        principal, values = principal_about_memory(request, memory_id), validated(ChangeInput, request.data)
        named = {"text": "content", "metadata": "extra"}
        if not values:
            raise serializers.ValidationError("Give text or metadata.")
        changes = {named[name]: value for name, value in values.items()}
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
        entities = requested_entities(validated(Whose, request.query_params.dict()))
        if not entities:
            raise serializers.ValidationError({"user_id": ["Name a user, an agent, an app or a run."]})
        forget_matching(request, principal_about_user(request, entities), entities)
        return Response({"message": "Memories deleted successfully!"})


@extend_schema(exclude=True)
class Mem0EntitiesView(MemZeroView):
    """Users."""

    def get(self, request: Request) -> Response:
        """The users whom the key reaches, by name, the first thousand."""
        found = users.known_users(key_of(request), place_of(request), limit=MOST_USERS)
        entities = [
            {"type": "user", "name": row.user, "total_memories": row.memories, "created_at": row.since} for row in found
        ]
        return Response({"count": len(entities), "results": entities})


@extend_schema(exclude=True)
class EntityView(MemZeroView):
    """A user, an agent, an app or a run."""

    verbs = {"DELETE": "admin"}

    def delete(self, request: Request, kind: str, name: str) -> Response:
        """Erases all that is kept there of a user; of an agent, an app or a run what belongs to it, whoever's it is."""
        principal = key_of(request)
        if kind not in ("user", "agent", "app", "run"):
            raise NotFound(f"kind of entity {kind}")
        entities = requested_entities(validated(Whose, {f"{kind}_id": name}))
        if kind == "user":
            erasure.erase_user(principal, name, place_of(request), expected=None, now=timezone.now())
        else:
            forget_matching(request, principal.of_user(None, all_users=True), entities)
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
            {"memory_id": row.id, "old_memory": old, "new_memory": new, "event": "UPDATE" if old else "ADD"}
            for old, (new, _) in zip(olds, texts, strict=False)
        ]
        times = [row.created_at, *(at for _, at in texts)]
        return Response([{**event, "created_at": at} for event, at in zip(events, times, strict=False)])

"""Which memories belong to whom, and how one is shown."""

import uuid
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from conflicts.authority import rank_of
from memories import access, erasure
from memories.access import Principal, users
from memories.compat.mem0.bodies import MOST_AT_ONCE
from memories.compat.mem0.callers import Named, place_of
from memories.compat.mem0.filters import FIELDS, USER, AskedMemories
from memories.ingest.updates import ReadText, check_change, refuse_taking_away, revise
from memories.language import route_kept
from memories.models import Fragment, Namespace
from memories.models.enums import MATERIAL, Status, Users
from memories.providers import active_model, embed
from memories.rest.authentication import key_of
from memories.retrieval import Filters

MOST_ENTITIES = 1000  # of a kind


def memory_answer(row: Fragment) -> dict[str, Any]:
    """Return a memory as mem0 shows it."""
    return {
        "id": row.id,
        "memory": row.shown,
        "user_id": row.namespace.user or next(iter(tagged_users(row)), None),
        "agent_id": row.agent_id if row.agent_id != row.namespace.agent else None,
        "app_id": row.workflow_id or None,
        "run_id": row.conversation_id or None,
        "metadata": {name: value for name, value in row.extra.items() if name != MATERIAL} or None,
        "categories": [row.category] if row.category else [],
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "status": row.status,
    }


def tagged_users(row: Fragment) -> list[str]:
    """Return the users whom tags from before scopes name."""
    return [tag.removeprefix(USER) for tag in row.tags if tag.startswith(USER)]


def is_of_another(row: Fragment, principal: Principal) -> bool:
    """Return whether a memory is another user's than the one that is asked about, who is one of them."""
    tagged = tagged_users(row)
    return principal.user is not None and row.namespace.user is None and bool(tagged) and principal.user not in tagged


def shown(answer: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return of an answer what a request names in `fields`; all where it names none."""
    named = values.get("fields")
    return {name: value for name, value in answer.items() if name in named} if named else answer


def matching(
    principal: Principal, namespace: str, asked: AskedMemories, *, statuses: Sequence[str] = (Status.ACTIVE,)
) -> QuerySet[Any]:
    """Return the memories that stand there and are asked for, newest first; to be read inside `access.enter`.

    Those of a user are in the user's scope, or, from before there were scopes, in the namespace with a tag.
    """
    there = Q(namespace__in=access.readable_scopes(principal, [namespace]))
    if principal.user is not None:
        root = Namespace.objects.within(principal.project_id).named([namespace])
        there |= Q(namespace__in=root, tags__contains=[USER + principal.user])
    belonging = {FIELDS[name].column: value for name, value in asked.entities.items()}
    rows = Fragment.objects.within(principal.project_id).filter(there, asked.rows(principal.project_id), **belonging)
    return rows.filter(status__in=statuses).select_related("namespace").newest_first()


def forget_matching(request: Request, principal: Principal, asked: AskedMemories) -> None:
    """Forget what is asked for, for good, all or none. Raise ValidationError where it is too much, as `forget_each`.

    What is the namespace's own stays where the key has to name a user.
    """
    key, place = key_of(request), place_of(request)
    if asked.entities.get("agent_id") == agent_of(place):
        raise serializers.ValidationError({"agent_id": ["This is the namespace's own agent, so of no agent in it."]})
    with access.enter(principal, why="forget"):
        rows = list(matching(principal, place, asked, statuses=Status.values)[: MOST_AT_ONCE + 1])
        if len(rows) > MOST_AT_ONCE:
            raise serializers.ValidationError(f"These are over {MOST_AT_ONCE} memories; narrow them down.")
        mine = [row for row in rows if row.namespace.user is not None or key.users != Users.REQUIRED]
        forget_each([Named(row.id, row.namespace, key.of_user(row.namespace.user)) for row in mine])


def agent_of(namespace: str) -> str:
    """Return the agent whose namespace it is."""
    return namespace.partition(":")[2]


def entities(key: Principal, namespace: str) -> list[dict[str, Any]]:
    """Return the users whom a key reaches, and, where it speaks for all of them, the agents, apps and runs.

    By name, the first MOST_ENTITIES of each kind.
    """
    found = [
        {"type": "user", "name": row.user, "total_memories": row.memories, "created_at": row.since}
        for row in users.known_users(key, namespace, limit=MOST_ENTITIES)
    ]
    if not key.speaks_for_all:
        return found
    principal = key.of_user(None, all_users=True)
    with access.enter(principal, why="entities"):
        for kind, column in (("agent", "agent_id"), ("app", "workflow_id"), ("run", "conversation_id")):
            rows = matching(principal, namespace, AskedMemories()).exclude(**{column: ""}).order_by(column)
            if kind == "agent":
                rows = rows.exclude(agent_id=agent_of(namespace))
            counted = rows.values_list(column).annotate(memories=Count("id"), since=Min("created_at"))
            found += [
                {"type": kind, "name": name, "total_memories": memories, "created_at": since}
                for name, memories, since in counted[:MOST_ENTITIES]
            ]
    return found


def forget_each(named: Sequence[Named]) -> None:
    """Forget memories for good, all or none. Raise NotFound, NotPermitted."""
    if not named:
        return
    places = {one.namespace.id: one for one in named}
    with access.enter(named[0].principal, why="forget"):
        for _, place in sorted(places.items()):
            ids = [one.id for one in named if one.namespace.id == place.namespace.id]
            _forget_in(place.principal, place.namespace, ids)


def _forget_in(principal: Principal, namespace: Namespace, ids: Sequence[uuid.UUID]) -> None:
    authority = rank_of(principal)
    with access.enter(principal, why="forget"):
        check_change(principal, namespace=namespace.name, authority=0)
        for row in Fragment.objects.within(principal.project_id).filter(id__in=ids):
            refuse_taking_away(principal, row)
        request = erasure.ErasureRequest(Filters(), list(ids))
        erasure.forget_all(principal, namespace, request, expected=len(ids), authority=authority, now=timezone.now())


def revise_each(named: Sequence[Named], changes: Mapping[uuid.UUID, dict[str, Any]]) -> list[uuid.UUID]:
    """Change memories, all or none, as `revise` does; return those that wait for a person now. Raise as that does."""
    texts = {memory_id: change["content"] for memory_id, change in changes.items() if "content" in change}
    vectors = embed(list(texts.values()), model=active_model()) if texts else []
    routings = route_kept(list(texts.values())) if texts else []
    read = {one: ReadText(*both) for one, both in zip(texts, zip(vectors, routings, strict=True), strict=True)}
    now = timezone.now()
    with access.enter(named[0].principal, why="revise"):
        admitted = [
            revise(one.principal, one.id, changes=changes[one.id], revision=None, now=now, read=read.get(one.id))
            for one in sorted(named, key=attrgetter("id"))
        ]
    return [one.fragment.pk for one in admitted if one.fragment.status == Status.QUARANTINED]

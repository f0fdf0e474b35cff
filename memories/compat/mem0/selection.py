"""Which memories belong to whom, and how one is shown."""

import datetime
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from memories import access, erasure
from memories.access import NotFound, Principal, users
from memories.compat.mem0.bodies import MOST_AT_ONCE
from memories.compat.mem0.callers import place_of
from memories.compat.mem0.filters import FIELDS, USER, AskedMemories
from memories.ingest.updates import ReadText, revise
from memories.language import route_kept
from memories.models import Fragment, Namespace
from memories.models.enums import MATERIAL, Status, Users
from memories.providers import active_model, embed
from memories.rest.authentication import key_of
from memories.rest.fragments import readable_fragment

MOST_ENTITIES = 1000  # of a kind


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
    """Forget what is asked for, for good, all or none. Raise ValidationError where it is too much.

    What is the namespace's own stays where the key has to name a user.
    """
    key = key_of(request)
    with access.enter(principal, why="forget"):
        rows = matching(principal, place_of(request), asked, statuses=Status.values)
        ids = dict(rows.values_list("id", "namespace__user")[: MOST_AT_ONCE + 1])
        if len(ids) > MOST_AT_ONCE:
            raise serializers.ValidationError(f"These are over {MOST_AT_ONCE} memories; narrow them down.")
        for memory_id in sorted(ids):
            if ids[memory_id] is not None or key.users != Users.REQUIRED:
                erasure.forget(key.of_user(ids[memory_id]), memory_id, now=timezone.now())


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
                rows = rows.exclude(agent_id=namespace.partition(":")[2])
            counted = rows.values_list(column).annotate(memories=Count("id"), since=Min("created_at"))
            found += [
                {"type": kind, "name": name, "total_memories": memories, "created_at": since}
                for name, memories, since in counted[:MOST_ENTITIES]
            ]
    return found


def forget_each(principals: dict[uuid.UUID, Principal], *, now: datetime.datetime) -> None:
    """Forget memories for good, all or none, each by who asks about it. Raise NotFound, NotPermitted."""
    with access.enter(next(iter(principals.values())), why="forget"):
        for memory_id, principal in principals.items():
            with access.enter(principal, why="forget"):
                readable_fragment(principal, memory_id)
        for memory_id in sorted(principals):
            with suppress(NotFound):  # it went with one before it that it repeats
                erasure.forget(principals[memory_id], memory_id, now=now)


def revise_each(principals: dict[uuid.UUID, Principal], changes: dict[uuid.UUID, dict[str, Any]]) -> None:
    """Change memories, all or none, as `revise` does. Raise as that does."""
    texts = {memory_id: change["content"] for memory_id, change in changes.items() if "content" in change}
    vectors = embed(list(texts.values()), model=active_model()) if texts else []
    routings = route_kept(list(texts.values())) if texts else []
    read = {one: ReadText(*both) for one, both in zip(texts, zip(vectors, routings, strict=True), strict=True)}
    now = timezone.now()
    with access.enter(next(iter(principals.values())), why="revise"):
        for memory_id in sorted(changes):
            revise(
                principals[memory_id],
                memory_id,
                changes=changes[memory_id],
                revision=None,
                now=now,
                read=read.get(memory_id),
            )

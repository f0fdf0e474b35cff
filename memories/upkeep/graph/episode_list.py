"""Episodes as they are told: conversations, and what somebody put together; only what a default answer may show."""

import datetime
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, F, Func, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from conflicts.authority import rank_of
from conflicts.search_index import refuse_forgotten_words
from memories import access
from memories.access import NotFound, Principal
from memories.language.extracts import extract, most_telling
from memories.models import NAME_LIMIT, Claim, Episode, EpisodeMember, Fragment, Namespace
from memories.models.answer_rows import load_answer_rows
from memories.models.enums import Status
from memories.models.fragment import FragmentQuerySet

TITLE, SUMMARY, MOST_READ = 80, 600, 200
HAPPENED = Coalesce("event_at", "created_at")


@dataclass(frozen=True, slots=True)
class EpisodeQuery:
    """Which episodes: those that overlap [since, until), with a memory of that agent."""

    namespaces: Sequence[Namespace]
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None
    agent: str | None = None


def shown(project_id: uuid.UUID, *, now: datetime.datetime) -> FragmentQuerySet:
    """Return the fragments that a default answer may show: active, of no session, with a claim in force if any."""
    hidden = Claim.objects.filter(
        ~Q(session_id="") | Q(valid_from__gt=now) | Q(valid_until__lte=now),
        project_id=OuterRef("project_id"),
        fragment=OuterRef("id"),
    )
    rows: FragmentQuerySet = Fragment.objects.within(project_id).filter(~Exists(hidden), status=Status.ACTIVE)
    return rows


def episodes(principal: Principal, query: EpisodeQuery, *, now: datetime.datetime) -> QuerySet[Any]:
    """Return the episodes that have something to show, with `size`, `created_at` (its begin) and `telling` (a text)."""
    visible = shown(principal.project_id, now=now)
    fragments = visible.filter(namespace=OuterRef("namespace_id"), conversation_id=OuterRef("conversation_id"))
    fragments = fragments.exclude(conversation_id="")
    picked = visible.filter(id__in=EpisodeMember.objects.filter(episode=OuterRef(OuterRef("id"))).values("fragment_id"))
    rows = Episode.objects.within(principal.project_id).filter(namespace__in=query.namespaces)
    of_agent = {"agent_id": query.agent} if query.agent else {}
    rows = rows.filter(Q(Exists(fragments.filter(**of_agent))) | Q(Exists(picked.filter(**of_agent))))
    rows = rows.filter(ended_at__gte=query.since) if query.since else rows
    rows = rows.filter(began_at__lt=query.until) if query.until else rows
    found: QuerySet[Any] = rows.select_related("namespace").annotate(
        created_at=F("began_at"),
        size=Coalesce(_number(fragments), 0) + Coalesce(_number(picked), 0),
        telling=Coalesce(_richest(fragments), _richest(picked)),
    )
    return found


def _number(rows: QuerySet[Any]) -> Subquery:
    return Subquery(rows.order_by().values("project_id").annotate(n=Count("id")).values("n"))


def _richest(rows: QuerySet[Any]) -> Subquery:
    """Return the text that speaks of most names and topics, of equals the first."""
    most = Func("topics", function="cardinality") + Func("entities", function="jsonb_array_length")
    order = ("-spoken_of", F("sequence").asc(nulls_last=True), HAPPENED, "id")
    return Subquery(rows.annotate(spoken_of=most).order_by(*order).values("content")[:1])


def episode(principal: Principal, episode_id: uuid.UUID, *, now: datetime.datetime) -> Any:
    """Return one episode, as in the list. Raise NotFound."""
    query = EpisodeQuery(access.requested_scopes(principal, None))
    found = episodes(principal, query, now=now).filter(id=episode_id).first()
    if found is None:
        raise NotFound("episode")
    return found


def members(row: Episode, *, now: datetime.datetime, most: int = MOST_READ) -> list[Any]:
    """Return its fragments for answers, in the order in which they were said, or in which somebody put them."""
    visible = shown(row.project_id, now=now)
    if row.conversation_id:
        fragments = visible.filter(namespace=row.namespace_id, conversation_id=row.conversation_id)
        said = fragments.order_by(F("sequence").asc(nulls_last=True), HAPPENED, "id")[:most]
        return load_answer_rows(row.project_id, said)
    memberships = EpisodeMember.objects.within(row.project_id).filter(episode=row.id)
    position = memberships.filter(fragment=OuterRef("id")).values("position")
    picked = visible.filter(id__in=memberships.values("fragment_id")).annotate(position=Subquery(position))
    return load_answer_rows(row.project_id, picked.order_by("position")[:most])


def title_of(row: Any) -> str:
    """Return what somebody called it, else the sentence that tells most of its richest memory."""
    return row.title or _cut(most_telling(row.telling), TITLE)


def summary_of(fragments: Sequence[Fragment]) -> str:
    """Return the sentences that tell most of what these memories say, in their order, in one line."""
    return " ".join(extract([fragment.content for fragment in fragments], limit=SUMMARY).split())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def create_episode(principal: Principal, *, namespace: str, title: str, ids: Sequence[uuid.UUID]) -> Episode:
    """Return an episode of these fragments of a namespace, in this order.

    Raise NotFound for what is not there, BlockedByErasure for a title that was forgotten.
    """
    scope = access.writable(principal, namespace)
    refuse_forgotten_words(principal.project_id, scope.id, [title], authority=rank_of(principal))
    rows = Fragment.objects.within(principal.project_id).filter(namespace=scope, id__in=ids)
    if rows.count() != len(ids):
        raise NotFound("fragment")
    span = rows.aggregate(began_at=Min(HAPPENED), ended_at=Max(HAPPENED))
    made: Episode = Episode.objects.create(
        project_id=principal.project_id, namespace=scope, title=title[:NAME_LIMIT], **span
    )
    EpisodeMember.objects.bulk_create(
        [
            EpisodeMember(project_id=made.project_id, episode=made, fragment_id=fragment_id, position=position)
            for position, fragment_id in enumerate(ids)
        ]
    )
    return made


Talk = tuple[uuid.UUID, str]  # namespace, conversation


def gather(project_id: uuid.UUID, talks: Collection[Talk]) -> None:
    """Make the episodes of these conversations what their active members say; those without members go."""
    rows = sorted(
        (uuid.uuid5(namespace_id, conversation), namespace_id, conversation)
        for namespace_id, conversation in talks
        if conversation
    )
    if not rows:
        return
    ids, places, conversations = map(list, zip(*rows, strict=True))
    params: dict[str, Any] = {"project": project_id, "ids": ids, "places": places, "conversations": conversations}
    with connection.cursor() as cursor:
        cursor.execute(GATHER, params)
        cursor.execute(SCATTER, params)


GATHER = """
    INSERT INTO memories_episode AS e (id, project_id, namespace_id, conversation_id, title, began_at, ended_at)
    SELECT t.id, %(project)s, t.place, t.conversation, '', min(coalesce(f.event_at, f.created_at)),
        max(coalesce(f.event_at, f.created_at))
    FROM unnest(%(ids)s::uuid[], %(places)s::uuid[], %(conversations)s::text[]) AS t (id, place, conversation)
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.namespace_id = t.place
        AND f.conversation_id = t.conversation AND f.conversation_id <> '' AND f.status = 'active'
    GROUP BY t.id, t.place, t.conversation
    ON CONFLICT (id) DO UPDATE SET began_at = excluded.began_at, ended_at = excluded.ended_at
        WHERE (e.began_at, e.ended_at) IS DISTINCT FROM (excluded.began_at, excluded.ended_at)"""
SCATTER = """
    DELETE FROM memories_episode e
    USING unnest(%(ids)s::uuid[], %(places)s::uuid[], %(conversations)s::text[]) AS t (id, place, conversation)
    WHERE e.project_id = %(project)s AND e.id = t.id AND NOT EXISTS (
        SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.namespace_id = t.place
            AND f.conversation_id = t.conversation AND f.conversation_id <> '' AND f.status = 'active')"""

"""How well the memory of a project does its work: whether it reads, condenses, spares, finds and is looked after."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Sum

from conflicts.resolution import DECIDED_BY_A_PERSON, waiting
from memories import access, backups
from memories.access import Principal
from memories.models import Namespace, SearchDay
from memories.models.sql import fetch
from memories.upkeep import MAY_BE_DIGESTED, is_spared

DAYS, STALE_DAYS = 30, 30
MOST_TOLD = 50
AGES = {"day": 1, "week": 7, "month": 30}  # days up to which a conflict counts there; the rest is older
# Of what is active: who claims something, who is spared, who is old enough for a digest and in none; and how many are.
COUNTS = f"""
    SELECT count(*) FILTER (WHERE active) AS active,
        count(*) FILTER (WHERE active AND claims) AS claiming,
        count(*) FILTER (WHERE active AND ({is_spared()} OR f.is_pinned OR f.is_anchor)) AS protected,
        count(*) FILTER (WHERE active AND f.updated_at <= %(stale)s AND {MAY_BE_DIGESTED}) AS undigested,
        count(*) FILTER (WHERE f.status = 'archived' AND f.archived_reason = 'digested') AS digested,
        count(*) FILTER (WHERE active AND f.category = 'digest') AS digests
    FROM memories_fragment f
    CROSS JOIN LATERAL (SELECT f.status = 'active' AS active, EXISTS (SELECT FROM memories_claim c
        WHERE c.project_id = f.project_id AND c.fragment_id = f.id) AS claims) AS s
    WHERE f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s)
"""
# Who yielded to another memory lately, unless a person decided so; the time is that of then, whatever changed since.
SUPERSEDED = f"""
    SELECT f.id, f.superseded_by_id, y.at, EXISTS (SELECT FROM memories_claim c
            JOIN memories_claim s ON s.project_id = c.project_id AND s.namespace_id = c.namespace_id
                AND s.key_digest = c.key_digest AND s.session_id = c.session_id
            WHERE c.project_id = f.project_id AND c.fragment_id = f.id AND s.fragment_id <> f.id AND c.exclusive
                AND s.exclusive AND s.status IN ('active', 'disputed') AND s.value_digest <> c.value_digest),
        count(*) OVER ()
    FROM memories_fragment f
    CROSS JOIN LATERAL (SELECT coalesce(min(e.pgh_created_at), f.updated_at) AS at FROM memories_fragmentevent e
        WHERE e.project_id = f.project_id AND e.pgh_obj_id = f.id AND e.status = 'superseded'
            AND e.superseded_by_id = f.superseded_by_id) AS y
    WHERE f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s) AND f.status = 'superseded'
        AND f.superseded_by_id IS NOT NULL AND f.updated_at > %(since)s AND y.at > %(since)s
        AND NOT {DECIDED_BY_A_PERSON}
        AND NOT EXISTS (SELECT FROM memories_proposal q WHERE q.project_id = f.project_id AND q.decision = 'accepted'
            AND q.about @> ARRAY[f.id, f.superseded_by_id])
    ORDER BY y.at DESC, f.id LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    number: int
    of: int

    @property
    def share(self) -> float | None:
        """`number` / `of`; None of nothing."""
        return round(self.number / self.of, 4) if self.of else None


@dataclass(frozen=True, slots=True)
class SilentSupersession:
    """A memory that yielded to another one without a person; `can_be_undone` while something stands against it."""

    id: uuid.UUID
    superseded_by: uuid.UUID
    at: datetime.datetime
    can_be_undone: bool


@dataclass(frozen=True, slots=True)
class ProjectHealth:
    """The report.

    `claims`: active memories that claim something; `protected`: that upkeep spares; `digested`: of what is old enough
    that went into a digest; `nothing_found`: of the searches of thirty days, of the whole project. `superseded`: how
    many yielded in thirty days without a person, `supersessions` the latest of them.
    """

    claims: Share
    protected: Share
    digested: Share
    digests: int
    nothing_found: Share
    superseded: int
    supersessions: Sequence[SilentSupersession]
    conflicts_by_age: dict[str, int]
    last_drill_at: datetime.datetime | None
    are_backups_proven: bool


def project_health(principal: Principal, namespace: str | None = None, *, now: datetime.datetime) -> ProjectHealth:
    """Return the report on a namespace, by default on all that may be read. Raise NotFound."""
    proofs = backups.backup_status(principal, now=now)
    with access.enter(principal, why="health"):
        scopes: list[Namespace] = access.requested_scopes(principal, namespace)
        params: dict[str, Any] = {
            "project": principal.project_id,
            "places": [scope.id for scope in scopes],
            "stale": now - datetime.timedelta(days=STALE_DAYS),
            "since": now - datetime.timedelta(days=DAYS),
            "most": MOST_TOLD,
        }
        ((active, claiming, protected, undigested, digested, digests),) = fetch(COUNTS, params)
        yielded = fetch(SUPERSEDED, params)
        days = SearchDay.objects.within(principal.project_id).filter(day__gt=params["since"].date())
        searches = days.aggregate(all=Sum("searches"), empty=Sum("empty"))
        ages = _by_age(waiting(principal, namespace=namespace).values_list("created_at", flat=True), now)
    return ProjectHealth(
        claims=Share(claiming, active),
        protected=Share(protected, active),
        digested=Share(digested, digested + undigested),
        digests=digests,
        nothing_found=Share(searches["empty"] or 0, searches["all"] or 0),
        superseded=yielded[0][4] if yielded else 0,
        supersessions=[SilentSupersession(*row[:4]) for row in yielded],
        conflicts_by_age=ages,
        last_drill_at=proofs["last_drill_at"],
        are_backups_proven=proofs["are_proven"],
    )


def _by_age(moments: Any, now: datetime.datetime) -> dict[str, int]:
    found = dict.fromkeys([*AGES, "older"], 0)
    for at in moments:
        found[next((name for name, days in AGES.items() if now - at <= datetime.timedelta(days=days)), "older")] += 1
    return found

"""Differences: what was believed, and which memories stood, at one point of record time and at another."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q

from conflicts.history import BeliefQuery, Believed, believed_claims, claims
from conflicts.keys import Naming, naming
from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Claim, Namespace
from memories.models.history import events_of
from memories.models.namespace import parts_of
from memories.models.sql import fetch

Keys = Mapping[tuple[str, str | None, bytes], list[Believed]]
Names = Mapping[tuple[str, str | None], Naming]  # by namespace and user
MOST_CLAIMS = 2_000  # that changed between two points

# Which status memories had, and have; null where there were none yet, or are none any more.
MOVED = """
    SELECT b.status, a.status, count(*) FROM (
        SELECT DISTINCT ON (e.pgh_obj_id) e.pgh_obj_id, e.pgh_id,
            CASE WHEN e.pgh_label <> 'delete' THEN e.status END AS status
        FROM memories_fragmentevent e
        WHERE e.project_id = %(project)s AND e.namespace_id = ANY (%(namespaces)s)
            AND e.pgh_created_at > %(since)s AND e.pgh_created_at <= %(until)s
        ORDER BY e.pgh_obj_id, e.pgh_id DESC
    ) AS a
    LEFT JOIN LATERAL (
        SELECT CASE WHEN p.pgh_label <> 'delete' THEN p.status END AS status FROM memories_fragmentevent p
        WHERE p.project_id = %(project)s AND p.pgh_obj_id = a.pgh_obj_id AND p.pgh_id < a.pgh_id
            AND p.pgh_created_at <= %(since)s
        ORDER BY p.pgh_id DESC LIMIT 1
    ) AS b ON true
    WHERE a.status IS DISTINCT FROM b.status GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"""


class TooMuchChanged(NovaError):
    """More claims changed between two points than one answer tells."""

    code = "too_much_changed"
    title = "These points lie too far apart"


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """What was believed of a key at the one point, and at the other."""

    namespace: str
    user: str | None
    subject: str
    predicate: str
    before: Sequence[Believed]
    after: Sequence[Believed]


@dataclass(frozen=True, slots=True)
class StatusChange:
    """How many memories went from a status to another; None where there was no memory, or is none any more."""

    before: str | None
    after: str | None
    count: int


@dataclass(frozen=True, slots=True)
class TimelineDifference:
    """What two points differ in: keys of which something else is believed, and memories of another status."""

    keys: Sequence[KeyDifference]
    memories: Sequence[StatusChange]


def difference(
    principal: Principal,
    *,
    since: datetime.datetime,
    until: datetime.datetime,
    namespace: str | None = None,
    now: datetime.datetime,
) -> TimelineDifference:
    """Return what changed between two points of record time, of claims that hold at the later one.

    Raise NotFound for a namespace that is not covered, HistoryLetGo, and TooMuchChanged.
    """
    with access.enter(principal, why="difference"):
        rows = access.requested_scopes(principal, namespace)
        scopes, names = [scope.id for scope in rows], _names(principal, rows)
        changed = _changed(principal, scopes, since, until)
        sides = [
            _believed(principal, BeliefQuery(namespace=namespace, known_at=at, as_of=until), changed, now=now)
            for at in (since, until)
        ]
        values = {"project": principal.project_id, "namespaces": scopes, "since": since, "until": until}
        moved = [StatusChange(*row) for row in fetch(MOVED, values)]
    return TimelineDifference(_differing(*(_by_key(side, names) for side in sides)), moved)


# Standing claims on keys of which the two namespaces believe otherwise, each user beside the same user.
OTHERWISE = """
    WITH said AS MATERIALIZED (
        SELECT c.id, c.fragment_id, c.namespace_id = ANY (%(here)s) AS here, coalesce(n."user", '') AS whose,
            c.key_digest, c.value_digest, c.session_id
        FROM memories_claim c JOIN memories_namespace n ON n.project_id = c.project_id AND n.id = c.namespace_id
        WHERE c.project_id = %(project)s AND c.namespace_id = ANY (%(here)s::uuid[] || %(there)s::uuid[])
            AND c.status IN ('active', 'disputed') AND c.scope <> 'session'),
    keys AS (
        SELECT whose, key_digest FROM said GROUP BY whose, key_digest
        HAVING array_agg(DISTINCT value_digest) FILTER (WHERE here)
            IS DISTINCT FROM array_agg(DISTINCT value_digest) FILTER (WHERE NOT here))
    SELECT s.id, s.fragment_id FROM said s JOIN keys k ON k.whose = s.whose AND k.key_digest = s.key_digest
    LIMIT %(most)s"""


def compare(principal: Principal, namespace: str, other: str, *, now: datetime.datetime) -> list[KeyDifference]:
    """Return the keys of which two namespaces believe otherwise: `before` in the other, `after` in the first.

    Raise NotFound for one that is not covered, and TooMuchChanged.
    """
    with access.enter(principal, why="compare"):
        rows, others = (access.requested_scopes(principal, name) for name in (namespace, other))
        values: dict[str, Any] = {"project": principal.project_id, "most": MOST_CLAIMS + 1}
        values |= {"here": [row.id for row in rows], "there": [row.id for row in others]}
        claims_of = dict(fetch(OTHERWISE, values))
        changed = set(claims_of.values())
        if len(claims_of) > MOST_CLAIMS:
            raise TooMuchChanged(f"they differ in more than {MOST_CLAIMS:,} claims")
        sides = [_believed(principal, BeliefQuery(namespace=name), changed, now=now) for name in (other, namespace)]
        names = _names(principal, [*others, *rows], named=namespace)
    told = [[replace(one, namespace=parts_of(namespace)[0]) for one in side if one.id in claims_of] for side in sides]
    return _differing(*(_by_key(side, names) for side in told))


def _differing(before: Keys, after: Keys) -> list[KeyDifference]:
    """Return the keys of which something else is said, as the later point words them."""
    found = []
    for key in before.keys() | after.keys():
        sides = before.get(key, []), after.get(key, [])
        if _says(sides[0]) != _says(sides[1]):
            one = next(iter(sides[1] or sides[0]))
            found.append(KeyDifference(one.namespace, one.user, one.subject, one.predicate, *sides))
    return sorted(found, key=lambda one: (one.namespace, one.user or "", one.subject, one.predicate))


def _names(principal: Principal, rows: Sequence[Namespace], *, named: str | None = None) -> Names:
    """Return the names of each namespace and user; `named`: all of them are told as of that namespace."""
    names = naming(principal.project_id, [row.id for row in rows])
    root = named and parts_of(named)[0]
    return {(root or row.root_name, row.user): names[row.id] for row in rows}


def _changed(
    principal: Principal, scopes: Sequence[uuid.UUID], since: datetime.datetime, until: datetime.datetime
) -> set[uuid.UUID]:
    """Return the memories of which a claim changed."""
    events: Any = events_of(Claim).objects.filter(project=principal.project_id, namespace__in=scopes)
    found = events.filter(pgh_created_at__gt=since, pgh_created_at__lte=until).values_list("fragment", flat=True)
    changed = set(found.distinct()[: MOST_CLAIMS + 1])
    if len(changed) > MOST_CLAIMS:
        raise TooMuchChanged(f"the claims of more than {MOST_CLAIMS:,} memories changed: take points closer together")
    return changed


def _believed(
    principal: Principal, question: BeliefQuery, changed: set[uuid.UUID], *, now: datetime.datetime
) -> list[Believed]:
    rows = claims(principal, question, now=now).filter(Q(id__in=changed))
    return believed_claims(principal, list(rows))


def _by_key(found: Iterable[Believed], names: Names) -> Keys:
    """Return what is believed by key, in whatever spelling or by whichever alias it was said."""
    keys = defaultdict(list)
    for one in found:
        key = names[one.namespace, one.user].key(one.subject, one.predicate)
        keys[one.namespace, one.user, key.both].append(one)
    return keys


def _says(found: Iterable[Believed]) -> set[tuple[Any, ...]]:
    return {(one.value, one.valid_from, one.valid_until, one.session_id) for one in found}

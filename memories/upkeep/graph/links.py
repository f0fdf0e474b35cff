"""Similar links: each fragment chooses up to five nearest of its namespace, and whoever is chosen is linked both ways.

The state depends on the active vectors alone, not on the order in which they came (docs/decisions/0030). So a fragment
that changed chooses anew, and is offered to everybody to whom it is nearer than what they chose.
"""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Exists, OuterRef

from memories.models import EmbeddingModel, Link, Namespace, PendingConnection
from memories.models.enums import LinkKind
from memories.upkeep.graph.vectors import Near, Pair, best, likeness, neighbourhood

SOON = 20_000


@dataclass(slots=True)
class LinkChange:
    """What changes among the links of a namespace."""

    # (who chooses, who is chosen): how near they are
    chosen: dict[Pair, float] = field(default_factory=dict)
    dropped: set[Pair] = field(default_factory=set)
    # Whose choice is not known any more, because one that they had chosen went or changed.
    undecided: set[uuid.UUID] = field(default_factory=set)

    def ends(self) -> list[uuid.UUID]:
        """Return all fragments that it touches."""
        return sorted({end for pair in (*self.chosen, *self.dropped) for end in pair})


def plan(namespace: Namespace, ids: Sequence[uuid.UUID], *, model: EmbeddingModel) -> LinkChange:
    """Return what has to change so that these fragments are linked as they are now; nothing is written."""
    found = neighbourhood(namespace, ids, model=model, passed_over=_next(namespace) - set(ids))
    change = LinkChange()
    choices, choosers = _choices(namespace, ids), _choosers(namespace, ids)
    now_near = likeness(namespace, choosers, model=model)
    for pair, alike in choosers.items():
        if now_near.get(pair) != alike:
            change.dropped.add(pair)
            change.undecided.add(pair[0])
    for fragment_id in ids:
        _choose(change, fragment_id, had=choices.get(fragment_id, {}), wanted=found.nearest.get(fragment_id, []))
    _update_nearer(change, namespace, found.near)
    return change


def _next(namespace: Namespace) -> set[uuid.UUID]:
    """Return some of those that will choose for themselves soon, so that nothing has to be offered to them."""
    rows = PendingConnection.objects.within(namespace.project_id).order_by("id")
    return set(rows.values_list("fragment_id", flat=True)[:SOON])


def _update_nearer(change: LinkChange, namespace: Namespace, near: dict[uuid.UUID, Near]) -> None:
    """To whom one of the changed ones is nearer than what they chose, take it."""
    former = _choices(namespace, list(near))
    for other, offered in near.items():
        if other not in change.undecided:
            had = former.get(other, {})
            _choose(change, other, had=had, wanted=best(list((had | dict(offered)).items())))


def _choose(change: LinkChange, fragment_id: uuid.UUID, *, had: dict[uuid.UUID, float], wanted: Near) -> None:
    change.chosen |= {(fragment_id, other): alike for other, alike in wanted if had.get(other) != alike}
    change.dropped |= {(fragment_id, other) for other in had.keys() - dict(wanted).keys()}


def _choices(namespace: Namespace, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, dict[uuid.UUID, float]]:
    """Return whom these have chosen, and how near those are."""
    rows = Link.objects.within(namespace.project_id).filter(fragment__in=ids, kind=LinkKind.SIMILAR, chosen=True)
    found: dict[uuid.UUID, dict[uuid.UUID, float]] = defaultdict(dict)
    for one, other, alike in rows.values_list("fragment_id", "other_id", "similarity"):
        found[one][other] = alike
    return found


def _choosers(namespace: Namespace, ids: Sequence[uuid.UUID]) -> dict[Pair, float]:
    """(who, one of these): by whom these were chosen, and how near they were."""
    rows = Link.objects.within(namespace.project_id).filter(other__in=ids, kind=LinkKind.SIMILAR, chosen=True)
    found = rows.exclude(fragment__in=ids).values_list("fragment_id", "other_id", "similarity")
    return {(one, other): alike for one, other, alike in found}


def write(namespace: Namespace, change: LinkChange) -> None:
    """Write a change; those who are undecided are marked to choose anew. Locks both ends of every link first."""
    here = _lock_present(namespace, change.ends())
    chosen = {pair: alike for pair, alike in change.chosen.items() if here.issuperset(pair)}
    if change.dropped:
        _run(DROP, namespace, change.dropped)
    if chosen:
        _run(CHOOSE, namespace, chosen, list(chosen.values()))
    if change.dropped:
        _run(PART, namespace, change.dropped)
    marks = [
        PendingConnection(project_id=namespace.project_id, namespace=namespace, fragment_id=fragment_id)
        for fragment_id in sorted(change.undecided)
    ]
    PendingConnection.objects.bulk_create(marks)


def sweep(namespace: Namespace, ids: Sequence[uuid.UUID]) -> None:
    """Take similar links of these away that neither end chose."""
    links = Link.objects.within(namespace.project_id).filter(kind=LinkKind.SIMILAR)
    back = links.filter(chosen=True, fragment=OuterRef("other"), other=OuterRef("fragment"))
    for end in ("fragment", "other"):
        links.filter(~Exists(back), **{f"{end}__in": ids}, chosen=False).delete()


def _lock_present(namespace: Namespace, ids: list[uuid.UUID]) -> set[uuid.UUID]:
    """Return those that are still there, held so that they stay; they may change meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM memories_fragment WHERE project_id = %s AND id = ANY (%s) ORDER BY id FOR KEY SHARE",
            [namespace.project_id, ids],
        )
        return {row[0] for row in cursor}


DROP = """
    UPDATE memories_link l SET chosen = false FROM unnest(%(ones)s::uuid[], %(others)s::uuid[]) AS d (one, other)
    WHERE l.project_id = %(project)s AND l.fragment_id = d.one AND l.other_id = d.other AND l.kind = 'similar'"""
CHOOSE = """
    INSERT INTO memories_link AS l (id, project_id, fragment_id, other_id, kind, similarity, chosen)
    SELECT gen_random_uuid(), %(project)s, one, other, 'similar', min(alike), bool_or(chosen)
    FROM (
        SELECT one, other, alike, true FROM unnest(%(ones)s::uuid[], %(others)s::uuid[], %(alike)s::float8[])
            AS c (one, other, alike)
        UNION ALL
        SELECT other, one, alike, false FROM unnest(%(ones)s::uuid[], %(others)s::uuid[], %(alike)s::float8[])
            AS c (one, other, alike)
    ) AS way (one, other, alike, chosen)
    GROUP BY one, other
    ON CONFLICT (project_id, fragment_id, other_id, kind)
    DO UPDATE SET chosen = l.chosen OR excluded.chosen, similarity = excluded.similarity"""
# A pair of whom neither chose the other any more is not linked.
PART = """
    DELETE FROM memories_link l USING (
        SELECT one, other FROM unnest(%(ones)s::uuid[], %(others)s::uuid[]) AS d (one, other)
        UNION SELECT other, one FROM unnest(%(ones)s::uuid[], %(others)s::uuid[]) AS d (one, other)
    ) AS d
    WHERE l.project_id = %(project)s AND l.fragment_id = d.one AND l.other_id = d.other AND l.kind = 'similar'
        AND NOT EXISTS (
            SELECT FROM memories_link c WHERE c.project_id = %(project)s AND c.kind = 'similar' AND c.chosen
                AND (c.fragment_id, c.other_id) IN ((d.one, d.other), (d.other, d.one)))"""


def _run(
    statement: str, namespace: Namespace, pairs: set[Pair] | dict[Pair, float], alike: list[float] | None = None
) -> None:
    ones, others = map(list, zip(*pairs, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(statement, {"project": namespace.project_id, "ones": ones, "others": others, "alike": alike})

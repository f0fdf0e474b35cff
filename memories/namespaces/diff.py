"""Diff: each memory of a branch beside the one that it is elsewhere, and what became of either since."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from conflicts.enums import EDITED as EDITED_BY_PERSON
from conflicts.enums import PRECEDENT_REJECTED, REJECTED
from conflicts.rulings import fragment_ruled
from memories.models.enums import STANDING
from memories.models.fragment import BY_PERSON, CONTAINED, ROLLED_BACK
from memories.models.lineage import lineages_in, quoting
from memories.models.scoring import relevance_of
from memories.models.sql import execute, fetch
from memories.namespaces.copies import CopyRoute

# Every memory of both sides with the root of its line: copies of one memory have one, and so have those of one key.
# What is contained is nobody’s word: it goes nowhere, and where a copy comes to it stands for nothing.
SIDES = """
    CREATE TEMP TABLE branch_{side} ON COMMIT DROP AS
    SELECT f.id, CASE f.archived_reason WHEN '{contained}' THEN 'archived' ELSE f.status END AS status,
        f.revision, f.created_at, f.fingerprint, f.authority, f.compression,
        coalesce(o.root_id, f.id) AS root, f.key, o.origin_id,
        jsonb_build_array(f.extra -> 'trigger', f.extra -> 'steps') AS beside,
        CASE WHEN f.key <> '' THEN md5(f.key)::uuid ELSE coalesce(o.root_id, f.id) END AS line, o.revision AS base,
        (SELECT array_agg((c.key_digest, c.value_digest, c.scope, c.session_id) ORDER BY c.position)
            FROM memories_claim c WHERE c.project_id = f.project_id AND c.fragment_id = f.id)::text AS claim
    FROM memories_fragment f
    LEFT JOIN memories_origin o ON o.project_id = f.project_id AND o.fragment_id = f.id
    WHERE f.project_id = %(project)s AND f.namespace_id = %({side})s
        AND (f.archived_reason <> '{contained}' OR '{side}' = 'target')"""
# Of several of one line the copy of this very memory, else the one that stands, else the youngest.
PAIRS = """
    CREATE TEMP TABLE branch_pairs ON COMMIT DROP AS
    SELECT DISTINCT ON (s.id) s.id AS mine, t.id AS theirs, s.status, t.status AS their_status,
        s.revision > CASE WHEN t.origin_id = s.id THEN t.base ELSE coalesce(s.base, s.revision) END
            OR s.root <> t.root AS changed,
        t.revision > CASE WHEN s.origin_id = t.id THEN s.base ELSE coalesce(t.base, t.revision) END
            OR s.root <> t.root AS they_changed
    FROM branch_source s JOIN branch_target t ON t.line = s.line
    ORDER BY s.id, (t.origin_id = s.id) DESC NULLS LAST, (t.status IN ('active', 'disputed')) DESC,
        (t.status = 'quarantined') DESC, t.base DESC NULLS LAST, t.created_at DESC, t.id"""
# Changed in its words, the trigger and steps beside the text among them, or in what it claims; a text that was
# shortened says the same, and is not brought in place of a full one.
EDITED = """
    SELECT p.mine FROM branch_pairs p JOIN branch_source s ON s.id = p.mine JOIN branch_target t ON t.id = p.theirs
    WHERE p.changed AND s.status IN ('active', 'disputed', 'quarantined')
        AND (s.compression = 'full' AND (s.fingerprint <> t.fingerprint AND t.compression = 'full'
                OR s.claim IS DISTINCT FROM t.claim)
            OR s.compression IN ('full', t.compression) AND s.beside IS DISTINCT FROM t.beside)"""
OF_CONTAINED = f"""
    SELECT s.id FROM branch_source s JOIN branch_target t ON t.line = s.line
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id AND f.archived_reason = '{CONTAINED}'"""
# Says the same, and has nothing to bring: that stands or waits there, or a person put it away, or it is gone here too.
SAME = f"""
    SELECT p.mine, CASE WHEN f.archived_reason = ANY (%(by_people)s) THEN f.archived_reason
        WHEN t.status IN ('superseded', 'archived') THEN t.status ELSE 'repeats' END
    FROM branch_pairs p JOIN branch_source s ON s.id = p.mine JOIN branch_target t ON t.id = p.theirs
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id
    WHERE p.mine = ANY (%(ids)s) AND s.fingerprint = t.fingerprint AND s.claim IS NOT DISTINCT FROM t.claim
        AND s.beside IS NOT DISTINCT FROM t.beside AND f.archived_reason <> '{CONTAINED}'
        AND (t.status IN ('active', 'disputed', 'quarantined') OR f.archived_reason = ANY (%(by_people)s)
            OR s.status NOT IN ('active', 'disputed', 'quarantined'))"""
# Why a memory is archived that a person put away.
BY_PEOPLE = (BY_PERSON, ROLLED_BACK, REJECTED, EDITED_BY_PERSON, PRECEDENT_REJECTED)
# Without a counterpart: whether what it was there was forgotten, or evicted.
ALONE = """
    WITH alone AS MATERIALIZED (
        SELECT s.id, s.status, s.origin_id, s.root FROM branch_source s
        WHERE NOT EXISTS (SELECT FROM branch_target t WHERE t.line = s.line)),
    former AS MATERIALIZED (
        SELECT id, origin_id AS was FROM alone WHERE origin_id IS NOT NULL UNION SELECT id, root FROM alone
        UNION SELECT s.id, o.fragment_id FROM alone s JOIN memories_origin o ON o.project_id = %(project)s
            AND o.namespace_id = %(target)s AND o.root_id = s.root)
    SELECT s.id, s.status, bool_or(e.fragment_id IS NOT NULL), bool_or(d.original_id IS NOT NULL)
    FROM alone s JOIN former w ON w.id = s.id
    LEFT JOIN memories_erasure e ON e.project_id = %(project)s AND e.fragment_id = w.was
    LEFT JOIN memories_tombstone d ON d.project_id = %(project)s AND d.namespace_id = %(target)s
        AND d.original_id = w.was
    GROUP BY s.id, s.status"""
# Whose very words were forgotten on either side, or everywhere.
BARRED = """
    SELECT DISTINCT s.id FROM branch_source s
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = s.id
    JOIN memories_erasure e ON e.project_id = %(project)s
        AND e.fingerprint = ANY (nova_words_prints(f.project_id, f.content, f.extra))
        AND e.authority >= s.authority
        AND (e.namespace_id IS NULL OR e.namespace_id IN (%(source)s, %(target)s))"""
# Found by the line or by the source, each by its index; what a person chose counts as the chooser's.
RIVALS = f"""
    SELECT k.mine, t.id, greatest(t.authority, {fragment_ruled("t")}), {relevance_of("t")}, t.updated_at,
        bool_or(k.same)
    FROM (
        SELECT bs.id AS mine, bt.id AS theirs, true AS same
        FROM branch_source bs JOIN branch_target bt ON bt.line = bs.line WHERE bs.id = ANY (%(ids)s)
        UNION ALL
        SELECT s.id, o.id, false FROM memories_fragment s
        CROSS JOIN LATERAL (SELECT f.id FROM memories_fragment f WHERE f.project_id = %(project)s
            AND f.namespace_id = %(target)s AND f.source_id = s.source_id AND f.source_id <> ''
            AND f.conversation_id = s.conversation_id OFFSET 0) AS o
        WHERE s.project_id = %(project)s AND s.id = ANY (%(ids)s) AND s.source_id <> ''
    ) k
    JOIN memories_fragment t ON t.project_id = %(project)s AND t.id = k.theirs AND t.status = ANY (%(standing)s)
    GROUP BY k.mine, t.project_id, t.id ORDER BY k.mine, t.id"""
RELEVANCES = f"""
    SELECT f.id, {relevance_of("f")} FROM memories_fragment f
    WHERE f.project_id = %(project)s AND f.id = ANY (%(ids)s)"""


@dataclass(frozen=True, slots=True)
class BranchRival:
    """A standing memory of the target that is the same one by its line, or comes from the same source."""

    id: uuid.UUID
    authority: int
    relevance: float
    updated_at: datetime.datetime
    same_line: bool


@dataclass(slots=True)
class Lineup:
    """What a merge has to look at: ids of the source's memories."""

    # To be replayed through the gate: new ones, and those whose words changed.
    coming: list[uuid.UUID]
    # Superseded or archived before they were ever here: history.
    history: list[uuid.UUID]
    forgotten: list[uuid.UUID]
    evicted: list[uuid.UUID]
    # What each memory of the source is in the target.
    counterparts: dict[uuid.UUID, uuid.UUID]
    # Of those that were asked for: what has nothing to bring, and why.
    idle: dict[uuid.UUID, str] = field(default_factory=dict)

    def restrict(self, way: CopyRoute, ids: set[uuid.UUID]) -> None:
        """Let just these of the source come, also where their counterpart changed, or left; never what was forgotten.

        Those whose counterpart says the same, and stands or was put away by a person, have nothing to bring, nor have
        those that are gone on both sides; and those of which one is contained may not.
        """
        values = {**way.values, "ids": list(ids), "by_people": list(BY_PEOPLE)}
        self.idle = {own: why for own, why in fetch(SAME, values) if own not in self.forgotten}
        kept_out = {*self.idle, *self.forgotten, *(i for (i,) in fetch(OF_CONTAINED, way.values))}
        rows = fetch("SELECT id FROM branch_source WHERE id = ANY (%s) ORDER BY created_at, id", [list(ids)])
        self.coming = [i for (i,) in rows if i not in kept_out]
        self.forgotten = [i for i in self.forgotten if i in ids]
        self.history, self.evicted = [], []


@contextmanager
def at_once() -> Iterator[None]:
    """Joins by hashing: a plan from before a table grew would read all of it for each row."""
    execute("SET LOCAL enable_nestloop = off", [])
    yield
    execute("SET LOCAL enable_nestloop = on", [])


def compare_namespaces(way: CopyRoute) -> Lineup:
    """Compare both namespaces; leaves `branch_source`, `branch_target` and `branch_pairs` for `carrying`."""
    with at_once():
        for side in ("source", "target"):
            execute(SIDES.format(side=side, contained=CONTAINED), way.values)
            execute(f"CREATE INDEX ON branch_{side} (line); CREATE UNIQUE INDEX ON branch_{side} (id)", [])
            execute(f"ANALYZE branch_{side}", [])
        execute(PAIRS, [])
        execute("CREATE UNIQUE INDEX ON branch_pairs (mine); ANALYZE branch_pairs", [])
        found = Lineup([own for (own,) in fetch(EDITED, [])], [], [], [], {})
        barred = {own for (own,) in fetch(BARRED, way.values)}
        alone = fetch(ALONE, way.values)
    here = {own for own, *_ in alone}
    barred = (barred & here) | {own for own, _, forgotten, _ in alone if forgotten}
    digests = {i: lineage for i, lineage in lineages_in(way.source.project_id, way.source.id).items() if i in here}
    barred |= quoting(way.source.project_id, way.target.id, digests, barred=barred)
    for own, status, _, evicted in alone:
        if own in barred or evicted:
            (found.forgotten if own in barred else found.evicted).append(own)
        else:
            (found.coming if status in (*STANDING, "quarantined") else found.history).append(own)
    found.counterparts = dict(fetch("SELECT mine, theirs FROM branch_pairs", []))
    return found


def rivals_of(
    way: CopyRoute, ids: Sequence[uuid.UUID], *, now: datetime.datetime
) -> dict[uuid.UUID, list[BranchRival]]:
    """Return who stands in the target for the same memory or source, by the id of the one that comes."""
    found: dict[uuid.UUID, list[BranchRival]] = defaultdict(list)
    for own, *rival in fetch(RIVALS, {**_values(way, ids, now), "standing": list(STANDING)}):
        found[own].append(BranchRival(*rival))
    return found


def relevances(way: CopyRoute, ids: Sequence[uuid.UUID], *, now: datetime.datetime) -> dict[uuid.UUID, float]:
    """Return what decay left of each memory by now."""
    return dict(fetch(RELEVANCES, _values(way, ids, now)))


def _values(way: CopyRoute, ids: Sequence[uuid.UUID], now: datetime.datetime) -> dict[str, Any]:
    return {**way.values, **way.source.project.rates_in_force.params, "ids": list(ids), "now": now}

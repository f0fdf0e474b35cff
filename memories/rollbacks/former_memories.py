"""Memories as they were: status, place in belief and text of what changed since, what came since, what left."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from conflicts.enums import EDITED, PRECEDENT_REJECTED, REJECTED, UNDONE
from conflicts.former_periods import cut_by_nothing
from conflicts.public import reopen_periods
from conflicts.search_index import find_forgotten_texts, reindex_texts
from memories import upkeep
from memories.erasure import reinstate
from memories.language import route
from memories.models import Archive, Claim, Fragment, Link, Operation, Tombstone
from memories.models.enums import STANDING, LinkKind, Status
from memories.models.fragment import BY_HAND, BY_PERSON, CONTAINED, ROLLED_BACK
from memories.models.history import stage_former
from memories.models.sql import execute, fetch
from memories.providers import active_model

EVENT = (
    *("status", "superseded_by_id", "revision", "fingerprint", "details_digest", "compression"),
    *("reinforcements", "disputes", "corroboration"),
)
# Columns that row history holds and that become what they were as they stand there.
PLAIN = (
    *("type", "outcome", "importance", "emotional_valence", "is_pinned", "is_anchor", "tier", "base_relevance"),
    "event_at",
)
# Why a memory may have been put away, which history holds in a digest only.
REASONS = [
    *("", BY_HAND, BY_PERSON, ROLLED_BACK, CONTAINED, REJECTED, EDITED, PRECEDENT_REJECTED, UNDONE),
    *("decayed", "digested", "superseded", "disputed", "quarantined", "active"),
]
# What is contained stays so: by a rollback nobody takes a containment back.
KEPT = f"""
    DROP TABLE IF EXISTS pg_temp.kept_fragment;
    CREATE TEMP TABLE kept_fragment ON COMMIT DROP AS
        SELECT f.id FROM memories_fragment f WHERE f.project_id = %(project)s
            AND f.namespace_id = ANY (%(namespaces)s) AND f.archived_reason = '{CONTAINED}'"""
# Whose status has its cause gone is let be, too: a winner, an opponent or a dispute that was forgotten or is contained.
STAGED = f"""
    ALTER TABLE former_fragment ADD archived_reason text;
    UPDATE former_fragment t
    SET archived_reason = coalesce(r.reason, CASE t.status WHEN 'archived' THEN '{BY_PERSON}' ELSE '' END)
    FROM memories_fragment f JOIN memories_project p ON p.id = f.project_id
    LEFT JOIN LATERAL (
        SELECT reason FROM unnest(ARRAY[f.archived_reason] || %(reasons)s::varchar[]) AS reason, former_fragment u
        WHERE u.id = f.id AND u.details_digest
            = nova_details_digest(p.salt, jsonb_populate_record(f, jsonb_build_object('archived_reason', reason)))
        LIMIT 1) AS r ON true
    WHERE t.was_there AND f.project_id = %(project)s AND f.id = t.id;
    INSERT INTO kept_fragment SELECT t.id FROM former_fragment t
        WHERE t.archived_reason = '{CONTAINED}' AND NOT EXISTS (SELECT FROM kept_fragment k WHERE k.id = t.id);
    INSERT INTO kept_fragment SELECT t.id FROM former_fragment t
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id
    WHERE t.was_there AND (t.status, t.superseded_by_id) IS DISTINCT FROM (f.status, f.superseded_by_id) AND (
        t.superseded_by_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM memories_fragment s WHERE s.project_id = %(project)s AND s.id = t.superseded_by_id
                AND s.archived_reason <> '{CONTAINED}')
        OR t.status = 'disputed' AND EXISTS (
            SELECT FROM conflicts_vote v WHERE v.project_id = %(project)s AND v.fragment_id = t.id
                AND v.ballot = 'dispute'
            HAVING bool_or(NOT v.counted) AND t.disputes > count(*) FILTER (WHERE v.counted))
        OR t.status = 'quarantined' AND NOT EXISTS (
            SELECT FROM conflicts_pendingconflict p LEFT JOIN former_conflict c ON c.id = p.id
            LEFT JOIN memories_fragment o
                ON o.project_id = p.project_id AND o.id = coalesce(c.existing_id, p.existing_id)
            WHERE p.project_id = %(project)s AND p.newcomer_id = t.id
                AND o.archived_reason IS DISTINCT FROM '{CONTAINED}'
                AND CASE WHEN c.id IS NULL THEN p.resolved_at IS NULL ELSE c.was_there AND c.resolution = '' END))"""
HELD = """
    SELECT count(*) FROM (
        SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id IN (SELECT id FROM former_fragment)
        ORDER BY f.id FOR NO KEY UPDATE OF f) AS held"""
LEFT_SINCE = """
    SELECT t.id FROM former_fragment t WHERE t.was_there
        AND NOT EXISTS (SELECT FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id = t.id)"""
SET_ASIDE = f"""
    UPDATE memories_fragment f SET status = 'archived', archived_reason = '{ROLLED_BACK}', updated_at = %(now)s,
        revision = f.revision + 1
    FROM former_fragment t WHERE f.project_id = %(project)s AND f.id = t.id AND NOT t.was_there
        AND f.archived_reason NOT IN ('{CONTAINED}', '{ROLLED_BACK}')
        AND (f.status <> 'archived' OR f.archived_reason NOT IN ('{BY_PERSON}', '{REJECTED}'))
    RETURNING f.id"""
# Who took nobody's place by what stands now.
UNLINKED = """
    DELETE FROM memories_link l WHERE l.project_id = %(project)s AND l.kind = 'supersedes'
        AND (l.fragment_id = ANY (%(ids)s) OR l.other_id = ANY (%(ids)s))
        AND NOT EXISTS (SELECT FROM memories_fragment o WHERE o.project_id = l.project_id AND o.id = l.other_id
            AND o.superseded_by_id = l.fragment_id AND o.status = 'superseded')"""
LET_BE = f"""
    SELECT t.id, f.archived_reason = '{CONTAINED}' OR t.archived_reason = '{CONTAINED}' FROM kept_fragment k
    JOIN former_fragment t ON t.id = k.id
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id"""
VOTES_LOST = """
    SELECT t.id FROM former_fragment t JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id
    WHERE t.was_there AND (f.reinforcements, f.disputes, f.corroboration)
            IS DISTINCT FROM (t.reinforcements, t.disputes, t.corroboration)
        AND NOT EXISTS (SELECT FROM kept_fragment k WHERE k.id = t.id)"""
# How those that come back had left: kept before they do, and logged once they are there.
LEFT = ("memories_tombstone", "memories_archive")
DEPARTED = """
    DROP TABLE IF EXISTS pg_temp.departed;
    CREATE TEMP TABLE departed ON COMMIT DROP AS
    SELECT 'memories_tombstone' AS place, t.original_id AS fragment_id, t.id, to_jsonb(t) AS row
    FROM memories_tombstone t WHERE t.project_id = %(project)s AND t.original_id = ANY (%(ids)s)
    UNION ALL SELECT 'memories_archive', a.fragment_id, a.id, to_jsonb(a)
    FROM memories_archive a WHERE a.project_id = %(project)s AND a.fragment_id = ANY (%(ids)s)
        AND a.reason <> 'compacted'"""
DEPARTURES = """
    INSERT INTO memories_runchange (id, project_id, operation_id, fragment_id, place, row_id, before, after)
    SELECT gen_random_uuid(), f.project_id, %(operation)s, f.id, d.place, d.id, d.row, ''
    FROM departed d JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = d.fragment_id"""
DEPART_AGAIN = """
    INSERT INTO {0} SELECT (jsonb_populate_record(NULL::{0}, c.before)).* FROM memories_runchange c
    WHERE c.project_id = %(project)s AND c.operation_id = %(run)s AND c.place = '{0}' ON CONFLICT DO NOTHING"""
KEPT_TOO = f"""
    INSERT INTO kept_fragment SELECT f.id FROM memories_fragment f WHERE f.project_id = %(project)s
        AND f.id = ANY (%(ids)s) AND f.archived_reason = '{CONTAINED}'
        AND NOT EXISTS (SELECT FROM kept_fragment k WHERE k.id = f.id)"""
# Tags and the like, which history holds in a digest only.
DIFFER = """
    SELECT t.id FROM former_fragment t JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id
    WHERE t.was_there AND f.details_digest <> t.details_digest AND f.fingerprint = t.fingerprint
        AND NOT EXISTS (SELECT FROM kept_fragment k WHERE k.id = t.id)"""
SET = [*("status", "archived_reason", "superseded_by_id"), *PLAIN]
AS_THEY_WERE = f"""
    UPDATE memories_fragment f SET {", ".join(f"{name} = t.{name}" for name in SET)}, updated_at = %(now)s,
        revision = f.revision + 1
    FROM (
        SELECT t.* FROM former_fragment t WHERE t.was_there
            AND NOT EXISTS (SELECT FROM kept_fragment k WHERE k.id = t.id)) AS t
    WHERE f.project_id = %(project)s AND f.id = t.id
        AND ({", ".join(f"f.{name}" for name in SET)}) IS DISTINCT FROM ({", ".join(f"t.{name}" for name in SET)})
    RETURNING f.id"""
TEXTS = """
    SELECT t.id, t.compression, coalesce(r.content, f.content), t.fingerprint
    FROM former_fragment t JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.id
    LEFT JOIN LATERAL (
        SELECT v.content FROM memories_revision v
        WHERE v.project_id = f.project_id AND v.fragment_id = f.id AND v.revision >= t.revision
        ORDER BY v.revision LIMIT 1) AS r ON true
    WHERE t.was_there AND NOT EXISTS (SELECT FROM kept_fragment k WHERE k.id = t.id)
        AND (coalesce(r.content, f.content) <> f.content OR f.fingerprint <> t.fingerprint)
    ORDER BY t.id"""


@dataclass(slots=True)
class MemoryRollback:
    """What a rollback changed of memories, and what it let be, by why."""

    set_aside: set[uuid.UUID] = field(default_factory=set)
    returned: set[uuid.UUID] = field(default_factory=set)
    changed: set[uuid.UUID] = field(default_factory=set)
    texts: set[uuid.UUID] = field(default_factory=set)
    let_be: dict[str, set[uuid.UUID]] = field(default_factory=dict)


def stage_memories(project_id: uuid.UUID, namespace_ids: Sequence[uuid.UUID], at: datetime.datetime) -> None:
    """Read how memories stood, into temporary tables, and hold those that changed since."""
    stage_former(Fragment, "fragment", (*EVENT, *PLAIN), project_id=project_id, namespace_ids=namespace_ids, at=at)
    values = {"project": project_id, "namespaces": list(namespace_ids)}
    execute(KEPT, values)
    fetch(HELD, values)


def bring_back_evicted(operation: Operation, done: MemoryRollback, *, now: datetime.datetime) -> None:
    """Bring back what left since, as far as a copy is kept and nobody forgot it; how it had left is kept for the undo.

    The gate is not asked: they stand as they stood.
    """
    project_id = operation.project_id
    left = {i for (i,) in fetch(LEFT_SINCE, {"project": project_id})}
    stones = Tombstone.objects.within(project_id).filter(original_id__in=left).order_by("id")
    evicted = set(stones.select_for_update().values_list("original_id", flat=True))
    whole = Archive.objects.within(project_id).of(evicted).whole()
    copies = {copy.fragment_id: copy for copy in whole}  # the last one of each
    values = {"project": project_id, "operation": operation.id, "ids": list(copies)}
    execute(DEPARTED, values)
    back = upkeep.lifecycle.bring_back(list(copies.values()), now=now, unheard=True)
    execute(DEPARTURES, values)
    execute(KEPT_TOO, values)
    done.returned = set(back.as_it_was)
    done.let_be["forgotten"] = left - evicted | set(back.forgotten)
    done.let_be["purged"] = evicted - done.returned - set(back.forgotten)


def depart_again(run: Operation) -> None:
    """Let a tombstone and a copy stand again for each memory that came back; they go with the undo."""
    for table in LEFT:
        execute(DEPART_AGAIN.format(table), {"project": run.project_id, "run": run.id})


def roll_back_memories(project_id: uuid.UUID, done: MemoryRollback, *, now: datetime.datetime) -> None:
    """Let memories have the status that they had, and set aside what came since. How belief stood is staged too."""
    values = {"project": project_id, "now": now}
    execute(STAGED, {**values, "reasons": REASONS})
    done.set_aside = {i for (i,) in fetch(SET_ASIDE, values)}
    done.changed = {i for (i,) in fetch(AS_THEY_WERE, values)}
    kept = dict(fetch(LET_BE, values))
    done.let_be["contained"] = {i for i, contained in kept.items() if contained}
    without_text = done.let_be["text_lost"] | done.let_be["text_forgotten"]
    done.let_be["cause_forgotten"] = kept.keys() - done.let_be["contained"] - without_text
    done.let_be["details"] = {i for (i,) in fetch(DIFFER, values)}


def roll_back_texts(project_id: uuid.UUID, done: MemoryRollback, *, now: datetime.datetime) -> None:
    """Give memories the texts back that they had, but for those that were forgotten or of which no copy is kept."""
    then = fetch(TEXTS, {"project": project_id})
    rows = Fragment.objects.within(project_id).in_bulk([i for i, *_ in then])
    originals = Archive.objects.within(project_id).originals(rows.values())
    texts: dict[uuid.UUID, tuple[str, str]] = {}
    for fragment_id, compression, content, fingerprint in then:
        kept = [content, originals.get(fragment_id, content)]
        pairs = zip(kept, _fingerprints(project_id, kept), strict=True)
        said = [text for text, known in pairs if known == bytes(fingerprint)]
        texts |= {fragment_id: (said[0], compression)} if said else {}
    asked = [(rows[i].namespace_id, text, rows[i].authority) for i, (text, _) in texts.items()]
    barred = {list(texts)[n] for n in find_forgotten_texts(project_id, asked)}
    done.let_be |= {"text_lost": rows.keys() - texts.keys(), "text_forgotten": barred}
    # What it claimed stands in its text: none comes back without the other.
    execute("INSERT INTO kept_fragment SELECT unnest(%s::uuid[])", [[*(rows.keys() - texts.keys()), *barred]])
    done.texts = texts.keys() - barred
    for fragment_id in sorted(done.texts):
        row = rows[fragment_id]
        row.content, row.compression = texts[fragment_id]
        read = route(row.content).derived
        row.entities, row.topics = read["entities"], read["topics"]
        row.updated_at, row.revision = now, row.revision + 1
        row.save(update_fields=["content", "compression", "entities", "topics", "updated_at", "revision"])
    reindex_texts(project_id, done.texts, model=active_model())


def stand_again(
    project_id: uuid.UUID, done: MemoryRollback, *, claimed: Collection[uuid.UUID], now: datetime.datetime
) -> None:
    """Hear anew whom only what is set aside stands in the way of, for what they had lost to is gone.

    Of the `claimed`, whose claims are as they were, those go on that ended where what is gone began.
    """
    rows = Fragment.objects.within(project_id).filter(id__in=done.let_be["cause_forgotten"], status=Status.SUPERSEDED)
    lost = list(rows.exclude(superseded_by__status__in=STANDING).order_by("-authority", "-created_at", "id"))
    claims = Claim.objects.by_fragment(project_id, [row.id for row in lost])
    reinstate(project_id, {row.id: [claim.id for claim in claims.get(row.id, ())] for row in lost}, now=now)
    reopen_periods(project_id, cut_by_nothing(project_id, claimed), now=now)


def votes_lost(project_id: uuid.UUID) -> set[uuid.UUID]:
    """Return the memories of which votes that counted then are not kept, or count no more; after belief is as then."""
    return {i for (i,) in fetch(VOTES_LOST, {"project": project_id})}


def link_successors(project_id: uuid.UUID, fragment_ids: Iterable[uuid.UUID]) -> None:
    """Let links say of these memories who took whose place, as far as that is so."""
    ids = list(fragment_ids)
    execute(UNLINKED, {"project": project_id, "ids": ids})
    replaced = Fragment.objects.within(project_id).filter(id__in=ids, status=Status.SUPERSEDED)
    pairs = replaced.exclude(superseded_by=None).values_list("superseded_by_id", "id")
    links = [Link(project_id=project_id, fragment_id=one, other_id=o, kind=LinkKind.SUPERSEDES) for one, o in pairs]
    Link.objects.bulk_create(links, ignore_conflicts=True)


def _fingerprints(project_id: uuid.UUID, texts: Sequence[str]) -> list[bytes]:
    rows = fetch(
        "SELECT nova_fingerprint(%s, t) FROM unnest(%s::text[]) WITH ORDINALITY AS u (t, n) ORDER BY n",
        [project_id, list(texts)],
    )
    return [bytes(found) for (found,) in rows]

"""Compaction: what was not used for long keeps its first sentences, then its words, then its vector.

Claim, authority, entities, topics, times and vector stay; the former text goes to the archive, not to the revisions.
"""

import datetime
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from django.conf import settings

from conflicts.search_index import BlockedByErasure, find_forgotten_texts, index_keywords
from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.ingest.updates import fragment_for_change
from memories.language.abridgement import ARCHIVED, keywords, summarise
from memories.models import Archive, Fragment, Operation, Revision
from memories.models.bulk import insert
from memories.models.enums import Compression, CopyReason, Tier
from memories.models.sql import execute, fetch
from memories.operations import BadOptions, Options, Progress
from memories.upkeep.failures import SetAside
from memories.upkeep.lifecycle.removal import BATCH, lock_fragments
from memories.upkeep.lifecycle.restoration import Purged
from memories.upkeep.lifecycle.snapshots import copy_of
from memories.upkeep.protections import IN_NAMESPACE, STAYS_READABLE, is_spared, refuse_hiding
from memories.upkeep.thresholds import compaction_days

LEVELS = list(Compression.values)  # each says less than the one before
DAYS = {Compression(level): days for level, days in settings.COMPACTION_DAYS.items()}
MOST_DAYS, MOST_TOLD = 36_500, 1000
SHORTEN: Mapping[str, Callable[[str], str]] = {
    Compression.SUMMARY: summarise,
    Compression.KEYWORDS: keywords,
    Compression.HASH: lambda _: ARCHIVED,
}

# How far a fragment is to be shortened, 0 (not) to 3, by the days since it was written, changed or read; what the user
# said and what is believed keep their first sentences.
LAST_USED = "greatest(f.created_at, f.updated_at, coalesce(a.last_accessed_at, f.created_at))"
DUE = f"""CASE WHEN {LAST_USED} > %(summary)s THEN 0 WHEN {LAST_USED} > %(keywords)s OR {STAYS_READABLE} THEN 1
    WHEN {LAST_USED} > %(hash)s THEN 2 ELSE 3 END"""
LEVEL = "array_position(ARRAY['full', 'summary', 'keywords', 'hash'], f.compression::text) - 1"
PRESERVED = f"({is_spared(within=IN_NAMESPACE)} OR f.is_pinned OR f.is_anchor OR f.key <> '')"
# People compare the texts of what waits for a decision.
WAITING = """(f.status = 'quarantined' OR EXISTS (SELECT FROM conflicts_pendingconflict p
    WHERE p.project_id = f.project_id AND p.resolved_at IS NULL AND p.existing_id = f.id))"""
WHERE = """
    FROM memories_fragment f
    LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
    WHERE f.project_id = %(project)s AND (%(namespace)s::uuid IS NULL OR f.namespace_id = %(namespace)s)
        AND (%(tier)s::text IS NULL OR f.tier = %(tier)s)
"""
COUNTS = f"""
    SELECT count(*) FILTER (WHERE {DUE} > {LEVEL} AND {PRESERVED}), count(*) FILTER (WHERE {DUE} BETWEEN 1 AND {LEVEL}),
        count(*) FILTER (WHERE {DUE} > {LEVEL} AND NOT {PRESERVED} AND NOT {WAITING})
    {WHERE}
"""
PAGE = f"""
    SELECT f.id, {DUE} {WHERE} AND {DUE} > {LEVEL} AND NOT {PRESERVED} AND NOT {WAITING}
        AND f.id > %(after)s ORDER BY f.id LIMIT {BATCH}
"""
STILL = f"SELECT f.id, {DUE} {WHERE} AND f.id = ANY (%(ids)s) AND {DUE} > {LEVEL} AND NOT {PRESERVED} AND NOT {WAITING}"
WAITS = f"SELECT 1 FROM memories_fragment f WHERE f.project_id = %s AND f.id = %s AND {WAITING}"
REPLACE = """
    UPDATE memories_fragment f SET content = t.content, compression = t.compression
    FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS t (id, content, compression)
    WHERE f.project_id = %s AND f.id = t.id
"""


class WaitsForDecision(NovaError):
    """A person has to see its text as it is, to decide on it."""

    code = "waits_for_decision"


def check_compaction(options: Options) -> None:
    """Raise BadOptions unless they are `tier` and the days `summary_days`, `keywords_days`, `hash_days`."""
    names = [f"{level}_days" for level in DAYS]
    if unknown := set(options) - {"tier", *names}:
        raise BadOptions("options", f"Unknown: {', '.join(sorted(unknown))}. Known are tier, {', '.join(names)}.")
    if "tier" in options and options["tier"] not in Tier.values:
        raise BadOptions("options", f"tier is one of: {', '.join(Tier.values)}.")
    for name in names:
        days = options.get(name, 1)
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
            raise BadOptions("options", f"{name} is a whole number from 1 to {MOST_DAYS}.")


def compact(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Shorten all that is old enough, batch by batch; go on after the saved cursor.

    The report: `compacted_count`, of those old enough `skipped_high_weight` and `already_compressed`,
    `compacted_ids` (the first thousand). A dry run tells the counts.
    """
    now, options, aside = operation.started_at or operation.created_at, operation.options, SetAside("compact")
    params = _asked_of(operation, options, now)
    at = operation.cursor or {"after": str(uuid.UUID(int=0)), "ids": []}
    with access.enter(principal, why="compact"):
        ((heavy, already, due),) = fetch(COUNTS, params)
    report = {"skipped_high_weight": heavy, "already_compressed": already}
    if operation.dry_run:
        return {"compacted_count": 0, "would_compact": due, **report, "compacted_ids": []}
    done, total = operation.done, operation.done + due
    while True:
        with access.enter(principal, why="compact"):
            page = fetch(PAGE, {**params, "after": at["after"]})
            if not page:
                return {"compacted_count": done, **report, "compacted_ids": at["ids"], **aside.report()}
            held = lock_fragments(principal.project_id, [row[0] for row in page])
            shortened = aside.together(
                fetch(STILL, {**params, "ids": held}),
                lambda rows: _shorten(
                    principal, {i: LEVELS[level] for i, level in rows}, operation_id=operation.id, now=now
                ),
                name=itemgetter(0),
            )
            done += len(shortened)
            at = {"after": str(page[-1][0]), "ids": [*at["ids"], *map(str, shortened)][:MOST_TOLD]}
            progress.save(stage="compact", done=done, total=total, cursor=at)
        progress.check()


def _asked_of(operation: Operation, options: Options, now: datetime.datetime) -> dict[str, Any]:
    days = compaction_days(operation)
    before = {str(level): now - datetime.timedelta(days=number) for level, number in days.items()}
    namespace = {"project": operation.project_id, "namespace": operation.namespace_id, "tier": options.get("tier")}
    return {**before, **namespace, "now": now}


def compact_one(principal: Principal, fragment_id: uuid.UUID, *, level: str, now: datetime.datetime) -> dict[str, Any]:
    """Shorten one fragment whatever its age, or with the level `full` gives it its text back; the report of `compact`.

    Only its owner or a person leaves less than the first sentences of what the user said or what is believed.
    Raise NotFound, NotPermitted, WaitsForDecision, Purged when the archive does not hold the text any more, and
    BlockedByErasure when it was forgotten.
    """
    with access.enter(principal, why="compact"):
        row = fragment_for_change(principal, fragment_id)
        report = {"compacted_count": 0, "skipped_high_weight": 0, "already_compressed": 0, "compacted_ids": []}
        if level == Compression.FULL:
            _restore_text(row)
            return report
        if LEVELS.index(row.compression) >= LEVELS.index(level):
            return {**report, "already_compressed": 1}
        if _is_preserved(row):
            return {**report, "skipped_high_weight": 1}
        if fetch(
            f"SELECT 1 FROM memories_fragment f WHERE project_id = %s AND id = %s AND {WAITING}",
            [row.project_id, row.id],
        ):
            raise WaitsForDecision("somebody has to decide on this memory first")
        if level != Compression.SUMMARY:
            refuse_hiding(principal, row, STAYS_READABLE, now=now)
        shortened = _shorten(principal, {row.id: level}, operation_id=None, now=now)
        return {**report, "compacted_count": len(shortened), "compacted_ids": [str(each) for each in shortened]}


def _is_preserved(row: Fragment) -> bool:
    """Return whether it is kept as it is for its importance, a pin or an anchor."""
    spared = is_spared("%(id)s", within=IN_NAMESPACE)
    params = {"project": row.project_id, "namespace": row.namespace_id, "id": row.id}
    return row.is_pinned or row.is_anchor or bool(fetch(f"SELECT {spared}", params)[0][0])


def _shorten(
    principal: Principal, levels: Mapping[uuid.UUID, str], *, operation_id: uuid.UUID | None, now: datetime.datetime
) -> list[uuid.UUID]:
    """Shorten these fragments, which the caller holds, and keep a copy of each text; those that were.

    What would read like a forgotten text is left as it is.
    """
    rows = list(Fragment.objects.within(principal.project_id).filter(id__in=levels).order_by("id"))
    originals = Archive.objects.within(principal.project_id).originals(rows)
    texts = [SHORTEN[levels[row.id]](originals.get(row.id, row.content)) for row in rows]
    texts_asked = [(row.namespace_id, text, row.authority) for row, text in zip(rows, texts, strict=True)]
    forgotten = set(find_forgotten_texts(principal.project_id, texts_asked))
    chosen = [(row, text) for index, (row, text) in enumerate(zip(rows, texts, strict=True)) if index not in forgotten]
    insert(
        [
            copy_of(
                *(row.project_id, row.namespace_id, row.id),
                json.dumps({"fragment": _former(row), "made": {"content": text, "compression": levels[row.id]}}),
                reason=CopyReason.COMPACTED,
                operation_id=operation_id,
                now=now,
            )
            for row, text in chosen
        ]
    )
    _replace(principal.project_id, [(row, text, levels[row.id]) for row, text in chosen])
    return [row.id for row, _ in chosen]


def _former(row: Fragment) -> dict[str, Any]:
    return {"content": row.content, "compression": row.compression, "revision": row.revision}


def _replace(project_id: uuid.UUID, changes: Sequence[tuple[Fragment, str, str]]) -> None:
    """Set texts and levels. The revision goes on counting, but no former text is kept among the revisions."""
    if not changes:
        return
    ids = [row.id for row, _, _ in changes]
    kept = set(Revision.objects.within(project_id).filter(fragment__in=ids).values_list("id", flat=True))
    execute(REPLACE, [ids, [text for _, text, _ in changes], [level for _, _, level in changes], project_id])
    Revision.objects.within(project_id).filter(fragment__in=ids).exclude(id__in=kept).delete()
    index_keywords(ids)


def undo_compaction(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Give back what an operation shortened. `stale` counts what was changed since, and what was forgotten."""
    report = {"restored": 0, "stale": 0}
    after = uuid.UUID(int=0)
    while True:
        with access.enter(principal, why="undo"):
            rows = Archive.objects.within(principal.project_id).filter(
                operation_id=operation.id, reason=CopyReason.COMPACTED, id__gt=after
            )
            copies = list(rows.order_by("id")[:BATCH])
            if not copies:
                return report
            after = copies[-1].id
            restored = _take_back(principal, copies)
            report["restored"] += restored
            report["stale"] += len(copies) - restored
            progress.save(stage="restore", done=sum(report.values()), total=None)
        progress.check()


def _take_back(principal: Principal, copies: Sequence[Archive]) -> int:
    """Return how many of the texts could be given back: those that still read as the compaction left them."""
    project_id, held = principal.project_id, {copy.fragment_id: (copy, copy.unpacked()) for copy in copies}
    rows = Fragment.objects.within(project_id).filter(id__in=held).order_by("id").select_for_update()
    same = [row for row in rows if held[row.id][1]["made"] == {"content": row.content, "compression": row.compression}]
    texts = [(row.namespace_id, held[row.id][1]["fragment"]["content"], row.authority) for row in same]
    forgotten = set(find_forgotten_texts(project_id, texts))
    chosen = [(row, held[row.id]) for index, row in enumerate(same) if index not in forgotten]
    _replace(
        project_id, [(row, was["fragment"]["content"], was["fragment"]["compression"]) for row, (_, was) in chosen]
    )
    Archive.objects.within(project_id).filter(id__in=[copy.id for _, (copy, _) in chosen]).delete()
    return len(chosen)


def _restore_text(row: Fragment) -> None:
    """The text as it was said, in place of what is left of it."""
    if row.compression == Compression.FULL:
        return
    copies = Archive.objects.within(row.project_id)
    original = copies.originals([row]).get(row.id)
    if original is None:
        raise Purged("the archive does not hold the text of this memory any more")
    if find_forgotten_texts(row.project_id, [(row.namespace_id, original, row.authority)]):
        raise BlockedByErasure(index=0)
    _replace(row.project_id, [(row, original, Compression.FULL)])
    copies.of([row.id]).filter(reason=CopyReason.COMPACTED).delete()

"""Diff: what is to become of each fragment of a staged namespace, before anything is written.

Newer is the later `updated_at`, then the revision. Restoring is a monotonic replay: nothing live is set back.
"""

import uuid
from collections import Counter
from typing import Any

from conflicts.authority import SOURCE_RANK, bounded_importance
from memories.access import Principal
from memories.backups.restoration import erasure_filter
from memories.models import Containment
from memories.models.enums import SourceClass
from memories.models.sql import execute, fetch

# Birth and provenance: a row with others is another memory under the same id.
BIRTH = ("created_at", "source", "provenance_source_id", "authority", "parents", "roots", "grant_id", "owner_id", "key")
SAMPLES = 5
DROP = "DROP TABLE IF EXISTS pg_temp.staged_verdict"
JUDGE = """CREATE TEMP TABLE staged_verdict AS
    SELECT j.id, CASE WHEN j.verdict IN ('insert', 'update', 'conflict') AND j.erased THEN 'blocked_by_erasure'
        ELSE j.verdict END AS verdict, j.reason
    FROM (
        SELECT s.id, {erased} AS erased,
            CASE WHEN f.id IS NULL AND {taken} THEN 'rejected' WHEN f.id IS NULL THEN 'insert'
                WHEN f.namespace_id <> %(here)s OR {differs} THEN 'rejected'
                WHEN (s.updated_at, s.revision) > (f.updated_at, f.revision) THEN 'update'
                WHEN (s.updated_at, s.revision) < (f.updated_at, f.revision) THEN 'skipped_stale'
                WHEN s.content = f.content THEN 'unchanged' ELSE 'conflict' END AS verdict,
            CASE WHEN f.id IS NULL AND {taken} THEN 'key_taken'
                WHEN f.namespace_id <> %(here)s THEN 'other_namespace'
                WHEN f.id IS NOT NULL AND {differs} THEN 'provenance_differs' ELSE '' END AS reason
        FROM staged_fragment s LEFT JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = s.id
        WHERE s.namespace_id = %(there)s) AS j"""
# Another memory stands under its key, here or, newer, in the bundle itself.
TAKEN = """(s.key <> '' AND (EXISTS (SELECT FROM memories_fragment k WHERE k.project_id = %(project)s
            AND k.namespace_id = %(here)s AND k.key = s.key)
        OR EXISTS (SELECT FROM staged_fragment k WHERE k.namespace_id = s.namespace_id AND k.key = s.key
            AND (k.updated_at, k.id) > (s.updated_at, s.id))))"""
COMING = """SELECT s.id, s.owner_id, s.grant_id, s.created_at FROM staged_fragment s
    JOIN staged_verdict v ON v.id = s.id AND v.verdict IN ('insert', 'update')"""
DIFFERS = " OR ".join(f"s.{name} IS DISTINCT FROM f.{name}" for name in BIRTH)


# Records that are not taken of a stranger at all.
STRANGE = ("owner", "predicate", "origin", "conflict", "ruling", "tombstone", "archive", "access", "vector")
# What a stranger may not say of what stands here: that it is linked, or replaced.
REACHING = "s.kind = 'supersedes' OR NOT EXISTS (SELECT FROM staged_fragment f WHERE f.id = s.other_id)"


def cap_untrusted_rows(principal: Principal) -> None:
    """Staged rows of a signer that nobody trusts: believed as a document of who restores it, up to their ceiling."""
    source = min(SourceClass.DOCUMENT, SourceClass(principal.ceiling), key=SOURCE_RANK.__getitem__)
    highest = SOURCE_RANK[source]
    above = [str(source) for source, rank in SOURCE_RANK.items() if rank > highest]
    execute(
        """UPDATE staged_fragment SET authority = least(authority, %(highest)s), owner_id = %(owner)s, grant_id = NULL,
               source = CASE WHEN source = ANY (%(above)s) THEN %(source)s ELSE source END,
               corroboration = 1, reinforcements = 0, disputes = 0, superseded_by_id = NULL, is_anchor = false,
               is_pinned = false, importance = least(importance, %(light)s)""",
        {
            "highest": highest,
            "owner": principal.owner_id,
            "above": above,
            "source": str(source),
            "light": bounded_importance(1.0, rank=SOURCE_RANK[SourceClass(principal.ceiling)]),
        },
    )
    for table in ("claim", "erasure"):
        execute(f"UPDATE staged_{table} SET authority = least(authority, %s)", [highest])
    # Whoever it waited for is not here.
    execute("DELETE FROM staged_fragment WHERE status = 'quarantined'", [])
    execute("UPDATE staged_claim SET verdict = 'archived', status = 'archived' WHERE verdict = 'quarantined'", [])
    execute("UPDATE staged_claim SET superseded_by_id = NULL", [])
    execute(f"DELETE FROM staged_links s WHERE {REACHING}", [])
    for table in ("votes", "labels", *STRANGE):
        execute(f"DELETE FROM staged_{table}", [])


def count_left_out() -> dict[str, int]:
    """Return how many records of a signer that nobody trusts are not taken at all, by kind."""
    counts = {kind: fetch(f"SELECT count(*) FROM staged_{kind}", [])[0][0] for kind in STRANGE}
    ((counts["link"],),) = fetch(f"SELECT count(*) FROM staged_links s WHERE {REACHING}", [])
    ((counts["quarantined"],),) = fetch("SELECT count(*) FROM staged_fragment WHERE status = 'quarantined'", [])
    return {kind: count for kind, count in counts.items() if count}


def judge(project_id: uuid.UUID, *, there: uuid.UUID, here: uuid.UUID) -> dict[str, Any]:
    """Write `staged_verdict` for the fragments staged under `there`, which belong under `here`; the counts.

    `rejected` by reason, up to a hundred ids of those that something is told of.
    """
    execute(DROP, [])
    erased = erasure_filter.erased("s.id", "s.authority", "s.content", "s.extra")
    statement = JUDGE.format(erased=erased, differs=DIFFERS, taken=TAKEN)
    execute(statement, {"project": project_id, "here": here, "there": there})
    execute("ALTER TABLE staged_verdict ADD PRIMARY KEY (id)", [])
    execute("ANALYZE staged_verdict", [])
    erasure_filter.bar_digests(project_id, there=there, here=here)
    counted = fetch("SELECT verdict, reason, count(*) FROM staged_verdict GROUP BY 1, 2 ORDER BY 1, 2", [])
    counts = Counter({verdict: count for verdict, _, count in counted if verdict != "rejected"})
    rejected = {reason: count for verdict, reason, count in counted if verdict == "rejected"}
    named = fetch(
        "SELECT verdict, id FROM staged_verdict WHERE verdict IN ('blocked_by_erasure', 'rejected', 'conflict')"
        " ORDER BY id LIMIT 100",
        [],
    )
    ids: dict[str, list[str]] = {}
    for verdict, which in named:
        ids.setdefault(verdict, []).append(str(which))
    counts["contained"] = len(find_contained(project_id))
    report = {"rejected": rejected, "ids": ids, "samples": _samples()}
    return {**{verdict: counts[verdict] for verdict in COUNTED}, **report}


def find_contained(project_id: uuid.UUID) -> set[uuid.UUID]:
    """Return which of those that `staged_verdict` lets come a containment in force reaches."""
    in_force = Containment.objects.in_force(project_id)
    return Containment.objects.reaching(project_id, fetch(COMING, [])) if in_force.exists() else set()


def _samples() -> dict[str, list[str]]:
    """Return a few of those that would come, change or be left out: the first ones of the bundle."""
    rows = fetch(
        f"""SELECT v.verdict, v.id FROM (
                SELECT w.verdict, w.id, row_number() OVER (PARTITION BY w.verdict ORDER BY s.bundle, s.ordinal) AS place
                FROM staged_verdict w JOIN staged_fragment s ON s.id = w.id
                WHERE w.verdict IN ('insert', 'update', 'skipped_stale')
            ) AS v WHERE v.place <= {SAMPLES} ORDER BY v.verdict, v.place""",
        [],
    )
    found: dict[str, list[str]] = {}
    for verdict, which in rows:
        found.setdefault(verdict, []).append(str(which))
    return found


# `contained` are among those that are inserted or updated.
COUNTED = ("insert", "update", "unchanged", "skipped_stale", "blocked_by_erasure", "conflict", "contained")

"""Copies: memories of one namespace stand in another under new ids, with all that stands under them.

Which tables those are says each one's spec; a server that copies others does not start. Set-based, in the open
transaction: a temporary table holds the old and the new ids. New ids are digests of the old and the namespace, so that
a second look names the same.
"""

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.core.exceptions import ImproperlyConfigured

from memories.models import Namespace
from memories.models.lineage import lineages_in, quoting
from memories.models.search import LIVE
from memories.models.sql import execute, fetch
from memories.models.table_spec import made_columns, specs, table_of

# `w` says where a row goes: it is its place's row of `branch_places`, or its memory's of `branch_copies`.
NEW_ID = "md5(t.{column}::text || w.target::text)::uuid"
MAPPED = "(SELECT m.new FROM branch_copies m WHERE m.old = t.{column})"
CLAIM = """(SELECT nova_claim_id(m.new, c.position) FROM branch_copies m
    JOIN memories_claim c ON c.project_id = t.project_id AND c.fragment_id = m.old
    WHERE m.old = t.{side}_id AND c.id = t.{side}_claim)"""
EACH_MAPPED = """ARRAY(SELECT coalesce(m.new, e.id) FROM unnest(t.{column}) WITH ORDINALITY AS e (id, place)
    LEFT JOIN branch_copies m ON m.old = e.id ORDER BY e.place)"""
ONLY_MAPPED = """ARRAY(SELECT m.new FROM unnest(t.{column}) WITH ORDINALITY AS e (id, place)
    JOIN branch_copies m ON m.old = e.id ORDER BY e.place)"""
COPIED = "EXISTS (SELECT FROM branch_copies m WHERE m.old = t.{column})"


@dataclass(frozen=True, slots=True)
class Part:
    """A table that is copied: columns that get another value, which rows, and whether it is about the namespace."""

    model: str
    instead: Mapping[str, str] = field(default_factory=dict)
    rows: str = "true"
    # Of the namespace as a whole, not of its fragments one by one.
    of_namespace: bool = False
    # The column that names the memory.
    memory: str = "fragment_id"
    # What becomes of rows that are there already.
    clash: str = ""

    @property
    def table(self) -> str:
        """Its name in the database."""
        return table_of(self.model)


def _under(model: str, *, own_id: bool = False, rows: str = "true", **instead: str) -> Part:
    """Return what hangs on a fragment."""
    own = {"id": NEW_ID.format(column="id")} if own_id else {}
    return Part(model, {**own, "fragment_id": "w.new", **instead}, rows)


def unless_forgotten(words: str, *, target: str = "w.target") -> str:
    """Return the SQL of what is noted beside a memory, empty where the target forgot just that."""
    return f"""CASE WHEN {words} <> '' AND EXISTS (SELECT FROM memories_erasure e WHERE e.project_id = %(project)s
        AND e.fingerprint = ANY (nova_fingerprints(%(project)s, {words}))
        AND (e.namespace_id IS NULL OR e.namespace_id = {target})) THEN '' ELSE {words} END"""


# Of a fragment also of its revision: a merge may bring it once more when it changed.
NEW_FRAGMENT_ID = "md5(t.id::text || w.target::text || t.revision::text)::uuid"
FRAGMENTS = Part(
    "memories.Fragment",
    {
        "id": "w.new",
        "superseded_by_id": MAPPED.format(column="superseded_by_id"),
        "parents": EACH_MAPPED.format(column="parents"),
        "roots": EACH_MAPPED.format(column="roots"),
    },
    memory="id",
)
# In this order: what is named comes before what names it.
PARTS = (
    FRAGMENTS,
    Part(
        "memories.Claim",
        {
            "id": "nova_claim_id(w.new, t.position)",
            "fragment_id": "w.new",
            "superseded_by_id": MAPPED.format(column="superseded_by_id"),
        },
    ),
    _under("memories.Access"),
    _under("conflicts.Vote", own_id=True, reason=unless_forgotten("t.reason")),
    _under("memories.Embedding"),
    _under("memories.Keywords"),
    _under("memories.ClusterLabel", own_id=True, rows=f"{unless_forgotten('t.label')} <> ''"),
    Part(
        "memories.Link",
        {"id": NEW_ID.format(column="id")} | {"fragment_id": "w.new", "other_id": MAPPED.format(column="other_id")},
        f"t.kind <> 'similar' AND {COPIED.format(column='other_id')}",
    ),
)
# Of a branch of the same id in a former life.
ONCE = "ON CONFLICT DO NOTHING"
# What belongs to the namespace as a whole: copied by a fork alone.
PARTS_OF_NAMESPACES = (
    Part("conflicts.Predicate", {"id": NEW_ID.format(column="id")}, of_namespace=True),
    Part(
        "conflicts.PendingConflict",
        {
            "id": NEW_ID.format(column="id"),
            "newcomer_id": MAPPED.format(column="newcomer_id"),
            "existing_id": MAPPED.format(column="existing_id"),
            "newcomer_claim": CLAIM.format(side="newcomer"),
            "existing_claim": CLAIM.format(side="existing"),
            "before": "NULL::jsonb",
        },
        "(t.resolved_at IS NULL OR t.resolution = 'reject')",
        of_namespace=True,
    ),
    # What its source forgot stays forgotten in a branch.
    Part(
        "memories.Erasure",
        {"id": NEW_ID.format(column="id"), "fingerprint": "t.fingerprint"},
        of_namespace=True,
        clash=ONCE,
    ),
    Part(
        "conflicts.Ruling",
        {
            "id": NEW_ID.format(column="id"),
            "conflict_id": f"""(SELECT c.id FROM conflicts_pendingconflict c WHERE c.project_id = t.project_id
                AND c.id = {NEW_ID.format(column="conflict_id")})""",
            "fragment_id": MAPPED.format(column="fragment_id"),
            **{name: ONLY_MAPPED.format(column=name) for name in ("chosen_fragments", "ruled_out_fragments")},
        },
        "t.replaced_by_id IS NULL",
        of_namespace=True,
    ),
    Part("memories.Episode", {"id": NEW_ID.format(column="id")}, "t.conversation_id = ''", of_namespace=True),
    Part(
        "memories.EpisodeMember",
        {"episode_id": NEW_ID.format(column="episode_id"), "fragment_id": "w.new"},
    ),
)
# The namespace itself is made before.
if {part.model for part in (*PARTS, *PARTS_OF_NAMESPACES)} != {
    label for label, spec in specs().items() if spec.fork == "copied" and label != "memories.Namespace"
}:
    raise ImproperlyConfigured("A fork copies other tables than the specs of the tables say.")
# A text that was forgotten on either side is copied nowhere, whoever says it still.
CHOSEN = """
    INSERT INTO branch_copies (old, new, target)
    SELECT t.id, {new}, w.target FROM branch_places w
    JOIN memories_fragment t ON t.project_id = %(project)s AND t.namespace_id = w.source
    WHERE {rows} AND NOT EXISTS (
        SELECT FROM memories_erasure e WHERE e.project_id = t.project_id
            AND e.fingerprint = ANY (nova_words_prints(t.project_id, t.content, t.extra))
            AND e.authority >= t.authority
            AND (e.namespace_id IS NULL OR e.namespace_id IN (w.source, w.target)))"""
DIGESTED = """
    SELECT DISTINCT t.namespace_id FROM branch_places w
    JOIN memories_fragment t ON t.project_id = %(project)s AND t.namespace_id = w.source AND t.source_type = 'digest'"""
BARRED = """
    SELECT DISTINCT t.id FROM branch_places w
    JOIN memories_fragment t ON t.project_id = %(project)s AND t.namespace_id = w.source
    JOIN memories_erasure e ON e.project_id = t.project_id
        AND e.fingerprint = ANY (nova_words_prints(t.project_id, t.content, t.extra)) AND e.authority >= t.authority
        AND (e.namespace_id IS NULL OR e.namespace_id IN (w.source, w.target))"""
ORIGINS = """
    INSERT INTO memories_origin (fragment_id, project_id, namespace_id, origin_id, root_id, revision, operation_id)
    SELECT w.new, f.project_id, w.target, w.old, coalesce(o.root_id, w.old), f.revision, %(operation)s
    FROM branch_copies w JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = w.old
    LEFT JOIN memories_origin o ON o.project_id = f.project_id AND o.fragment_id = f.id
    ON CONFLICT (fragment_id) DO UPDATE SET revision = excluded.revision, operation_id = excluded.operation_id"""
# Each user's scope with the same user's there.
PLACED = """
    INSERT INTO branch_places
    SELECT s.id, t.id FROM memories_namespace s JOIN memories_namespace t
        ON t.project_id = s.project_id AND t.parent_id = %(target)s AND t."user" = s."user"
    WHERE s.project_id = %(project)s AND s.parent_id = %(source)s"""
AWAITED = """
    INSERT INTO memories_pendingembedding (id, project_id, fragment_id, model_id, attempts, not_before)
    SELECT gen_random_uuid(), %(project)s, w.new, e.id, 0, now()
    FROM branch_copies w JOIN memories_embeddingmodel e ON e.state = ANY (%(live)s)
    WHERE NOT EXISTS (SELECT FROM memories_embedding v WHERE v.project_id = %(project)s
        AND v.root_id = %(root)s AND v.namespace_id = w.target AND v.fragment_id = w.new AND v.model_id = e.id)
    ON CONFLICT (project_id, fragment_id, model_id) DO NOTHING"""


@dataclass(frozen=True, slots=True)
class CopyRoute:
    """From one namespace to another, for an operation (none: a fork); `with_users`: from all its users' scopes, too."""

    source: Namespace
    target: Namespace
    operation_id: uuid.UUID | None = None
    with_users: bool = False

    @property
    def values(self) -> dict[str, object]:
        """For the statements."""
        here = {"project": self.source.project_id, "source": self.source.id, "target": self.target.id}
        here |= {"root": self.target.root_id}
        return {**here, "operation": self.operation_id, "live": list(LIVE)}


def new_id(old: uuid.UUID, target: uuid.UUID, revision: int) -> uuid.UUID:
    """Return what a memory is called in another namespace; as the database works it out."""
    return uuid.UUID(hashlib.md5(f"{old}{target}{revision}".encode(), usedforsecurity=False).hexdigest())


@contextmanager
def chosen(way: CopyRoute, *, rows: str = "true", values: Mapping[str, object] | None = None) -> Iterator[int]:
    """Within, `branch_copies` holds the memories that fit and are not barred, with their new ids; how many they are.

    Of a way with users also those of each user who has a scope on both sides.
    """
    _make_tables(way)
    if way.with_users:
        execute(PLACED, way.values)
    taken = execute(CHOSEN.format(new=NEW_FRAGMENT_ID, rows=rows), {**way.values, **(values or {})})
    for (place,) in fetch(DIGESTED, way.values):
        barred = {i for (i,) in fetch(BARRED, way.values)}
        quotes = quoting(way.source.project_id, place, lineages_in(way.source.project_id, place), barred=barred)
        taken -= execute("DELETE FROM branch_copies WHERE old = ANY (%s)", [list(quotes)])
    # Nobody else will: joins of many memories are planned by it.
    execute("ANALYZE branch_places, branch_copies", [])
    yield taken
    execute("DROP TABLE branch_copies, branch_places", [])


@contextmanager
def paired(way: CopyRoute, ids: Mapping[uuid.UUID, uuid.UUID]) -> Iterator[None]:
    """Within, `branch_copies` holds these memories with those that they are elsewhere."""
    _make_tables(way)
    execute(
        "INSERT INTO branch_copies SELECT i.old, i.new, %s FROM unnest(%s::uuid[], %s::uuid[]) AS i (old, new)",
        [way.target.id, list(ids), list(ids.values())],
    )
    yield
    execute("DROP TABLE branch_copies, branch_places", [])


def _make_tables(way: CopyRoute) -> None:
    execute(
        """CREATE TEMP TABLE branch_places (source uuid PRIMARY KEY, target uuid NOT NULL) ON COMMIT DROP;
           CREATE TEMP TABLE branch_copies (old uuid PRIMARY KEY, new uuid NOT NULL, target uuid NOT NULL)
               ON COMMIT DROP""",
        [],
    )
    execute("INSERT INTO branch_places VALUES (%(source)s, %(target)s)", way.values)


def copy(way: CopyRoute, part: Part, *, clash: str = "") -> int:
    """Copy one table's rows of what was chosen; how many. `clash` says what becomes of those that are there."""
    of_memory = f"branch_copies w ON w.old = t.{part.memory}"
    joined = "branch_places w ON w.source = t.namespace_id" if part.of_namespace else of_memory
    columns = [
        name
        for (name,) in fetch(
            """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
                   AND attgenerated = '' ORDER BY attnum""",
            [part.table],
        )
        if name not in made_columns() or name in part.instead
    ]
    instead = {"namespace_id": "w.target", "root_id": "%(root)s::uuid", **part.instead}
    values = [instead.get(name, f't."{name}"') for name in columns]
    named = ", ".join(f'"{name}"' for name in columns)
    return execute(
        f"""INSERT INTO {part.table} ({named}) SELECT {", ".join(values)} FROM {part.table} t
            JOIN {joined} WHERE t.project_id = %(project)s AND {part.rows} {clash or part.clash}""",
        way.values,
    )


def note_origins(way: CopyRoute) -> None:
    """Keep of which memory each copy is one."""
    execute(ORIGINS, way.values)


def await_vectors(way: CopyRoute) -> None:
    """Let the copies wait for the vectors that their originals had not yet."""
    execute(AWAITED, way.values)

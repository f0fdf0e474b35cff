"""The canonical records of namespaces: one JSON line each, in one order, so that equal memories give equal bytes.

Postgres writes the lines (`jsonb` as text: its order of keys, floats to the last digit, times in UTC). Namespaces go by
name, and what belongs to an instance (project id, change numbers, keyed digests that are worked out anew) is left out:
so a namespace that was restored elsewhere gives the same lines.
"""

import base64
import datetime
import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from memories.models import Archive, Namespace
from memories.models.sql import array_of, batches, fetch
from memories.models.table_spec import parts_of_records, specs, table_of

BATCH, COPIES = 2_000, 200

# In this order, so that what a record refers to comes before it; within a kind by time and id (origins: fragment's id).
KINDS = (
    *("owner", "namespace", "user", "predicate", "erasure", "fragment", "origin"),
    *("episode", "conflict", "ruling", "tombstone", "archive"),
)

LONGEST = 16 * 1024 * 1024  # bytes of a line that is written or read
PARTS = 100_000  # likewise its brackets and commas outside of texts: how many values it holds
TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{\[,]', re.DOTALL)  # a text, or what a part begins with

OWNER = re.compile(r'"owner_id": "([^"]*)"')  # in a copy

# What a choice of fragments needs to be understood.
NEEDED = ("owner", "namespace", "user", "predicate", "erasure", "fragment")


def _row(alias: str, model: str) -> str:
    """Return the columns of a row that travel, as SQL."""
    return f"to_jsonb({alias}) - '{{{','.join(specs()[model].left_out)}}}'::text[]"


# A namespace, or (kind `user`) the scope of one of its users, whose name says where it belongs.
SPACES = f"""SELECT jsonb_build_object('kind', '{{kind}}', 'row',
        ({_row("n", "memories.Namespace").replace("{", "{{").replace("}", "}}")})
            || jsonb_build_object('forked_from', s.name))::text
    FROM memories_namespace n
    LEFT JOIN memories_namespace s ON s.project_id = n.project_id AND s.id = n.forked_from_id
    WHERE n.project_id = %(project)s AND n.id = ANY (%(places)s) AND {{which}} ORDER BY n.created_at, n.id"""
# Of a choice nothing names another memory, nor who said only such: it would be restored without.
TOLD = "(%(chosen)s::uuid[] IS NULL OR {0} = ANY (%(chosen)s::uuid[]))"
ROWS = {
    "owner": f"""SELECT jsonb_build_object('kind', 'owner', 'row', {_row("o", "memories.Owner")})::text
        FROM memories_owner o WHERE o.project_id = %(project)s AND (o.id::text = ANY (%(copied)s) OR o.id IN (
            SELECT f.owner_id FROM memories_fragment f
            WHERE f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s) AND {TOLD.format("f.id")}
            UNION SELECT v.owner_id FROM conflicts_vote v
            JOIN memories_fragment f ON f.project_id = v.project_id AND f.id = v.fragment_id
            WHERE v.project_id = %(project)s AND f.namespace_id = ANY (%(places)s) AND {TOLD.format("f.id")}
            UNION SELECT t.resolved_by FROM conflicts_pendingconflict t
            WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) AND %(chosen)s::uuid[] IS NULL
            UNION SELECT t.decided_by FROM conflicts_ruling t
            WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) AND %(chosen)s::uuid[] IS NULL))
        ORDER BY o.created_at, o.id""",
    "namespace": SPACES.format(kind="namespace", which="n.parent_id IS NULL"),
    "user": SPACES.format(kind="user", which="n.parent_id IS NOT NULL"),
    "predicate": f"""SELECT jsonb_build_object('kind', 'predicate', 'namespace', n.name,
            'row', {_row("t", "conflicts.Predicate")})::text
        FROM conflicts_predicate t JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) ORDER BY t.created_at, t.id""",
    "erasure": f"""SELECT jsonb_build_object('kind', 'erasure', 'scope', n.name,
            'row', {_row("t", "memories.Erasure")})::text
        FROM memories_erasure t
        LEFT JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
            AND n.id = ANY (%(places)s)
        WHERE t.project_id = %(project)s ORDER BY t.erased_at, t.id""",
    "origin": f"""SELECT jsonb_build_object('kind', 'origin', 'namespace', n.name,
            'row', {_row("t", "memories.Origin")})::text
        FROM memories_origin t JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) ORDER BY t.fragment_id""",
    "episode": f"""SELECT jsonb_build_object('kind', 'episode', 'namespace', n.name,
            'row', {_row("t", "memories.Episode")}, 'members',
                (SELECT jsonb_agg(jsonb_build_object('fragment_id', m.fragment_id, 'position', m.position)
                ORDER BY m.position, m.fragment_id)
                FROM memories_episodemember m WHERE m.project_id = t.project_id AND m.episode_id = t.id))::text
        FROM memories_episode t JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) AND t.conversation_id = ''
        ORDER BY t.began_at, t.id""",
    "conflict": f"""SELECT jsonb_build_object('kind', 'conflict', 'namespace', n.name,
            'row', {_row("t", "conflicts.PendingConflict")})::text
        FROM conflicts_pendingconflict t
        JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) ORDER BY t.created_at, t.id""",
    "ruling": f"""SELECT jsonb_build_object('kind', 'ruling', 'namespace', n.name,
            'row', {_row("t", "conflicts.Ruling")})::text
        FROM conflicts_ruling t
        JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) ORDER BY t.decided_at, t.id""",
    "tombstone": f"""SELECT jsonb_build_object('kind', 'tombstone', 'namespace', n.name,
            'row', {_row("t", "memories.Tombstone")})::text
        FROM memories_tombstone t JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) ORDER BY t.evicted_at, t.id""",
}

# What stands under a fragment as lists: in which order, and which rows.
LISTS = {
    "revisions": ("u.revision", "true"),
    "votes": ("u.created_at, u.id", "true"),
    "labels": ("u.id", "true"),
    "links": ("u.kind, u.other_id", f"u.kind <> 'similar' AND {TOLD.format('u.other_id')}"),
}


def _under(name: str, order: str, condition: str) -> str:
    model = parts_of_records()[name]
    table = table_of(model)
    return f"""LEFT JOIN (SELECT u.fragment_id, jsonb_agg({_row("u", model)} ORDER BY {order}) AS held FROM {table} u
        WHERE u.project_id = %(project)s AND u.fragment_id = ANY (%(ids)s::uuid[]) AND {condition}
        GROUP BY u.fragment_id
    ) AS {name} ON {name}.fragment_id = f.id"""


CLAIM = f"""{_row("{0}", "memories.Claim").replace("{", "{{").replace("}", "}}").replace("{{0}}", "{0}")} || CASE
    WHEN {TOLD.format("{0}.superseded_by_id")} THEN '{{{{}}}}'::jsonb ELSE '{{{{"superseded_by_id": null}}}}' END"""
# Each fragment is looked up by itself: the planner would rather scan the whole table for every batch.
FRAGMENTS = f"""SELECT f.id::text, (jsonb_build_object('kind', 'fragment', 'namespace', n.name,
        'row', {_row("f", "memories.Fragment")} || CASE WHEN {TOLD.format("f.superseded_by_id")} THEN '{{}}'::jsonb
            ELSE '{{"superseded_by_id": null}}' END, 'claim', {CLAIM.format("c")},
        'access', {_row("a", "memories.Access")},
        {", ".join(f"'{name}', {name}.held" for name in LISTS)})
            || CASE WHEN o.held IS NULL THEN '{{}}'::jsonb ELSE jsonb_build_object('claims', o.held) END)::text
    FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS wanted (id, place)
    CROSS JOIN LATERAL (
        SELECT * FROM memories_fragment t WHERE t.project_id = %(project)s AND t.id = wanted.id OFFSET 0
    ) AS f
    JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
    LEFT JOIN memories_claim c ON c.project_id = %(project)s AND c.id = f.id
    LEFT JOIN LATERAL (SELECT jsonb_agg({CLAIM.format("u")} ORDER BY u.position) AS held FROM memories_claim u
        WHERE u.project_id = %(project)s AND u.fragment_id = f.id AND u.position > 0) AS o ON true
    LEFT JOIN memories_access a ON a.project_id = %(project)s AND a.fragment_id = f.id
    {" ".join(_under(name, order, condition) for name, (order, condition) in LISTS.items())}
    ORDER BY wanted.place"""
VECTORS = """SELECT e.fragment_id::text, m.name, m.dim, vector_send(e.vector::vector)
    FROM memories_embedding e JOIN memories_embeddingmodel m ON m.id = e.model_id
    WHERE e.project_id = %(project)s AND e.namespace_id = ANY (%(places)s) AND e.fragment_id = ANY (%(ids)s::uuid[])
    ORDER BY e.fragment_id, m.name"""

# What concerns a fragment and leaves its own row alone.
CHANGED = """f.change >= %(since)s::text::xid8
    OR f.id IN (SELECT e.fragment_id FROM memories_claimevent e
                WHERE e.project_id = %(project)s AND e.recorded_in >= %(since)s::text::xid8)
    OR f.id IN (SELECT c.fragment_id FROM memories_claim c
                WHERE c.project_id = %(project)s AND c.last_seen_at >= %(time)s)
    OR f.id IN (SELECT a.fragment_id FROM memories_access a
                WHERE a.project_id = %(project)s AND a.last_accessed_at >= %(time)s)
    OR f.id IN (SELECT v.fragment_id FROM conflicts_vote v
                WHERE v.project_id = %(project)s AND v.created_at >= %(time)s)
    OR f.id IN (SELECT b.fragment_id FROM memories_clusterlabel b
                WHERE b.project_id = %(project)s AND b.labelled_at >= %(time)s)
    OR f.id IN (SELECT l.fragment_id FROM memories_link l
                JOIN memories_fragment o ON o.project_id = l.project_id AND o.id = l.other_id
                WHERE l.project_id = %(project)s AND l.kind <> 'similar' AND o.change >= %(since)s::text::xid8)"""

# A copy holds rows as they were, with the ids of this instance: null stands there, the namespace beside.
_HOMELESS = """{0} || (SELECT coalesce(jsonb_object_agg(k, NULL), '{{}}')
    FROM unnest('{{project_id,namespace_id}}'::text[]) AS k WHERE jsonb_exists({0}, k))"""
COPY = f"""SELECT jsonb_build_object('kind', 'archive', 'namespace', n.name,
        'row', {_row("t", "memories.Archive")},
        'copy', (SELECT jsonb_object_agg(key, CASE jsonb_typeof(value)
            WHEN 'object' THEN {_HOMELESS.format("value")}
            WHEN 'array' THEN (SELECT coalesce(jsonb_agg(CASE jsonb_typeof(e) WHEN 'object'
                THEN {_HOMELESS.format("e")} ELSE e END ORDER BY place), '[]')
                FROM jsonb_array_elements(value) WITH ORDINALITY AS l (e, place))
            ELSE value END) FROM jsonb_each(held.text::jsonb)))::text
    FROM unnest(%(ids)s::uuid[], %(texts)s::text[]) WITH ORDINALITY AS held (id, text, place)
    JOIN memories_archive t ON t.project_id = %(project)s AND t.id = held.id
    JOIN memories_namespace n ON n.project_id = t.project_id AND n.id = t.namespace_id
    ORDER BY held.place"""


@dataclass(frozen=True, slots=True)
class Record:
    """One canonical record: its kind and its line, without a line break."""

    kind: str
    line: bytes


@dataclass(frozen=True, slots=True)
class Since:
    """From when on: a change number, and a time for the few columns that change without one (some may come twice)."""

    change: int
    time: datetime.datetime


@dataclass(frozen=True, slots=True)
class Selection:
    """Which records: of these namespaces of a project, with vectors or without.

    With `fragments` only these of them, and of the other kinds only what these need to be understood. With `since` only
    the fragments and copies that changed since, and all of the other kinds.
    """

    project_id: uuid.UUID
    places: tuple[uuid.UUID, ...]
    embeddings: bool = False
    fragments: tuple[uuid.UUID, ...] | None = None
    since: "Since | None" = None

    @classmethod
    def of(
        cls,
        project_id: uuid.UUID,
        namespaces: Sequence[Namespace],
        *,
        embeddings: bool = False,
        since: "Since | None" = None,
    ) -> "Selection":
        """Return everything of these namespaces, or what changed since."""
        return cls(project_id, tuple(row.id for row in namespaces), embeddings, since=since)

    @property
    def values(self) -> dict[str, Any]:
        """As the statements name them."""
        # Long lists as texts: psycopg would write them anew at each place where the statement names them.
        chosen = None if self.fragments is None else array_of(self.fragments)
        named: dict[str, Any] = {"project": self.project_id, "places": list(self.places), "chosen": chosen}
        if self.since:
            named |= {"since": str(self.since.change), "time": self.since.time}
        return named


def parts(line: bytes, *, most: int = PARTS) -> int:
    """Return how many brackets and commas a line has, at least as many as values.

    Those in texts are left out where there would be more than `most`.
    """
    found = line.count(b"{") + line.count(b"[") + line.count(b",")
    if found <= most:
        return found
    tokens = islice(TOKEN.finditer(line), 3 * most + 1)  # beside a part stand two texts at most, or it is no JSON
    return sum(not token[0].startswith(b'"') for token in tokens)


def read(selection: Selection) -> Iterator[Record]:
    """Return every record of the selection, in canonical order; memory stays flat. To be called inside `access.enter`.

    What was written meanwhile shows or not as the open transaction's isolation says.
    """
    for kind in KINDS if selection.fragments is None else NEEDED:
        yield from (Record(kind, line) for line in READERS.get(kind, _rows)(kind, selection))


def _rows(kind: str, selection: Selection) -> Iterator[bytes]:
    for batch in batches(ROWS[kind], selection.values, size=BATCH):
        yield from (line.encode() for (line,) in batch)


def _owners(kind: str, selection: Selection) -> Iterator[bytes]:
    """Whoever wrote, voted or decided, here or in a copy: Postgres can't look into these."""
    query = """SELECT t.payload FROM memories_archive t
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) AND %(chosen)s::uuid[] IS NULL"""
    copies = (payload for rows in batches(query, selection.values, size=COPIES) for (payload,) in rows)
    copied = {owner for payload in copies for owner in OWNER.findall(Archive(payload=payload).text())}
    for batch in batches(ROWS[kind], {**selection.values, "copied": list(copied)}, size=BATCH):
        yield from (line.encode() for (line,) in batch)


def _fragments(_: str, selection: Selection) -> Iterator[bytes]:
    changed = f"AND ({CHANGED})" if selection.since else ""
    keys = f"""SELECT f.id::text FROM memories_fragment f
        WHERE f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s) AND {TOLD.format("f.id")} {changed}
        ORDER BY f.created_at, f.id"""
    for batch in batches(keys, selection.values, size=BATCH):
        params = {**selection.values, "ids": f"{{{','.join(row[0] for row in batch)}}}"}
        vectors = _vectors(params) if selection.embeddings else {}
        for fragment_id, line in fetch(FRAGMENTS, params):
            more = vectors.get(fragment_id)
            yield line.encode() if more is None else f'{line[:-1]}, "vectors": {json.dumps(more)}}}'.encode()


def _vectors(params: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return each fragment's vectors: 32-bit floats, little-endian, in base64, by the model's name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for fragment_id, model, dim, sent in fetch(VECTORS, params):
        numbers = np.frombuffer(bytes(sent)[4:], dtype=">f4").astype("<f4")
        record = {"model": model, "dim": dim, "vector": base64.b64encode(numbers.tobytes()).decode()}
        found.setdefault(fragment_id, []).append(record)
    return found


def _archives(_: str, selection: Selection) -> Iterator[bytes]:
    changed = "AND t.archived_at >= %(time)s" if selection.since else ""
    keys = f"""SELECT t.id, t.payload FROM memories_archive t
        WHERE t.project_id = %(project)s AND t.namespace_id = ANY (%(places)s) {changed} ORDER BY t.archived_at, t.id"""
    for batch in batches(keys, selection.values, size=COPIES):
        texts = [Archive(payload=payload).text() for _, payload in batch]
        params = {**selection.values, "ids": [row[0] for row in batch], "texts": texts}
        yield from (line.encode() for (line,) in fetch(COPY, params))


READERS: dict[str, Callable[[str, Selection], Iterator[bytes]]] = {
    "owner": _owners,
    "fragment": _fragments,
    "archive": _archives,
}

"""Staging tables: the records of a bundle, or of a chain, in temporary tables with every CHECK of the real ones.

What can't be stored is found here, with its line, before anything is applied. The tables live as long as the
connection; whoever stages drops them. Namespaces stand here under ids of the bundle.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import BinaryField, BooleanField

from memories.access import Principal
from memories.backups.bundle import BrokenBundle, BundleLine, unpacked
from memories.errors import NovaError
from memories.models import vector_text
from memories.models.enums import ArchivePolicy
from memories.models.namespace import BadUser, parts_of, scope_name
from memories.models.sql import copying, execute, fetch
from memories.models.table_spec import columns_of, parts_of_copies, parts_of_records, records, specs, table_of
from memories.models.tenant import Xid8Field

# Kinds with a table of their own (scopes have none), and what stands under a fragment, by the name in its record.
MODELS = {kind: model for kind, model in records().items() if kind != "namespace"}
UNDER = parts_of_records()
# What stands for a moment in columns that triggers or other rooms fill.
EMPTY: dict[type, Any] = {BinaryField: "\\x", Xid8Field: "0", BooleanField: False, ArrayField: []}


def _filled(name: str) -> dict[str, Any]:
    """Values for the columns that no record has and no table lets be empty."""
    model = {**MODELS, **UNDER}[name]
    left_out = [f for f in apps.get_model(model)._meta.concrete_fields if f.column in specs()[model].left_out]
    return {str(f.column): EMPTY[type(f)] for f in left_out if type(f) in EMPTY}


# What copies hold stands here for a moment, so that the CHECKs are heard of it too.
COPIED = {f"copied_{name}": model for name, model in {"fragment": "memories.Fragment", **parts_of_copies()}.items()}
# Columns that only the staged tables have: where a fragment's record stood, which namespace an erasure names.
ADDED = {"fragment": {"bundle": "smallint NOT NULL", "ordinal": "bigint NOT NULL"}, "erasure": {"scope": "text"}}
# Of these an increment brings all that there are.
WHOLE = ("owner", "predicate", "erasure", "origin", "episode", "conflict", "ruling", "tombstone")
# The claims of a record, the first by itself; its id and status follow from where it stands.
CLAIMS = """jsonb_array_elements(
    CASE WHEN jsonb_typeof(l.body -> 'claim') = 'object' THEN jsonb_build_array(l.body -> 'claim') ELSE '[]' END
    || coalesce(nullif(l.body -> 'claims', 'null'), '[]')) WITH ORDINALITY AS t (e, place)"""
OF_CLAIM = {
    "position": "t.place - 1",
    "id": "nova_claim_id((l.body #>> '{row,id}')::uuid, (t.place - 1)::int)",
    "status": "nova_claim_status(l.body #>> '{row,status}', coalesce(t.e ->> 'verdict', ''))",
}
NAMESPACE = "(%(places)s::jsonb ->> (l.body ->> 'namespace'))::uuid"
OF_COPY = """|| jsonb_build_object('id', nova_claim_id((t.e ->> 'fragment_id')::uuid,
    coalesce((t.e ->> 'position')::int, 0)))"""
# Known by their fragment: one at most of each.
BY_FRAGMENT = ("access", "origin")
MEMBERS = "staged_episodemember"
TABLES = (
    *(f"staged_{name}" for name in (*MODELS, *UNDER, *COPIED)),
    MEMBERS,
    "staged_vector",
    "staged_line",
    "staged_kept",
    "staged_taken",
    "staged_forgotten",
    "staged_verdict",
    "staged_digest",
    "staged_moved",
)
SPACES = ("namespace", "user")
TOGETHER = 50  # lines


class SessionShared(NovaError):
    """A pooler stands between here and Postgres: it may give each transaction another session."""

    code = "session_shared"
    is_kept = True


def _require_own_session() -> None:
    """Raise SessionShared where Postgres itself is another process than the one that let us in."""
    ((process,),) = fetch("SELECT pg_backend_pid()", [])
    if connection.connection.info.backend_pid != process:
        raise SessionShared("a restore needs a session of its own: let DATABASE_URL lead to Postgres itself here")


def create() -> None:
    """Make the tables, empty. Raise SessionShared."""
    _require_own_session()
    drop()
    for name, model in {**MODELS, **UNDER}.items():
        table = table_of(model)
        key = "fragment_id" if name in BY_FRAGMENT else "id"
        more = "".join(f", {column} {kind}" for column, kind in ADDED.get(name, {}).items())
        execute(
            f"CREATE TEMP TABLE staged_{name} (LIKE {table} INCLUDING CONSTRAINTS INCLUDING DEFAULTS{more},"
            f" PRIMARY KEY ({key}))",
            [],
        )
        if key == "id" and name in UNDER:
            execute(f"CREATE INDEX ON staged_{name} (fragment_id)", [])
    for name, model in COPIED.items():
        execute(f"CREATE TEMP TABLE staged_{name} (LIKE {table_of(model)} INCLUDING CONSTRAINTS)", [])
    execute(
        f"""CREATE TEMP TABLE {MEMBERS} (LIKE memories_episodemember INCLUDING CONSTRAINTS,
                PRIMARY KEY (episode_id, fragment_id));
            CREATE TEMP TABLE staged_vector (fragment_id uuid, model text, dim int, vector text,
                PRIMARY KEY (fragment_id, model));
            CREATE TEMP TABLE staged_line (ordinal bigint, kind text, body jsonb);
            CREATE TEMP TABLE staged_kept (id uuid PRIMARY KEY);
            CREATE TEMP TABLE staged_taken (id uuid PRIMARY KEY);
            CREATE TEMP TABLE staged_forgotten (id uuid PRIMARY KEY, authority smallint)""",
        [],
    )


def drop() -> None:
    """Take the tables away."""
    execute(f"DROP TABLE IF EXISTS {', '.join(f'pg_temp.{table}' for table in TABLES)}", [])


@contextmanager
def staging_tables() -> Iterator[None]:
    """The tables as long as they are needed. Not inside a transaction that is over before."""
    create()
    try:
        yield
    finally:
        if not connection.needs_rollback and not connection.closed_in_transaction:
            drop()


class StagedBundle:
    """Takes the lines of one bundle after the other into the tables."""

    def __init__(self, principal: Principal) -> None:
        self.principal, self.bundle = principal, -1
        # The namespaces by name: their records, and the ids under which their rows stand here.
        self.namespaces: dict[str, dict[str, Any]] = {}

    def begin(self) -> None:
        """The next bundle of the chain begins."""
        self.bundle += 1
        if self.bundle:
            for table in (*(f"staged_{kind}" for kind in WHOLE), MEMBERS, "staged_kept"):
                execute(f"DELETE FROM {table}", [])
            self.namespaces = {}

    def end(self) -> None:
        """The bundle is read: of an increment, only the copies that it names are still kept."""
        if self.bundle:
            execute("DELETE FROM staged_archive a WHERE NOT EXISTS (SELECT FROM staged_kept k WHERE k.id = a.id)", [])

    def take(self, lines: Sequence[BundleLine]) -> None:
        """A batch. Raise BrokenBundle for the first line that can't be stored, and take none then."""
        for line in lines:
            if line.kind in SPACES:
                self._check_line(line)
        self._divide(lines)

    def _divide(self, lines: Sequence[BundleLine]) -> None:
        """Write the lines, and where that fails looks for the first to blame by halves."""
        try:
            with transaction.atomic():
                self._write(lines)
        except (DataError, IntegrityError) as error:
            if len(lines) == 1:
                # Postgres' own words quote the row: they belong in no log.
                raise BrokenBundle(lines[0].number, f"it can't be stored: {_reason(error)}") from None
        else:
            return
        half = len(lines) // 2
        self._divide(lines[:half])
        self._divide(lines[half:])

    def _check_line(self, line: BundleLine) -> None:
        row = line.told["row"]
        texts = [row[name] for name in ("name", "language", "archive_policy", "id")]
        if any(type(text) is not str for text in texts) or type(row["forked_from"]) not in (str, type(None)):
            raise BrokenBundle(line.number, "a field of the namespace is no text")
        try:
            uuid.UUID(row["id"])
        except ValueError as error:
            raise BrokenBundle(line.number, "this is no id") from error
        names = [row["name"], *([row["forked_from"]] if row["forked_from"] else [])]
        if not all(self._is_ours(name) for name in names):
            raise BrokenBundle(line.number, "this is no namespace of the project")
        known = fetch("SELECT 1 FROM pg_ts_config WHERE cfgname = %s", [row["language"]])
        if row["archive_policy"] not in ArchivePolicy.values or not known:
            raise BrokenBundle(line.number, "the namespace has an unknown language or policy")
        if row["name"] in self.namespaces or any(row["id"] == each["id"] for each in self.namespaces.values()):
            raise BrokenBundle(line.number, "two namespaces have one name or id")
        self.namespaces[row["name"]] = row

    def _is_ours(self, name: str) -> bool:
        """Return whether a namespace or a user's scope of the project goes by this name."""
        try:
            return scope_name(*parts_of(name)) == name and name.startswith(f"{self.principal.project}:")
        except BadUser:
            return False

    def _write(self, lines: Sequence[BundleLine]) -> None:
        for line in lines:
            name = line.told.get("namespace")
            if name is not None and name not in self.namespaces:
                raise BrokenBundle(line.number, "the record of its namespace is missing")
        rows = [line for line in lines if line.kind not in SPACES]
        with copying("COPY staged_line (ordinal, kind, body) FROM STDIN") as copy:
            # As bytes: a text with one emoji takes four times as much. Some together: each waits for the connection.
            for place in range(0, len(rows), TOGETHER):
                copy.write(
                    b"".join(
                        b"%d\t%s\t%s\n" % (line.number, line.kind.encode(), _escaped(line.raw))
                        for line in rows[place : place + TOGETHER]
                    )
                )
        kinds = dict.fromkeys(line.kind for line in lines)
        for kind in kinds:
            self._take_kind(kind)
        if vectors_of := [(line.told["row"]["id"], each) for line in lines for each in line.told.get("vectors", ())]:
            self._take_vectors(vectors_of)
        execute("TRUNCATE staged_line", [])  # deleted rows would be read again with every batch

    def _take_kind(self, kind: str) -> None:
        if kind == "gone":
            self._drop_fragments(
                "SELECT e::uuid FROM staged_line l, jsonb_array_elements_text(l.body -> 'ids') e WHERE l.kind = 'gone'"
            )
        elif kind == "kept":
            execute(
                "INSERT INTO staged_kept SELECT e::uuid FROM staged_line l,"
                " jsonb_array_elements_text(l.body -> 'ids') e WHERE l.kind = 'kept'",
                [],
            )
        elif kind in MODELS:
            self._take_rows(kind)

    def _drop_fragments(self, ids: str) -> None:
        """Earlier bundles' fragments with these ids, and all under them."""
        execute(
            f"""WITH gone AS MATERIALIZED (
                DELETE FROM staged_fragment WHERE bundle < {self.bundle} AND id IN ({ids}) RETURNING id)
            {
                "".join(
                    f", {name} AS (DELETE FROM staged_{name} WHERE fragment_id IN (SELECT id FROM gone))"
                    for name in (*UNDER, "vector")
                )
            }
            SELECT 1""",
            [],
        )

    def _take_rows(self, kind: str) -> None:
        if kind == "fragment" and self.bundle:
            self._drop_fragments("SELECT (l.body #>> '{row,id}')::uuid FROM staged_line l WHERE l.kind = 'fragment'")
        told = {"namespace_id": NAMESPACE}
        if kind == "fragment":
            told |= {"bundle": str(self.bundle), "ordinal": "l.ordinal"}
        if kind == "archive":
            told["payload"] = "convert_to((l.body -> 'copy')::text, 'UTF8')"
        if kind == "erasure":
            told = {"scope": "l.body ->> 'scope'"}
        once = "ON CONFLICT DO NOTHING" if kind == "archive" and self.bundle else ""
        self._insert(kind, "l.body -> 'row'", where=f"l.kind = '{kind}'", told=told, once=once)
        if kind == "fragment":
            for name in UNDER:
                self._take_under(name)
        if kind == "episode":
            self._take_members()
        if kind == "archive":
            self._try_copies()

    def _take_under(self, name: str) -> None:
        each = f"nullif(l.body -> '{name}', 'null')"
        rows = f"(SELECT {each} AS e) AS t" if name in BY_FRAGMENT else f"jsonb_array_elements({each}) AS t (e)"
        told = {
            "fragment_id": "(l.body #>> '{row,id}')::uuid",
            "status": "l.body #>> '{row,status}'",
            "namespace_id": NAMESPACE,
        }
        if name == "claim":
            rows, told = CLAIMS, told | OF_CLAIM
        where = "l.kind = 'fragment' AND t.e IS NOT NULL"
        self._insert(name, "t.e", f"CROSS JOIN LATERAL {rows}", where=where, told=told)

    def _insert(
        self, name: str, row: str, beside: str = "", *, where: str, told: Mapping[str, str], once: str = ""
    ) -> None:
        """Write the rows that a JSON expression over the lines `l` holds; columns that are `told` in SQL are so.

        What a row lacks stands in one that is made once: to put it into the JSON of each takes as long again.
        """
        model = {**MODELS, **UNDER}[name]
        filled = {**_filled(name), "project_id": str(self.principal.project_id)}
        columns = [*columns_of(apps.get_model(model)), *ADDED.get(name, {})]
        values = {column: f'(blank.record)."{column}"' for column in filled} | dict(told)
        chosen = ", ".join(values.get(column, f'r."{column}"') for column in columns)
        execute(
            f"""WITH blank (record) AS MATERIALIZED (
                    SELECT jsonb_populate_record(NULL::staged_{name}, %(blank)s::jsonb))
                INSERT INTO staged_{name} ({", ".join(f'"{column}"' for column in columns)})
                SELECT {chosen} FROM blank CROSS JOIN staged_line l {beside}
                CROSS JOIN LATERAL jsonb_populate_record(blank.record, {row}) r
                WHERE {where} {once}""",
            {"blank": json.dumps({**specs()[model].later, **filled}), "places": self._stage_namespaces()},
        )

    def _try_copies(self) -> None:
        """Whether the rows that copies hold could be put back."""
        for name in COPIED:
            held = f"l.body #> '{{copy,{name.removeprefix('copied_')}}}'"
            rows = f"jsonb_build_array({held})" if name == "copied_fragment" else f"nullif({held}, 'null')"
            more = OF_COPY if name == "copied_claims" else ""
            execute(
                f"""INSERT INTO staged_{name} SELECT r.* FROM staged_line l
                    CROSS JOIN LATERAL jsonb_array_elements({rows}) AS t (e)
                    CROSS JOIN LATERAL jsonb_populate_record(NULL::staged_{name}, %s::jsonb || t.e
                        || jsonb_build_object('project_id', %s::text,
                            'namespace_id', %s::jsonb -> (l.body ->> 'namespace'),
                            'root_id', %s::jsonb -> (l.body ->> 'namespace')) {more}) r
                    WHERE l.kind = 'archive' AND l.body #>> '{{row,reason}}' <> 'compacted'""",
                [
                    json.dumps(dict(specs()[COPIED[name]].later)),
                    str(self.principal.project_id),
                    *[self._stage_namespaces()] * 2,
                ],
            )
        execute(f"TRUNCATE {', '.join(f'staged_{name}' for name in COPIED)}", [])

    def _take_members(self) -> None:
        execute(
            f"""INSERT INTO {MEMBERS} SELECT r.* FROM staged_line l
                CROSS JOIN LATERAL jsonb_array_elements(nullif(l.body -> 'members', 'null')) AS e
                CROSS JOIN LATERAL jsonb_populate_record(NULL::{MEMBERS}, e || jsonb_build_object(
                    'project_id', %s::text, 'episode_id', l.body #> '{{row,id}}')) r
                WHERE l.kind = 'episode'""",
            [str(self.principal.project_id)],
        )

    def _take_vectors(self, text: list[tuple[str, dict[str, Any]]]) -> None:
        with copying("COPY staged_vector FROM STDIN") as copy:
            for fragment_id, each in text:
                copy.write_row((fragment_id, each["model"], each["dim"], vector_text(unpacked(each["vector"]))))

    def _stage_namespaces(self) -> str:
        return json.dumps({name: row["id"] for name, row in self.namespaces.items()})


def _escaped(raw: bytes) -> bytes:
    """Return a line as a value of COPY."""
    return raw.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\r", b"\\r")


def _reason(error: Exception) -> str:
    """Postgres' word for what is wrong, without the values."""
    diagnostics = getattr(error.__cause__, "diag", None)
    name = diagnostics and (diagnostics.constraint_name or diagnostics.column_name)
    return f"{type(error).__name__}{f' of {name}' if name else ''}"

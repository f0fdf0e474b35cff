"""What the product needs of a Postgres database before its tables are made: role, extensions, rights, queue.

Plain psycopg, no Django, so that it costs little at each start. `prepare` may be called again and again.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
from pgmq.install import get_embedded_install_sql, get_embedded_sql_version
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

APP_ROLE = "nova_app"
EXTENSIONS = {"vector": (0, 8), "btree_gist": (1, 0)}  # name: the oldest version that will do
POSTGRES = 160000  # server_version_num
QUEUE = "celery"
REFUSED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject)
MEANWHILE = (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation)
LOCK = 0x6E6F7661  # advisory: two processes that prepare at once would disturb each other's grants
TEMPLATE_LOCK, WHOLE = LOCK + 1, "migrated"

Connection = psycopg.Connection[tuple[Any, ...]]


class NotPrepared(Exception):
    """The database lacks something; the message says what an administrator has to do."""


def url_for(url: str, name: str) -> str:
    """The same server and user, another database."""
    return urlsplit(url)._replace(path=f"/{quote(name, safe='')}").geturl()


def django_config(url: str, *, role: str | None = None) -> dict[str, Any]:
    """An entry for Django's DATABASES. Takes all that libpq takes (`?sslmode=`, a socket's folder as host, …)."""
    given = conninfo_to_dict(url, **_as(url, role))
    named = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    config: dict[str, Any] = {name: str(given.pop(key, "") or "") for name, key in named.items()}
    return {**config, "ENGINE": "django.db.backends.postgresql", "OPTIONS": given}


def conninfo(url: str, *, role: str | None = None) -> str:
    """The URL in libpq's keyword form, optionally acting as a role."""
    return make_conninfo(url, **_as(url, role))


def _as(url: str, role: str | None) -> dict[str, str]:
    told = str(conninfo_to_dict(url).get("options") or "")
    # Statements are short: starting helpers for one takes longer than it does. Seals and events wait for what is open.
    limits = "-c max_parallel_workers_per_gather=0 -c idle_in_transaction_session_timeout=10min"
    # What a restore or drill stages is read again and again; a session takes only as much of it as it needs.
    limits += " -c temp_buffers=256MB"
    options = [limits, told, f"-c role={role}"]
    return {"options": " ".join(filter(None, options))} if role else {}


def prepare(url: str) -> None:
    """Makes what is missing of role, extensions, rights and queue. Raises NotPrepared when it may not.

    The user of the URL becomes the owner of everything; it needs BYPASSRLS, because the tables' row-level security
    binds their owner too.
    """
    with connect(url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        _check_version(connection)
        _settle(connection)
        _grant(connection)
        _install_queue(connection)


def prepare_database(url: str, name: str, *, template: str = "template1") -> str:
    """Drop and make database `name` beside that of `url`, prepared, a copy of `template`; for tests. Return its URL.

    It gives up durability for speed: a commit does not wait for the disk. Who waits for a lock, or leaves a transaction
    open, gets an error rather than for ever.
    """
    copied, made = sql.Identifier(template), sql.Identifier(name)
    with connect(url) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(made))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(made, copied))
        for setting in (
            "synchronous_commit = off",
            "lock_timeout = '60s'",
            "idle_in_transaction_session_timeout = '3min'",
        ):
            connection.execute(sql.SQL("ALTER DATABASE {} SET {}").format(made, sql.SQL(setting)))
    prepare(url_for(url, name))
    return url_for(url, name)


@contextmanager
def template_database(url: str, name: str) -> Iterator[bool]:
    """Hold the database that others are copied from; yield whether it still has to be filled.

    It is marked as whole when the block ends well; one that is not marked is made anew. Others wait meanwhile.
    """
    with connect(url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        marked = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
        found = _one(connection, marked, name)
        if found != WHOLE:
            prepare_database(url, name)
        yield found != WHOLE
        if found != WHOLE:
            connection.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), WHOLE))


@contextmanager
def connect(url: str) -> Iterator[Connection]:
    """A connection that commits each statement. Raises NotPrepared with a hint when there is no database."""
    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        name, user = (conninfo_to_dict(url).get(key) for key in ("dbname", "user"))
        raise NotPrepared(
            f"DATABASE_URL does not lead to a database: {str(error).strip()}\nDoes Postgres run there, and are user "
            f'and password right? A missing database is made by CREATE DATABASE "{name}" OWNER "{user}";'
        ) from error
    with connection:
        yield connection


def _one(connection: Connection, query: str, *values: Any) -> Any:
    row = connection.execute(query, values).fetchone()
    return row[0] if row else None


def _check_version(connection: Connection) -> None:
    if connection.info.server_version < POSTGRES:
        raise NotPrepared(
            f"This is Postgres {connection.info.server_version // 10000}; NovaMem needs {POSTGRES // 10000} or newer."
        )


def _role_steps(connection: Connection) -> list[str]:
    user = sql.Identifier(connection.info.user).as_string(connection)
    exists = _one(connection, "SELECT true FROM pg_roles WHERE rolname = %s", APP_ROLE)
    member = exists and _one(connection, "SELECT pg_has_role(current_user, %s, 'SET')", APP_ROLE)
    bypass = _one(connection, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    return [
        *([] if exists else [f"CREATE ROLE {APP_ROLE} NOLOGIN"]),
        *([] if member else [f"GRANT {APP_ROLE} TO {user}"]),
        *([] if bypass else [f"ALTER ROLE {user} BYPASSRLS"]),
    ]


def _database_steps(connection: Connection) -> list[str]:
    user, name = (sql.Identifier(n).as_string(connection) for n in (connection.info.user, connection.info.dbname))
    schemas = _one(connection, "SELECT has_database_privilege(current_database(), 'CREATE')")
    tables = _one(connection, "SELECT has_schema_privilege('public', 'CREATE')")
    return [
        *([] if schemas else [f"GRANT CREATE ON DATABASE {name} TO {user}"]),
        *([] if tables else [f"GRANT CREATE ON SCHEMA public TO {user}"]),
        *(step for extension in EXTENSIONS for step in _extension_steps(connection, extension)),
    ]


def _extension_steps(connection: Connection, name: str) -> list[str]:
    row = connection.execute(
        "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = %s", [name]
    ).fetchone()
    needed = EXTENSIONS[name]
    if row is None or max(_version(row[0] or ""), _version(row[1])) < needed:
        wanted = ".".join(map(str, needed))
        raise NotPrepared(
            f"The server has no extension {name} {wanted} or newer: install it there "
            "(vector: the package postgresql-NN-pgvector; btree_gist: postgresql-contrib)."
        )
    if row[0] is None:
        return [f"CREATE EXTENSION {name} SCHEMA public"]
    return [f"ALTER EXTENSION {name} UPDATE"] if _version(row[0]) < needed else []


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _missing(connection: Connection) -> list[str]:
    return [*_role_steps(connection), *_database_steps(connection)]


def _settle(connection: Connection) -> None:
    for step in _missing(connection):
        # undefined: a role that a refused step would have made; made already: roles are shared by all databases
        with suppress(*REFUSED, *MEANWHILE):
            connection.execute(step.encode())
    if refused := _missing(connection):  # asked again, for Postgres refuses some grants with a warning only
        lines = "".join(f"    {step};\n" for step in refused)
        raise NotPrepared(
            f"The user {connection.info.user} of DATABASE_URL may not do all that is needed once. Let a superuser run "
            f"this in the database {connection.info.dbname}, then start again:\n\n{lines}"
        )


def _grant(connection: Connection) -> None:
    """What the owner makes later may be used by the app role; row-level security decides which rows."""
    for right, kind in (("SELECT, INSERT, UPDATE, DELETE", "TABLES"), ("USAGE, SELECT", "SEQUENCES")):
        connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {right} ON {kind} TO {APP_ROLE}".encode())
    connection.execute(f"GRANT USAGE ON SCHEMA public TO {APP_ROLE}".encode())


def _install_queue(connection: Connection) -> None:
    """The job queue's tables and functions; made anew when its version changes (the jobs stand in our own rows)."""
    ours = f"pgmq {get_embedded_sql_version()} for NovaMem"
    found = _one(connection, "SELECT coalesce(obj_description(oid), '') FROM pg_namespace WHERE nspname = 'pgmq'")
    with connection.transaction():
        if found is None or (found != ours and found.endswith(" for NovaMem")):
            connection.execute("DROP SCHEMA IF EXISTS pgmq CASCADE")
            connection.execute(get_embedded_install_sql().encode())
            connection.execute(sql.SQL("COMMENT ON SCHEMA pgmq IS {}").format(ours))
        connection.execute("SELECT pgmq.create(%s)", [QUEUE])
        for right, kind in (
            ("USAGE", "SCHEMA"),
            ("SELECT, INSERT, UPDATE, DELETE", "ALL TABLES IN SCHEMA"),
            ("SELECT", "ALL SEQUENCES IN SCHEMA"),
        ):
            connection.execute(f"GRANT {right} ON {kind} pgmq TO {APP_ROLE}".encode())

"""What the product needs of a Postgres database before its tables are made: logins, extensions, rights, queue.

Plain psycopg, no Django, so that it costs little at each start. `prepare` may be called again and again.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

APP_ROLE = "nova_app"
EXTENSIONS = {"vector": (0, 8), "btree_gist": (1, 0)}  # name: the oldest version that will do
POSTGRES = 160000  # server_version_num
QUEUE = "celery"
REFUSED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject)
MEANWHILE = (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation)
# Statements are short: starting helpers for one takes longer than it does. Seals and events wait for what is open.
# What a restore or drill stages is read again and again; a session takes only as much of it as it needs.
# The login has them, not the connection: a pooler refuses what is given as it connects.
LIMITS = {
    "max_parallel_workers_per_gather": "0",
    "idle_in_transaction_session_timeout": "10min",
    "temp_buffers": "256MB",
}
APP, OWNER = "DATABASE_URL", "DATABASE_OWNER_URL"
HINT = f"""Web server, worker and scheduler log in as {APP_ROLE}, which is bound to one project at a time and can't
become the owner of the tables; only migrations and index builds log in as the owner. Set both:

    {OWNER}=…   the owner of the tables: what {APP} was before
    {APP}=postgres://{APP_ROLE}:PASSWORD@host:5432/name   the same database, with a new password of your choice

and start again: the login is made then, or you are told what a superuser has to run."""
LOCK = 0x6E6F7661  # advisory: two processes that prepare at once would disturb each other's grants
PATIENCE = "1min"  # which one waits for another to have prepared
TEMPLATE_LOCK, WHOLE = LOCK + 1, "migrated"
SCHEDULER_LOCK = LOCK + 2
MIGRATION_LOCK = LOCK + 3

Connection = psycopg.Connection[tuple[Any, ...]]


class NotPrepared(Exception):
    """The database lacks something; the message says what an administrator has to do."""


@dataclass(frozen=True, slots=True)
class Logins:
    """The URLs of one database: `app` for what serves, `owner` for what migrates and builds indexes (may be empty)."""

    app: str
    owner: str

    def environment(self) -> dict[str, str]:
        """Return the settings of a process that may use both."""
        return {APP: self.app, OWNER: self.owner}

    def serving(self) -> dict[str, str]:
        """Return the settings of a process that serves: without the owner, also where `.env` names it."""
        return {APP: self.app, OWNER: ""}

    def to(self, name: str) -> "Logins":
        """Return the logins to another database of the same server."""
        return Logins(url_for(self.app, name), url_for(self.owner, name))


def url_for(url: str, name: str) -> str:
    """Return the same server and user, another database."""
    return urlsplit(url)._replace(path=f"/{quote(name, safe='')}").geturl()


def django_config(url: str) -> dict[str, Any]:
    """An entry for Django's DATABASES. Takes all that libpq takes (`?sslmode=`, a socket's folder as host, …)."""
    given = conninfo_to_dict(url)
    named = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    config: dict[str, Any] = {name: str(given.pop(key, "") or "") for name, key in named.items()}
    return {**config, "ENGINE": "django.db.backends.postgresql", "OPTIONS": given}


def conninfo(url: str) -> str:
    """Return the URL in libpq's keyword form."""
    return make_conninfo("", **conninfo_to_dict(url))


def require_app(*, connection: Any, **_: object) -> None:
    """Raise ImproperlyConfigured when a new connection of Django's that serves has another login than the app's."""
    if connection.alias == "default" and (user := connection.connection.info.user) != APP_ROLE:
        raise ImproperlyConfigured(f"{APP} logs in as {user}. {HINT}")


def check_serving(url: str) -> None:
    """Raise NotPrepared when a URL is not the application's login."""
    if (user := conninfo_to_dict(url).get("user")) != APP_ROLE:
        raise NotPrepared(f"{APP} logs in as {user}. {HINT}")


def prepare(logins: Logins) -> None:
    """Make what is missing of logins, extensions, rights and queue. Raise NotPrepared when it may not.

    The owner owns everything; it needs BYPASSRLS, because the tables' row-level security binds their owner too.
    """
    user = conninfo_to_dict(logins.app).get("user")
    if not logins.owner or user != APP_ROLE or conninfo_to_dict(logins.owner).get("user") == APP_ROLE:
        raise NotPrepared(f"{APP} logs in as {user}, {OWNER} {'is not set' if not logins.owner else 'is set'}. {HINT}")
    with connect(logins.owner, setting=OWNER) as connection, _alone(connection):
        _check_version(connection)
        _settle(connection, password=str(conninfo_to_dict(logins.app).get("password") or ""))
        _grant(connection)
        _install_queue(connection)
        _limit(logins.app)


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """One at a time prepares a database. Raise NotPrepared when another one does not end."""
    connection.execute(sql.SQL("SET lock_timeout = {}").format(PATIENCE))
    try:
        connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    except psycopg.errors.LockNotAvailable as error:
        raise NotPrepared(
            f"Another process has been preparing this database for {PATIENCE}, or a pooler has kept its lock: wait for "
            f"it, or let {OWNER} lead to Postgres itself."
        ) from error
    try:
        connection.execute("RESET lock_timeout")
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def prepare_database(logins: Logins, name: str, *, template: str = "template1") -> Logins:
    """Drop and make database `name` beside that of the logins, prepared, a copy of `template`; for tests.

    Return its logins.

    It gives up durability for speed: a commit does not wait for the disk. Who waits for a lock, or leaves a transaction
    open, gets an error rather than for ever.
    """
    copied, made = sql.Identifier(template), sql.Identifier(name)
    drop_database(logins, name)
    with connect(logins.owner, setting=OWNER) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(made, copied))
        for setting in (
            "synchronous_commit = off",
            "lock_timeout = '60s'",
            "idle_in_transaction_session_timeout = '3min'",
        ):
            connection.execute(sql.SQL("ALTER DATABASE {} SET {}").format(made, sql.SQL(setting)))
    prepare(logins.to(name))
    return logins.to(name)


def drop_database(logins: Logins, name: str) -> None:
    """Drop database `name` beside that of the logins, if there is one; for tests.

    The owner's sessions in it are ended. It waits some seconds for all others to leave: WITH (FORCE) would be refused
    for the application's, even for one that is just ending, and for autovacuum's.
    """
    with connect(logins.owner, setting=OWNER) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = current_user",
            [name],
        )
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


@contextmanager
def template_database(logins: Logins, name: str) -> Iterator[bool]:
    """Hold the database that others are copied from; yield whether it still has to be filled.

    It is marked as whole when the block ends well; one that is not marked is made anew. Others wait meanwhile.
    """
    with connect(logins.owner, setting=OWNER) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        marked = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
        found = _one(connection, marked, name)
        if found != WHOLE:
            prepare_database(logins, name)
        yield found != WHOLE
        if found != WHOLE:
            connection.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), WHOLE))


@contextmanager
def connect(url: str, *, setting: str = APP) -> Iterator[Connection]:
    """A connection that commits each statement. Raise NotPrepared with a hint when there is no database."""
    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        name, user = (conninfo_to_dict(url).get(key) for key in ("dbname", "user"))
        why = " ".join(str(error).split())
        raise NotPrepared(
            f"{setting} does not lead to a database: {why} Does Postgres run there, and are user and password "
            f"right? {_remedy(str(name), str(user))}"
        ) from error
    with connection:
        yield connection


def _remedy(name: str, user: str) -> str:
    if user == APP_ROLE:
        return (
            f"On a new database `script/manage upgrade` makes this login; else a superuser or the owner sets its "
            f"password by \\password {APP_ROLE} in psql."
        )
    return f'A missing database is made by CREATE DATABASE "{name}" OWNER "{user}";'


def _one(connection: Connection, query: str, *values: Any) -> Any:
    row = connection.execute(query, values).fetchone()
    return row[0] if row else None


def _check_version(connection: Connection) -> None:
    if connection.info.server_version < POSTGRES:
        raise NotPrepared(
            f"This is Postgres {connection.info.server_version // 10000}; NovaMem needs {POSTGRES // 10000} or newer."
        )


def _role_steps(connection: Connection, *, password: str) -> list[str]:
    user = sql.Identifier(connection.info.user).as_string(connection)
    bypass = _one(connection, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    return [*_app_steps(connection, password=password), *([] if bypass else [f"ALTER ROLE {user} BYPASSRLS"])]


def _app_steps(connection: Connection, *, password: str) -> list[str]:
    """Return what makes the application's login: one that can be nobody else, whatever is injected into its statements.

    The password stands there as Postgres keeps it, so that it can be shown.
    """
    found = connection.execute(
        "SELECT rolcanlogin, rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = %s",
        [APP_ROLE],
    ).fetchone()
    others = connection.execute(
        "SELECT roleid::regrole::text FROM pg_auth_members WHERE member = to_regrole(%s)", [APP_ROLE]
    )
    kept = connection.pgconn.encrypt_password(password.encode(), APP_ROLE.encode()).decode() if password else ""
    login = f"LOGIN PASSWORD {sql.Literal(kept).as_string(connection)}" if kept else "LOGIN"
    return [
        *([f"CREATE ROLE {APP_ROLE} {login}"] if found is None else []),
        *([f"ALTER ROLE {APP_ROLE} {login}"] if found and not found[0] else []),
        *([f"ALTER ROLE {APP_ROLE} NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB"] if found and found[1] else []),
        *(f"REVOKE {role} FROM {APP_ROLE}" for (role,) in others),
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


def _missing(connection: Connection, *, password: str) -> list[str]:
    return [*_role_steps(connection, password=password), *_database_steps(connection)]


def _settle(connection: Connection, *, password: str) -> None:
    for step in _missing(connection, password=password):
        # undefined: a role that a refused step would have made; made already: roles are shared by all databases
        with suppress(*REFUSED, *MEANWHILE):
            connection.execute(step.encode())
    # Asked again, for Postgres refuses some grants with a warning only.
    if refused := _missing(connection, password=password):
        lines = "".join(f"    {step};\n" for step in refused)
        raise NotPrepared(
            f"The user {connection.info.user} of {OWNER} may not do all that is needed once. Let a superuser run "
            f"this in the database {connection.info.dbname}, then start again:\n\n{lines}"
        )


def _grant(connection: Connection) -> None:
    """What the owner makes later may be used by the app role; row-level security decides which rows."""
    for right, kind in (("SELECT, INSERT, UPDATE, DELETE", "TABLES"), ("USAGE, SELECT", "SEQUENCES")):
        connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {right} ON {kind} TO {APP_ROLE}".encode())
    connection.execute(f"GRANT USAGE ON SCHEMA public TO {APP_ROLE}".encode())


def _limit(url: str) -> None:
    """As the app, which may change its own: its limits in this database. So its password is known to be right, too."""
    alter = sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET {} = {}")
    with connect(url) as connection:
        here = "SELECT oid FROM pg_database WHERE datname = current_database()"
        found = (
            f"SELECT setconfig FROM pg_db_role_setting WHERE setdatabase = ({here}) AND setrole = '{APP_ROLE}'::regrole"
        )
        present = _one(connection, found) or []
        for name, value in LIMITS.items():
            if f"{name}={value}" not in present:
                names = map(sql.Identifier, (connection.info.dbname, name))
                connection.execute(alter.format(*names, value))


def _install_queue(connection: Connection) -> None:
    """The job queue's tables and functions; made anew when its version changes (the jobs stand in our own rows)."""
    ours = f"pgmq {version('pgmq')} for NovaMem"
    found = _one(connection, "SELECT coalesce(obj_description(oid), '') FROM pg_namespace WHERE nspname = 'pgmq'")
    with connection.transaction():
        if found is None or (found != ours and found.endswith(" for NovaMem")):
            connection.execute("DROP SCHEMA IF EXISTS pgmq CASCADE")
            from pgmq.install import get_embedded_install_sql  # only here: it brings the whole client

            connection.execute(get_embedded_install_sql().encode())
            connection.execute(sql.SQL("COMMENT ON SCHEMA pgmq IS {}").format(ours))
        connection.execute("SELECT pgmq.create(%s)", [QUEUE])
        # Its table is unlogged: after a crash no worker would be woken.
        if not _one(connection, "SELECT count(*) FROM pgmq.notify_insert_throttle WHERE queue_name = %s", QUEUE):
            connection.execute("SELECT pgmq.enable_notify_insert(%s, 0)", [QUEUE])
        for right, kind in (
            ("USAGE", "SCHEMA"),
            ("SELECT, INSERT, UPDATE, DELETE", "ALL TABLES IN SCHEMA"),
            ("SELECT", "ALL SEQUENCES IN SCHEMA"),
        ):
            connection.execute(f"GRANT {right} ON {kind} pgmq TO {APP_ROLE}".encode())

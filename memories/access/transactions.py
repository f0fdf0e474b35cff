"""Transactions: one project's rows at a time, with who acts for row history; connections and what disturbs them.

`with enter(principal): …` is short. Nothing slow happens inside: embedding and other provider calls come before it.
"""

import hashlib
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import structlog
from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from psycopg import sql

from memories.errors import NotPermitted, NovaError
from memories.models import Project
from memories.models.sql import keeps_statements

if TYPE_CHECKING:
    from memories.access.principals import Principal

T = TypeVar("T")
DISTURBED = ("40P01", "40001")  # a deadlock, and two transactions that can't both be as if alone
BELONGING = ("_namespace_id_fk", "_project_fk")  # constraints by what a row belongs to
CUT_OFF = ("08", "57P")  # connections that broke or are refused, and a server that ends
RETRY_DELAYS = (0.1, 0.2, 0.4, 0.8, 1.6)  # docs/spec.md §15
log = structlog.get_logger(__name__)
_away = threading.Event()  # this process found that all tries were in vain
_patience = threading.Lock()  # of the one who goes on trying meanwhile
ACTOR = ("kind", "owner", "key", "user")  # of an event's context

# Whoever contains a key holds it alone: what the key writes is there before, or not at all. Each statement sees what
# was committed before it, so the second also what the first waited for.
HELD = """SELECT pg_advisory_xact_lock_shared({}); SELECT EXISTS (SELECT FROM memories_containment
    WHERE project_id = {} AND undone_at IS NULL AND report -> 'keys' ? {})"""

_entered: ContextVar["Principal | None"] = ContextVar("entered", default=None)
_asked_by: ContextVar[Mapping[str, Any]] = ContextVar("asked_by", default=MappingProxyType({}))


class KeyContained(NotPermitted):
    """What the key writes is contained since its request was let in."""

    def __init__(self) -> None:
        super().__init__("what this key writes is contained")


class GoneMeanwhile(NovaError):
    """Somebody deleted the namespace or project while this was written into it; nothing was written."""

    code = "gone_meanwhile"
    title = "It was deleted meanwhile"
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("what this belongs to was deleted meanwhile: ask again")


@contextmanager
def attribute_to(actor: Mapping[str, Any]) -> Iterator[None]:
    """What the service does meanwhile is ascribed to whom an event names: who asked it to."""
    token = _asked_by.set({name: actor[name] for name in ACTOR if name in actor})
    try:
        yield
    finally:
        _asked_by.reset(token)


@contextmanager
def enter(principal: "Principal", *, why: str, keeps_plans: bool = False, reads_only: bool = False) -> Iterator[None]:
    """One transaction in the principal's project; inside another one of the same project, a part of it.

    `keeps_plans`: what it prepares is planned once, for whatever values. It changes no memory then, nor with
    `reads_only`, and a containment of the key is nothing to it; nothing was asked yet when it begins.

    Raise OperationalError when Postgres stays away through all tries, about ten seconds, GoneMeanwhile, and
    KeyContained: nothing was written then.
    """
    # Work in another thread may come with a copy of what stands in the context, and has a connection of its own.
    outer = _entered.get() if connection.in_atomic_block else None
    if outer is not None:
        if outer.project_id != principal.project_id:
            raise RuntimeError("a transaction never crosses projects")
        if principal.key_id not in (None, outer.key_id):
            _refuse_contained(sql.SQL(HELD).format(*_held(principal)))
        if outer.seen_users == principal.seen_users:
            yield
            return
        _show_users(principal)
        token = _entered.set(principal)
        try:
            yield
        finally:
            _entered.reset(token)
            if not connection.needs_rollback:
                _show_users(outer)
        return
    connect()
    token = _entered.set(principal)
    try:
        with transaction.atomic():
            try:
                context = _context(principal, why)
                settings = _settings(principal.project_id, context, users=principal.seen_users, keeps_plans=keeps_plans)
                if keeps_plans or reads_only or principal.key_id is None:
                    _execute(settings)
                else:  # in one trip
                    _refuse_contained(sql.SQL("; ").join([settings, sql.SQL(HELD).format(*_held(principal))]))
                yield
            finally:
                _entered.reset(token)  # before the commit: what waits for that enters anew
    except IntegrityError as error:
        if _has_gone(error, principal):
            raise GoneMeanwhile from error
        raise
    finally:
        if connection.in_atomic_block and not connection.needs_rollback:
            # An outer transaction goes on: it must not keep seeing this project.
            _execute(_settings(None, None, users=""))


@contextmanager
def showing_all_users() -> Iterator[None]:
    """Within `enter`: what follows sees the scopes of all users, whoever asks; a namespace's rules are theirs, too."""
    inside = _entered.get()
    if inside is None:
        raise RuntimeError("users are shown within a transaction of their project")
    with enter(inside.of_everybody(), why=""):
        yield


def _has_gone(error: IntegrityError, principal: "Principal") -> bool:
    """Return whether what was written belongs to something that is not there any more."""
    broken = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) or ""
    return broken.endswith(BELONGING) or not Project.objects.filter(id=principal.project_id).exists()


@contextmanager
def attributed_transaction(user: Any, *, why: str) -> Iterator[None]:
    """One transaction that row history ascribes to a person, in no project: for the global tables."""
    context = json.dumps({"kind": "person", "user": str(user.pk), "why": why})
    with transaction.atomic():
        _execute(_settings(None, context, users=""))
        yield
        if not connection.needs_rollback:
            _execute(_settings(None, None, users=""))  # an outer transaction goes on


def connect() -> None:
    """A connection for what follows; tries for about ten seconds. Raise OperationalError: away, or all are in use.

    Once somebody tried for so long in vain, one caller at a time does so and the others try once, until one succeeds:
    a thread that waits answers nobody else.
    """
    known = _away.is_set()
    patient = not known or _patience.acquire(blocking=False)
    try:
        _try_after(RETRY_DELAYS if patient else ())
    finally:
        if known and patient:
            _patience.release()


def _try_after(delays: tuple[float, ...]) -> None:
    for delay in (*delays, None):
        try:
            connection.ensure_connection()
        except (OperationalError, InterfaceError):
            if delay is None:
                if delays:
                    _away.set()
                raise
            time.sleep(delay)
        else:
            _away.clear()
            return


def retry_on_contention(work: Callable[[], T]) -> T:
    """Do it; again, a random moment later, where another transaction was in its way, up to five times.

    `work` begins its transactions itself, and goes on from what is committed when it is begun anew.
    """
    for delay in RETRY_DELAYS:
        try:
            return work()
        except OperationalError as error:
            if connection.in_atomic_block or getattr(error.__cause__, "sqlstate", None) not in DISTURBED:
                raise
            log.info("begun_anew", why=type(error.__cause__).__name__)
        time.sleep(random.uniform(delay / 2, delay * 2))  # those who met shall not meet again
    return work()


def is_cut_off(error: Exception) -> bool:
    """Return whether an error tells that the database went away; libpq's own have no code."""
    state = getattr(error.__cause__, "sqlstate", None)
    return isinstance(error, OperationalError | InterfaceError) and (state is None or state.startswith(CUT_OFF))


def _context(principal: "Principal", why: str) -> str:
    """Return who and why, for row history: ids and words of ours, never a caller's text."""
    who = {"kind": principal.kind, "owner": principal.owner_id, "key": principal.key_id, "user": principal.user_id}
    if principal.kind == "system":
        who |= _asked_by.get()
    return json.dumps({k: str(v) for k, v in {**who, "request": _request_id(), "why": why}.items() if v is not None})


def _request_id() -> Any:
    return structlog.contextvars.get_contextvars().get("request_id")


def _settings(
    project_id: uuid.UUID | None, context: str | None, *, users: str, keeps_plans: bool = False
) -> sql.Composed:
    # Literals, not set_config: they have to reach the workers of a distributed database. The session names the request,
    # as the text of a prepared statement can't.
    plans = "force_generic_plan" if keeps_plans and keeps_statements() else "DEFAULT"
    statement = f"""SET LOCAL nova.project = {{}}; SET LOCAL nova.users = {{}}; SET LOCAL plan_cache_mode = {plans};
        SET LOCAL pghistory.context_metadata = {{}}; SET LOCAL application_name = {{}}"""
    values = [str(project_id or ""), users, context or "", f"novamem {_request_id() or ''}".strip()]
    return sql.SQL(statement).format(*map(sql.Literal, values))


def _execute(statement: sql.Composed) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _held(principal: "Principal") -> list[sql.Literal]:
    assert principal.key_id is not None
    values = [_key_number(principal.key_id), str(principal.project_id), str(principal.key_id)]
    return [sql.Literal(value) for value in values]


def _refuse_contained(statements: sql.Composed) -> None:
    """Run statements that end with HELD. Raise KeyContained."""
    with connection.cursor() as cursor:
        cursor.execute(statements)
        while cursor.nextset():
            pass
        if cursor.fetchone()[0]:
            raise KeyContained


def hold_writers(key_ids: Iterable[uuid.UUID]) -> None:
    """Wait for what these keys are writing; they begin nothing until the transaction ends. Before any other lock."""
    numbers = sorted(map(_key_number, key_ids))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(pg_advisory_xact_lock(n)) FROM unnest(%s::bigint[]) AS n", [numbers])


def _key_number(key_id: uuid.UUID) -> int:
    return int.from_bytes(hashlib.sha256(b"key" + key_id.bytes).digest()[:8], signed=True)


def _show_users(principal: "Principal") -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SET LOCAL nova.users = {}").format(sql.Literal(principal.seen_users)))

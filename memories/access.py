"""The one gate from an API key or a person to the rows they may touch.

`with enter(principal): …` is one short transaction in which row-level security shows the principal's project and
row history knows who acts. Nothing slow happens inside: embedding and other provider calls come before it.
"""

import datetime
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction
from psycopg import sql

from memories.models import ApiKey, KeyText, Membership, Namespace, Owner, Project
from memories.models.namespace import FORM, SHARED
from memories.models.words import OwnerKind, Role, SourceClass, Verb

RETRY_DELAYS = (0.1, 0.2, 0.4, 0.8, 1.6)  # [1]: 100 ms doubling, five times
_away = threading.Event()  # this process found that all tries were in vain
_patience = threading.Lock()  # of the one who goes on trying meanwhile
ROLE_VERBS = {
    Role.VIEWER: frozenset({Verb.READ}),
    Role.REVIEWER: frozenset({Verb.READ, Verb.WRITE, Verb.REVIEW}),
    Role.ADMIN: frozenset(Verb),
}


class NotFound(Exception):
    """It does not exist, or the principal may not know that it does: both look the same."""

    code = "not_found"

    @property
    def told(self) -> dict[str, str]:
        """What kind of thing it is, for an operation that ends by it."""
        return {"missing": str(self).partition(" ")[0]}


class NotPermitted(Exception):
    """The principal sees the thing but lacks the right to do this with it."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts: a key, a person or the service itself, and what they may do in one project."""

    project_id: uuid.UUID
    project: str
    owner_id: uuid.UUID | None
    owner: str
    namespaces: tuple[str, ...]
    verbs: frozenset[str]
    ceiling: str
    kind: str = "key"
    key_id: uuid.UUID | None = None
    grant_id: uuid.UUID | None = None
    user_id: int | None = None
    may_attest_user: bool = False
    may_read_wide: bool = False
    requests_per_minute: int = 0

    # What rest_framework and the templates ask of whoever is logged in.
    is_authenticated = True

    def covers(self, namespace: str) -> bool:
        """Whether a namespace name is the principal's to use."""
        return namespace.startswith(f"{self.project}:") and any(fnmatchcase(namespace, p) for p in self.namespaces)

    @property
    def covers_all(self) -> bool:
        """Whether it covers the whole project, not only some of its namespaces."""
        return f"{self.project}:*" in self.namespaces

    def covers_reading(self, namespace: str) -> bool:
        """As `covers`; whoever reads anything of a project also reads what it shares."""
        return self.covers(namespace) or (bool(self.namespaces) and namespace == f"{self.project}:{SHARED}")

    def require(self, verb: str) -> None:
        """Raises NotPermitted without the verb."""
        if verb not in self.verbs:
            raise NotPermitted(f"this needs the verb {verb}")


def principal_of_key(text: str, *, now: datetime.datetime) -> Principal | None:
    """The principal behind a key, or None: unknown, revoked and expired look the same."""
    key = KeyText.parse(text)
    row = _find_key(key) if key else None
    if row is None or any(row[end] and row[end] <= now for end in ("revoked_at", "expires_at")):
        return None
    return Principal(
        project_id=row["project_id"],
        project=row["project_name"],
        owner_id=row["owner_id"],
        owner=row["owner_name"],
        namespaces=tuple(row["namespaces"]),
        verbs=frozenset(row["verbs"]),
        ceiling=row["ceiling"],
        key_id=row["id"],
        grant_id=row["grant_id"],
        may_attest_user=row["may_attest_user"],
        may_read_wide=row["may_read_wide"],
        requests_per_minute=row["requests_per_minute"],
    )


def principal_of_row(key: ApiKey) -> Principal:
    """The principal behind a key's row, whatever became of the key since; loads project, owner and grant."""
    return Principal(
        project_id=key.project_id,
        project=key.project.name,
        owner_id=key.owner_id,
        owner=key.owner.name,
        namespaces=tuple(key.grant.namespaces),
        verbs=frozenset(key.grant.verbs),
        ceiling=key.grant.ceiling,
        key_id=key.id,
        grant_id=key.grant_id,
        may_attest_user=key.grant.may_attest_user,
        may_read_wide=key.grant.may_read_wide,
        requests_per_minute=key.grant.requests_per_minute,
    )


def _find_key(key: KeyText) -> dict[str, Any] | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM nova_find_key(%s)", [key.key_id])
        columns = [column.name for column in cursor.description]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor]
    return next((row for row in rows if bytes(row["digest"]) == key.digest), None)


def principal_of_member(user: Any, *, project: str) -> Principal | None:
    """The principal of a person in a project they belong to, else None."""
    member = Membership.objects.select_related("project").filter(user=user, project__name=project).first()
    if member is None:
        return None
    ground = system_principal(member.project)
    with enter(ground, why="login"):
        owner, _ = Owner.objects.get_or_create(
            project=member.project,
            name=f"user:{user.get_username()}",
            defaults={"kind": OwnerKind.PERSON, "user_id": user.pk},
        )
    return Principal(
        project_id=member.project.id,
        project=member.project.name,
        owner_id=owner.id,
        owner=owner.name,
        namespaces=(f"{member.project.name}:*",),
        verbs=ROLE_VERBS[Role(member.role)],
        ceiling=SourceClass.USER_EXPLICIT,
        kind="person",
        may_read_wide=True,
        user_id=user.pk,
    )


def system_principal(project: Project, *, ceiling: str = SourceClass.SYSTEM) -> Principal:
    """The service itself, or the operator at the command line, in one project."""
    return Principal(
        project_id=project.id,
        project=project.name,
        owner_id=None,
        owner="system",
        namespaces=(f"{project.name}:*",),
        verbs=frozenset(Verb),
        ceiling=ceiling,
        kind="system",
        may_read_wide=True,
    )


_entered: ContextVar[Principal | None] = ContextVar("entered", default=None)


@contextmanager
def enter(principal: Principal, *, why: str) -> Iterator[None]:
    """One transaction in the principal's project; inside another one of the same project, a part of it.

    Raises OperationalError when Postgres stays away through all tries, about ten seconds: nothing was written then.
    """
    outer = _entered.get()
    if outer is not None:
        if outer.project_id != principal.project_id:
            raise RuntimeError("a transaction never crosses projects")
        yield
        return
    connect()
    token = _entered.set(principal)
    try:
        with transaction.atomic():
            try:
                _set_local(principal.project_id, _context(principal, why))
                yield
            finally:
                _entered.reset(token)  # before the commit: what waits for that enters anew
    finally:
        if connection.in_atomic_block and not connection.needs_rollback:
            _set_local(None, None)  # an outer transaction goes on: it must not keep seeing this project


def connect() -> None:
    """A connection for what follows; tries for about ten seconds. Raises OperationalError: away, or all are in use.

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


def _context(principal: Principal, why: str) -> str:
    """Who and why, for row history: ids and words of ours, never a caller's text."""
    who = {"kind": principal.kind, "owner": principal.owner_id, "key": principal.key_id, "user": principal.user_id}
    request = structlog.contextvars.get_contextvars().get("request_id")
    return json.dumps({k: str(v) for k, v in {**who, "request": request, "why": why}.items() if v is not None})


def _set_local(project_id: uuid.UUID | None, context: str | None) -> None:
    # A literal, not set_config: it has to reach the workers of a distributed database (DESIGN §7).
    statement = sql.SQL("SET LOCAL nova.project = {}; SET LOCAL pghistory.context_metadata = {}").format(
        sql.Literal(str(project_id or "")), sql.Literal(context or "")
    )
    with connection.cursor() as cursor:
        cursor.execute(statement)


def readable(principal: Principal, names: list[str]) -> list[Namespace]:
    """The existing ones among covered names. Raises NotFound when one is not covered."""
    require_readable(principal, names)
    return list(Namespace.objects.within(principal.project_id).named(names))


def require_readable(principal: Principal, names: list[str]) -> None:
    """Raises NotFound when one of the names is not covered; whether they exist is not asked."""
    for name in names:
        if not FORM.fullmatch(name) or not principal.covers_reading(name):
            raise NotFound(f"namespace {name}")


def all_readable(principal: Principal) -> list[Namespace]:
    """Every namespace that the principal covers."""
    rows = Namespace.objects.within(principal.project_id).order_by("name")
    return [row for row in rows if principal.covers_reading(row.name)]


def writable(principal: Principal, name: str) -> Namespace:
    """A covered namespace, made when it is missing. Raises NotFound when it is not covered."""
    if not FORM.fullmatch(name) or not principal.covers(name):
        raise NotFound(f"namespace {name}")
    return Namespace.objects.ensure(project_id=principal.project_id, name=name)

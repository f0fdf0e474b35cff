"""Principals: who acts, and what they may do in one project."""

import datetime
import hmac
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from django.db.models import Exists, OuterRef

from memories.access.transactions import enter
from memories.errors import NotPermitted, NovaError, UserRequired
from memories.models import ApiKey, Containment, EmbeddingModel, KeyText, Membership, Owner, Project
from memories.models.enums import OwnerKind, Role, SourceClass, Users, Verb
from memories.models.limits import TAKE, Allowance
from memories.models.namespace import SHARED, BadUser, parts_of, scope_name, user_of
from memories.models.sql import prepared_cursor

MODEL_COLUMNS = [str(column.column) for column in EmbeddingModel._meta.concrete_fields]
# Only who has the secret takes of the key's tokens; that it is the same is decided in constant time besides.
ADMIT = f"""
    WITH found AS MATERIALIZED (SELECT * FROM nova_find_key(%(key)s)),
    taken AS ({
    TAKE.format(
        source='''(SELECT id AS key, requests_per_minute::float AS rate FROM found
            WHERE digest = %(digest)s AND requests_per_minute > 0
                AND coalesce(revoked_at, 'infinity') > %(now)s AND coalesce(expires_at, 'infinity') > %(now)s)'''
    )
})
    SELECT found.*, (SELECT wait FROM taken), (SELECT tokens FROM taken), {
    ", ".join(f'm."{name}" AS "model_{name}"' for name in MODEL_COLUMNS)
}
    FROM found LEFT JOIN memories_embeddingmodel m ON m.state = 'active'"""

OWNER_LIMIT = Owner._meta.get_field("name").max_length or 0  # characters
CLIENT = "client"  # whose owner is a person's, who let it in
ONE_OR_ALL = "Name one user or all of them."
ROLE_VERBS = {
    Role.VIEWER: frozenset({Verb.READ}),
    Role.REVIEWER: frozenset({Verb.READ, Verb.WRITE, Verb.REVIEW}),
    Role.ADMIN: frozenset(Verb),
}


class NotFound(NovaError):
    """It does not exist, or the principal may not know that it does: both look the same."""

    status = 404
    code = "not_found"
    is_public = False

    @property
    def summary(self) -> dict[str, Any]:
        """Return what kind of thing it is."""
        return {"missing": str(self).partition(" ")[0]}


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of users: `*` stands for any characters, `\\*` and `\\\\` for themselves."""
    parts = [[""]]  # what stands between stars
    for part in re.split(r"(\\[\\*]|\*)", pattern):
        if part == "*":
            parts.append([""])
        else:
            parts[-1].append(part.removeprefix("\\") if len(part) == 2 else part)
    first, *others = (re.escape("".join(part)) for part in parts)
    # The first place that fits each part is as good as any other: nothing is tried twice, however many stars there are.
    middle = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    return re.compile(first + (f"{middle}.*{others[-1]}" if others else ""), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts: a key, a person or the service itself, and what they may do in one project.

    `user`: for which user this request is; it then sees that user's scopes, and of what it changes only these.
    `all_users`: this request is about the scopes of all users. `named`: the users that parts of a batch are about.
    """

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
    upstream_paths: tuple[str, ...] = ()
    requests_per_minute: int = 0
    users: str = Users.OPTIONAL
    user_patterns: tuple[str, ...] = ("*",)
    user: str | None = None
    all_users: bool = False
    named: frozenset[str] = frozenset()
    # The installation is theirs: at the command line, or as a superuser. Never a key.
    is_operator: bool = False
    # What this person wrote in the project is set aside: until that is taken back, they only read.
    is_contained: bool = False
    # As it was when a request's key was looked up, which spares asking again; None elsewhere.
    active_model: EmbeddingModel | None = field(default=None, compare=False, repr=False)

    # What rest_framework and the templates ask of whoever is logged in.
    is_authenticated = True

    def covers(self, namespace: str) -> bool:
        """Return whether a namespace or scope, as it is written, is the principal's to change in this request."""
        try:
            root, user = parts_of(namespace)
        except BadUser:
            return False
        return self._covers_root(root) and user == self.user or self._covers_all_of(root, user)

    def require_covered(self, namespace: str) -> None:
        """Raise NotPermitted where a namespace or scope that it reads is not its to change in this request."""
        if self.covers(namespace):
            return
        if self.user is not None and replace(self, user=None).covers(namespace):
            raise NotPermitted("a request for a user changes that user's memories alone, not what is for all")
        raise NotPermitted("this key only reads here")

    def covers_reading(self, namespace: str) -> bool:
        """As `covers`; whoever reads for a user also reads what all users may know, and what the project shares."""
        try:
            root, user = parts_of(namespace)
        except BadUser:
            return False
        if user is None:
            return self._covers_root(root) or bool(self.namespaces) and root == f"{self.project}:{SHARED}"
        return self.covers(namespace)

    def _covers_all_of(self, root: str, user: str | None) -> bool:
        return self.all_users and self._covers_root(root) and (user is None or self.speaks_for(user))

    def _covers_root(self, root: str) -> bool:
        return root.startswith(f"{self.project}:") and any(fnmatchcase(root, p) for p in self.namespaces)

    def speaks_for(self, user: str) -> bool:
        """Return whether the grant reaches a user."""
        return self.users != Users.NONE and any(_pattern(pattern).fullmatch(user) for pattern in self.user_patterns)

    @property
    def speaks_for_all(self) -> bool:
        """Whether the grant reaches every user."""
        return self.users != Users.NONE and "*" in self.user_patterns

    @property
    def covers_all(self) -> bool:
        """Whether it covers the whole project with all users, not only some of its namespaces."""
        return f"{self.project}:*" in self.namespaces and self.speaks_for_all

    @property
    def asks_for_all(self) -> bool:
        """Whether a request may be about all of the project: its grant covers that, and it names no user."""
        return self.covers_all and self.user is None

    def scope(self, name: str) -> str:
        """Return a namespace as this request means it: with the request's user, unless the name has one."""
        root, user = parts_of(name)
        return scope_name(root, self.user) if user is None else name

    @property
    def seen_users(self) -> str:
        """Whose scopes the database shows in this request: `*`, or an array of users in Postgres' spelling."""
        if self.all_users:
            return "*"
        users = sorted(self.named | ({self.user} if self.user is not None else set()))
        quoted = (user.replace("\\", "\\\\").replace('"', '\\"') for user in users)
        return "{" + ",".join(f'"{user}"' for user in quoted) + "}"

    def naming(self, users: Iterable[str]) -> "Principal":
        """Return the principal of a batch whose parts name their users. Raise as `of_user` for each."""
        found = [self.of_user(user).user for user in users]
        return replace(self, named=frozenset(user for user in found if user is not None))

    def of_everybody(self) -> "Principal":
        """Return the principal of a request about namespaces as such, with whatever users the grant reaches."""
        return replace(self, user=None, all_users=True)

    def of_user(self, user: str | None, *, all_users: bool = False) -> "Principal":
        """Return the principal of a request about a user, or about all of them, or about none.

        Raise UserRequired, BadUser; NotPermitted for a user when the grant is for none, and for all users when it does
        not reach them; NotFound for one whom it does not reach.
        """
        if all_users:
            if user is not None:
                raise BadUser(ONE_OR_ALL)
            if not self.speaks_for_all:
                raise NotPermitted("this key does not speak for all users")
            return replace(self, user=None, all_users=True)
        if user is None:
            if self.users == Users.REQUIRED and not self.all_users:
                raise UserRequired
            return self
        if self.users == Users.NONE:
            raise NotPermitted("this key speaks for no users")
        named = user_of(user)
        if not self.speaks_for(named):
            raise NotFound("user")
        return replace(self, user=named, all_users=False)

    def require(self, verb: str) -> None:
        """Raise NotPermitted without the verb."""
        if verb not in self.verbs:
            raise NotPermitted(f"this needs the verb {verb}")


@dataclass(frozen=True, slots=True)
class AdmittedKey:
    """Whose key asks, and what it may still do; None where it has no limit."""

    principal: Principal
    allowance: Allowance | None


def principal_of_key(text: str, *, now: datetime.datetime) -> Principal | None:
    """Return the principal behind a key, or None: unknown, revoked and expired look the same."""
    key = KeyText.parse(text)
    row = _find_key("SELECT * FROM nova_find_key(%(key)s)", key) if key else None
    return _principal(row, now=now) if row else None


def admit_key(text: str, *, now: datetime.datetime) -> AdmittedKey | None:
    """As `principal_of_key`, and take one of the key's tokens; who asks and the active model come in one statement."""
    key = KeyText.parse(text)
    row = _find_key(ADMIT, key, now=now, weight=1) if key else None
    principal = _principal(row, now=now) if row else None
    if row is None or principal is None:
        return None
    values = [row[f"model_{name}"] for name in MODEL_COLUMNS]
    model = EmbeddingModel.from_db("default", MODEL_COLUMNS, values) if row["model_id"] else None
    wait, tokens = row["wait"], row["tokens"]
    allowance = None if wait is None else Allowance(principal.requests_per_minute, tokens, wait)
    return AdmittedKey(replace(principal, active_model=model), allowance)


def _principal(row: dict[str, Any], *, now: datetime.datetime) -> Principal | None:
    if any(row[end] and row[end] <= now for end in ("revoked_at", "expires_at")):
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
        users=row["users"],
        user_patterns=tuple(row["user_patterns"]),
        may_read_wide=row["may_read_wide"],
        upstream_paths=tuple(row["upstream_paths"]),
        requests_per_minute=row["requests_per_minute"],
    )


def principal_of_row(key: ApiKey) -> Principal:
    """Return the principal behind a key's row, whatever became of the key since; loads project, owner and grant."""
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
        users=key.grant.users,
        user_patterns=tuple(key.grant.user_patterns),
        may_read_wide=key.grant.may_read_wide,
        upstream_paths=tuple(key.grant.upstream_paths),
        requests_per_minute=key.grant.requests_per_minute,
    )


def _find_key(statement: str, key: KeyText, **params: Any) -> dict[str, Any] | None:
    with prepared_cursor() as cursor:
        cursor.execute(statement, {"key": key.key_id, "digest": key.digest, **params})
        columns = [column.name for column in cursor.description]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor]
    return next((row for row in rows if hmac.compare_digest(bytes(row["digest"]), key.digest)), None)


def principal_of_member(user: Any, *, project: str) -> Principal | None:
    """Return the principal of a person in a project they belong to, else None; whose words are contained only reads."""
    member = Membership.objects.select_related("project").filter(user=user, project__name=project).first()
    if member is None:
        return None
    ground = system_principal(member.project)
    with enter(ground, why="login"):
        of_them = Containment.objects.in_force(member.project_id).filter(target_id=OuterRef("id"))
        owner, _ = Owner.objects.annotate(is_contained=Exists(of_them)).get_or_create(
            project=member.project,
            name=owner_name("user", user.get_username(), user_id=user.pk),
            defaults={"kind": OwnerKind.PERSON, "user_id": user.pk},
        )
    is_contained = getattr(owner, "is_contained", False)  # who was not known before is not
    return Principal(
        project_id=member.project.id,
        project=member.project.name,
        owner_id=owner.id,
        owner=owner.name,
        namespaces=(f"{member.project.name}:*",),
        verbs=ROLE_VERBS[Role.VIEWER if is_contained else Role(member.role)],
        ceiling=SourceClass.USER_EXPLICIT,
        kind="person",
        may_read_wide=True,
        user_id=user.pk,
        all_users=True,
        is_operator=bool(user.is_superuser),
        is_contained=is_contained,
    )


def owner_name(kind: str, username: str, *, user_id: Any) -> str:
    """Return what the owner of a person's writes is called: by the username, of a long one by the account's number."""
    name = f"{kind}:{username}"
    return name if len(name) <= OWNER_LIMIT else f"{kind}:#{user_id}"  # with which no username begins


def system_principal(project: Project, *, ceiling: str = SourceClass.SYSTEM) -> Principal:
    """Return the service itself, or the operator at the command line, in one project."""
    return Principal(
        project_id=project.id,
        project=project.name,
        owner_id=None,
        owner="system",
        namespaces=(f"{project.name}:*",),
        verbs=frozenset(Verb),
        ceiling=ceiling,
        kind="system",
        all_users=True,
        may_read_wide=True,
        is_operator=True,
    )

"""Issuing, rotating and revoking API keys, and making the projects and owners they belong to."""

import datetime
import re
import unicodedata
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError

from memories import access
from memories.access import Principal
from memories.access.principals import OWNER_LIMIT
from memories.errors import NovaError
from memories.models import ApiKey, Authorization, Containment, Grant, KeyText, Owner, Project
from memories.models.enums import OwnerKind, SourceClass, Users, Verb
from memories.models.key import PATH_LIMIT, PATTERN_LIMIT, every_user
from memories.models.namespace import FORM

# A method or none, and a path below /v1/ in which `*` stands for any characters.
UPSTREAM_PATH = re.compile(r"((GET|HEAD|POST|PUT|PATCH|DELETE) )?[A-Za-z0-9*][A-Za-z0-9*._:/-]*")
OVERLAP = datetime.timedelta(hours=24)


class BadGrant(NovaError):
    """The grant can't be issued as asked."""

    status = 400
    code = "validation"
    title = "This key can’t be made"


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What a new key shall be allowed."""

    namespaces: list[str]
    verbs: list[str]
    ceiling: str
    may_attest_user: bool = False
    may_read_wide: bool = False
    upstream_paths: list[str] = field(default_factory=list)
    requests_per_minute: int = 600
    users: str = Users.OPTIONAL
    user_patterns: list[str] = field(default_factory=every_user)


@dataclass(frozen=True, slots=True)
class Issued:
    """A new key with its text, which is shown this once."""

    row: ApiKey
    text: str


def ensure_project(name: str) -> Project:
    """Return the project, made when it is missing. Raise BadGrant for a name that can't be one."""
    project = Project.objects.filter(name=name).first()
    if project is None:
        project = Project(name=name)
        try:
            project.full_clean()
        except ValidationError as error:
            raise BadGrant(f"project {name!r}: {'; '.join(error.messages)}") from error
        project.save()
    return project


def issue(
    project: Project,
    request: KeyRequest,
    *,
    owner: str | None,
    expires_at: datetime.datetime | None = None,
    by: Principal | None = None,
    text: KeyText | None = None,
) -> Issued:
    """Return a new key. Without `owner` it gets a service account of its own; the audit names `by`. Raise BadGrant."""
    check(project, request)
    if owner and len(owner) > OWNER_LIMIT:
        raise BadGrant(f"An owner's name has at most {OWNER_LIMIT} characters.")
    text = text or KeyText.fresh()
    with access.enter(by or access.system_principal(project), why="issue key"):
        account, _ = Owner.objects.get_or_create(
            project=project, name=owner or f"service:{text.key_id}", defaults={"kind": OwnerKind.SERVICE}
        )
        grant = Grant.objects.create(
            project=project,
            namespaces=request.namespaces,
            verbs=request.verbs,
            ceiling=request.ceiling,
            may_attest_user=request.may_attest_user,
            users=request.users,
            user_patterns=request.user_patterns,
            may_read_wide=request.may_read_wide,
            upstream_paths=request.upstream_paths,
            requests_per_minute=request.requests_per_minute,
        )
        row = _create(grant, account, text, expires_at=expires_at)
    return Issued(row, str(text))


def _create(grant: Grant, owner: Owner, text: KeyText, **more: object) -> ApiKey:
    row: ApiKey = ApiKey.objects.create(
        project_id=grant.project_id, key_id=text.key_id, digest=text.digest, grant=grant, owner=owner, **more
    )
    return row


def check(project: Project, request: KeyRequest) -> None:
    """Raise BadGrant for what no key can be allowed."""
    if not request.namespaces:
        raise BadGrant("give at least one namespace pattern, such as 'acme:*'")
    for pattern in request.namespaces:
        head, colon, agent = pattern.partition(":")
        plain = agent.replace("*", "x")
        if head != project.name or not colon or not FORM.fullmatch(f"{head}:{plain}"):
            raise BadGrant(
                f"namespace pattern {pattern!r} has to look like '{project.name}:*' or '{project.name}:agent'"
            )
    if unknown := set(request.verbs) - set(Verb.values):
        raise BadGrant(f"unknown verbs: {', '.join(sorted(unknown))}; use {', '.join(Verb.values)}")
    if not request.verbs:
        raise BadGrant(f"give at least one verb of {', '.join(Verb.values)}")
    if request.ceiling not in SourceClass.values:
        raise BadGrant(f"unknown ceiling {request.ceiling!r}; use one of {', '.join(SourceClass.values)}")
    _check_users(request)
    for pattern in request.upstream_paths:
        if not UPSTREAM_PATH.fullmatch(pattern) or len(pattern) > PATH_LIMIT:
            raise BadGrant(f"upstream path {pattern!r} has to look like 'GET files/*', 'POST batches' or 'files*'")
    if not 0 <= request.requests_per_minute <= 1_000_000:
        raise BadGrant("the rate has to lie between 0 (no limit) and 1000000 a minute")


def _check_users(request: KeyRequest) -> None:
    if request.users not in Users.values:
        raise BadGrant(f"unknown {request.users!r} for users; use {', '.join(Users.values)}")
    if not request.user_patterns or not all(1 <= len(pattern) <= PATTERN_LIMIT for pattern in request.user_patterns):
        raise BadGrant("give at least one pattern of users, such as '*' or 'team-*'")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in "".join(request.user_patterns)):
        raise BadGrant("a pattern of users has no control characters")


def find(project: Project, key_id: str) -> ApiKey:
    """Return the key with this id (the ten characters, or the row's uuid). Raise BadGrant."""
    rows = ApiKey.objects.within(project.id).select_related("grant", "owner")
    found = [row for row in rows if key_id in (row.key_id, str(row.id))]
    if not found:
        raise BadGrant(f"no key {key_id} in project {project.name}")
    result: ApiKey = found[0]
    return result


def revoke(project: Project, key_id: str, *, now: datetime.datetime, by: Principal | None = None) -> ApiKey:
    """End a key at once; a revoked one keeps its first end, but for one of a containment's, which may be taken back.

    Raise BadGrant.
    """
    with access.enter(by or access.system_principal(project), why="revoke key"):
        row = find(project, key_id)
        contained = Containment.objects.in_force(project.id).filter(report__keys__contains=[str(row.id)])
        if row.revoked_at is None or contained.exists():
            row.revoked_at = now
        row.save(update_fields=["revoked_at"])
    return row


def rotate(
    project: Project,
    key_id: str,
    *,
    now: datetime.datetime,
    overlap: datetime.timedelta = OVERLAP,
    by: Principal | None = None,
) -> Issued:
    """Return a new key with the same grant and owner; the old one goes on working for `overlap`. Raise BadGrant."""
    text = KeyText.fresh()
    with access.enter(by or access.system_principal(project), why="rotate key"):
        old = find(project, key_id)
        if old.revoked_at or (old.expires_at and old.expires_at <= now):
            raise BadGrant(f"key {key_id} has ended; issue a new one")
        if Authorization.objects.within(project.id).filter(key=old).exists():
            raise BadGrant(f"key {key_id} is a client's, which makes it anew by itself")
        row = _create(old.grant, old.owner, text, expires_at=old.expires_at, rotated_from=old)
        old.expires_at = min(old.expires_at or now + overlap, now + overlap)
        old.save(update_fields=["expires_at"])
    return Issued(row, str(text))

"""Authorizations: what a person lets a client do by OAuth 2.1, as a key that ends soon and is made anew (0152)."""

import datetime
import hmac
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import structlog
from django.contrib.auth import get_user_model
from django.core import signing
from django.db import IntegrityError
from django.utils.crypto import salted_hmac

from memories import access
from memories.access import Principal, keys
from memories.access.oauth_clients import OAuthClient
from memories.access.principals import CLIENT, owner_name
from memories.models import ApiKey, Authorization, KeyText, Project
from memories.models.enums import SourceClass
from memories.models.key import SECRET_LENGTH, base62

log = structlog.get_logger(__name__)
CODE, REFRESH, SECRET = "novamem.oauth.code", "novamem.oauth.refresh", "novamem.oauth.secret"
CODE_LIFE = datetime.timedelta(minutes=2)
TOKEN_LIFE = datetime.timedelta(hours=1)
REFRESH_LIFE = datetime.timedelta(days=30)
# In which a refresh is answered again: its answer was lost, or two programs of the client asked at once.
AGAIN = datetime.timedelta(seconds=20)
CEILING = SourceClass.TOOL_OUTPUT


class NotAuthorized(Exception):
    """A code or a token is none, was used before, or its person may not any more."""


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person lets a client do: `verbs` in `namespaces` (patterns) of a project."""

    id: str
    project: str
    user_id: int
    client: str
    client_name: str
    redirect_uri: str  # empty where the client named none
    challenge: str
    resource: str
    namespaces: list[str]
    verbs: list[str]

    @property
    def request(self) -> keys.KeyRequest:
        """The key that it is."""
        return keys.KeyRequest(namespaces=self.namespaces, verbs=self.verbs, ceiling=CEILING)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a client gets; each is worth as much as a password."""

    access: str
    refresh: str
    lives: datetime.timedelta
    verbs: list[str]


def consent(principal: Principal, client: OAuthClient, **asked: Any) -> str:
    """Return the code for what a person allows, the further columns of `Consent`; it is kept nowhere.

    Raise BadGrant, NotPermitted.
    """
    assert principal.user_id is not None  # people consent, not keys
    made = Consent(
        id=uuid.uuid4().hex,
        project=principal.project,
        user_id=principal.user_id,
        client=client.digest,
        client_name=client.name,
        **asked,
    )
    for verb in made.verbs:
        principal.require(verb)
    keys.check(Project.objects.get(id=principal.project_id), made.request)
    return signing.dumps(asdict(made), salt=CODE, compress=True)


def read_code(code: str, client: OAuthClient) -> Consent | None:
    """Return what a client's code says; None for one that is none, or another's, or too old."""
    said = _read(code, client, CODE, CODE_LIFE)
    return Consent(**said) if said else None


def redeem(given: Consent, client: OAuthClient, *, now: datetime.datetime) -> Tokens:
    """Return the tokens of a code, once. Raise NotAuthorized; the second time, the first time's tokens end too."""
    person = _person(given.user_id, given.project, given.verbs)
    if person is None:
        raise NotAuthorized
    project, made, owner = Project.objects.get(id=person.project_id), uuid.UUID(given.id), _owner_of(person)
    text = KeyText(KeyText.fresh().key_id, _secret(made, 0))
    try:
        with access.enter(person, why="authorize client"):
            issued = keys.issue(project, given.request, owner=owner, expires_at=now + TOKEN_LIFE, by=person, text=text)
            row = Authorization.objects.create(
                id=made,
                project=project,
                key=issued.row,
                user_id=given.user_id,
                client_id=client.id,
                client_name=given.client_name,
                refreshed_at=now,
                created_at=now,
            )
    except IntegrityError as error:
        _end(project, Authorization.objects.filter(id=made), now=now)
        raise NotAuthorized from error
    if _person(given.user_id, given.project, given.verbs) is None:  # they lost their role meanwhile
        _end(project, Authorization.objects.filter(id=made), now=now)
        raise NotAuthorized
    log.info("client_authorized", project=project.name, key=issued.row.key_id, user=given.user_id)
    return _tokens(row, client, issued.text, lives=TOKEN_LIFE, verbs=given.verbs)


def read_refresh(token: str, client: OAuthClient) -> dict[str, Any] | None:
    """Return what a client's refresh token says; None for one that is none, or another's, or too old."""
    return _read(token, client, REFRESH, REFRESH_LIFE)


def refresh(token: str, client: OAuthClient, *, now: datetime.datetime) -> Tokens:
    """Return new tokens for a refresh token; the former access token ends. Raise NotAuthorized.

    One that was used before ends the authorization: it was copied, and nobody can tell by whom.
    """
    said = read_refresh(token, client)
    project = said and Project.objects.filter(id=said["project"]).first()
    if not said or not project:
        raise NotAuthorized
    with access.enter(access.system_principal(project), why="refresh key"):
        rows = Authorization.objects.within(project.id).select_for_update(of=("self", "key"))
        row = rows.filter(id=said["id"]).select_related("key__grant").first()
        is_founded = row is not None and _refresh(row, said["n"], project, now=now)
    if row is None or not is_founded:
        raise NotAuthorized
    text = KeyText(row.key.key_id, _secret(row.id, row.refreshes))
    return _tokens(row, client, str(text), lives=row.key.expires_at - now, verbs=row.key.grant.verbs)


def _refresh(row: Authorization, n: int, project: Project, *, now: datetime.datetime) -> bool:
    """Make the tokens anew, unless that was just done; whether they are good."""
    key: ApiKey = row.key
    is_allowed = _person(row.user_id, project.name, key.grant.verbs) is not None
    is_again = n == row.refreshes - 1 and now - row.refreshed_at <= AGAIN
    if not is_allowed or not (is_again or n == row.refreshes):
        # Also one that is contained, which would work again once that is taken back.
        keys.revoke(project, key.key_id, now=now)
        log.warning("authorization_ended", project=project.name, key=key.key_id, used_before=is_allowed)
        return False
    if n == row.refreshes and key.revoked_at is None:
        row.refreshes, row.refreshed_at = row.refreshes + 1, now
        row.save(update_fields=["refreshes", "refreshed_at"])
        key.digest, key.expires_at = KeyText(key.key_id, _secret(row.id, row.refreshes)).digest, now + TOKEN_LIFE
        key.save(update_fields=["digest", "expires_at"])
    return key.revoked_at is None


def end(token: str, client: OAuthClient, *, now: datetime.datetime) -> None:
    """End the authorization that one of a client's tokens is of, with its other token; none for any other token."""
    if said := read_refresh(token, client):
        project_id, which = said["project"], {"id": said["id"]}
    elif principal := access.principal_of_key(token, now=now):
        project_id, which = principal.project_id, {"key": principal.key_id, "client_id": client.id}
    else:
        return
    if project := Project.objects.filter(id=project_id).first():
        _end(project, Authorization.objects.filter(**which), now=now)


def of_person(principal: Principal, *, now: datetime.datetime) -> list[Authorization]:
    """Return what a person lets clients do in a project, the newest first; those that ended are left out."""
    with access.enter(principal, why="authorizations"):
        rows = Authorization.objects.within(principal.project_id).filter(user_id=principal.user_id)
        rows = rows.filter(key__revoked_at=None, refreshed_at__gt=now - REFRESH_LIFE).select_related("key__grant")
        return list(rows.order_by("-created_at", "-id"))


def withdraw(principal: Principal, authorization_id: uuid.UUID, *, now: datetime.datetime) -> Authorization:
    """End what a person let a client do, as they wish. Raise NotFound for what is not theirs."""
    project = Project.objects.get(id=principal.project_id)
    with access.enter(principal, why="withdraw authorization"):
        rows = Authorization.objects.within(project.id).filter(id=authorization_id, user_id=principal.user_id)
        row: Authorization | None = rows.first()
        if row is None:
            raise access.NotFound("authorization")
        _end(project, rows, now=now)
    return row


def end_unfounded(project: Project, user_id: int, *, now: datetime.datetime) -> None:
    """End what a person let clients do and may not do any more."""
    with access.enter(access.system_principal(project), why="end authorization"):
        rows = Authorization.objects.within(project.id).filter(user_id=user_id)
        for row in rows.select_related("key__grant"):
            if _person(user_id, project.name, row.key.grant.verbs) is None:
                _end(project, rows.filter(id=row.id), now=now)


def _end(project: Project, rows: Any, *, now: datetime.datetime) -> None:
    with access.enter(access.system_principal(project), why="end authorization"):
        for key_id in rows.within(project.id).values_list("key__key_id", flat=True):
            keys.revoke(project, key_id, now=now)


def is_client(principal: Principal) -> bool:
    """Return whether a key is what a person let a client do; others may have owners that are called alike."""
    if not principal.owner.startswith(f"{CLIENT}:"):
        return False
    with access.enter(principal, why="client", reads_only=True):
        return Authorization.objects.within(principal.project_id).filter(key=principal.key_id).exists()


def _owner_of(person: Principal) -> str:
    """Return the owner of all clients of a person: they are one voice, and it is not the person's own."""
    return owner_name(CLIENT, person.owner.removeprefix("user:"), user_id=person.user_id)


def _person(user_id: int, project: str, verbs: Iterable[str]) -> Principal | None:
    """Return a person who may still do all of this in a project; else None."""
    user = get_user_model()._default_manager.filter(pk=user_id, is_active=True).first()
    person = user and access.principal_of_member(user, project=project)
    return person if person and person.verbs.issuperset(verbs) else None


def _tokens(
    row: Authorization, client: OAuthClient, text: str, *, lives: datetime.timedelta, verbs: list[str]
) -> Tokens:
    said = {"project": row.project_id.hex, "id": row.id.hex, "n": row.refreshes, "client": client.digest}
    return Tokens(text, signing.dumps({**said, "verbs": verbs}, salt=REFRESH, compress=True), lives, verbs)


def _secret(made: uuid.UUID, n: int) -> str:
    """Return the secret of an access token: worked out, so that a refresh that is answered again is the same."""
    told = salted_hmac(SECRET, f"{made.hex}:{n}", algorithm="sha256").digest()
    return base62(int.from_bytes(told), SECRET_LENGTH)


def _read(text: str, client: OAuthClient, salt: str, life: datetime.timedelta) -> dict[str, Any] | None:
    try:
        said: dict[str, Any] = signing.loads(text, salt=salt, max_age=life)
    except signing.BadSignature:
        return None
    return said if hmac.compare_digest(said["client"], client.digest) else None

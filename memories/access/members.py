"""People of a project: who belongs to it, and their roles."""

import secrets
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils import timezone

from memories import access
from memories.access import Principal, authorizations
from memories.access.principals import CLIENT, OWNER_LIMIT
from memories.errors import NotPermitted, NovaError
from memories.models import Membership, Project
from memories.models.enums import Role

log = structlog.get_logger(__name__)
SECRET_BYTES = 12  # 16 characters of a password made here
LONGEST_NAME = OWNER_LIMIT - len(f"{CLIENT}:")  # of what they decide and write, the history names them by it


class BadRole(NovaError):
    """This role can't be given to this person."""

    status = 400
    code = "validation"
    title = "The role was not changed"


class BadMember(NovaError):
    """This person can't be made, or belongs to the project already."""

    status = 400
    code = "validation"
    title = "Nobody was added"


@dataclass(frozen=True, slots=True)
class Added:
    """A member, and the password that was made for somebody new; it is kept nowhere."""

    username: str
    role: str
    made: bool
    password: str = ""


def add(project: Project, username: str, *, role: str, by: Principal) -> Added:
    """Take a person into a project; who is new to this server gets a password. Raise BadRole, BadMember."""
    _check(role)
    try:
        with access.enter(by, why="add member"):
            users = get_user_model()._default_manager.filter(username=username)
            user = None if "\0" in username else users.first()  # which no name can hold
            password = "" if user else secrets.token_urlsafe(SECRET_BYTES)
            user, made = user or make(username, password), user is None
            if Membership.objects.filter(project=project, user=user).exists():
                raise BadMember(f"{username} is a member already.")
            Membership.objects.create(project=project, user=user, role=role)
    except IntegrityError as error:
        raise BadMember(f"Somebody else added {username} at the same time.") from error
    log.info("member_added", project=project.name, user=user.pk, role=role, by=by.user_id)
    return Added(username, role, made, password)


def make(username: str, password: str, *, known: Any = None, email: str = "") -> Any:
    """Return a new person, who may log in; somebody known gets a new password. Raise BadMember."""
    user: Any = known or get_user_model()(username=username, email=email, is_staff=True)
    if known is None and len(username) > LONGEST_NAME:
        raise BadMember(f"A name has at most {LONGEST_NAME} characters.")
    try:
        user.clean_fields(exclude=["password"])
        validate_password(password, user)
    except ValidationError as error:
        raise BadMember(" ".join(error.messages)) from error
    alike = None if known else get_user_model()._default_manager.filter(username__iexact=username).first()
    if alike:
        raise BadMember(f"There is somebody called {alike} already; a name that differs by case alone is taken for it.")
    user.set_password(password)
    if known is None:
        user.save()
    else:  # of a superuser not by the login that serves
        users = get_user_model()._default_manager.using(owner_alias() if user.is_superuser else "default")
        users.filter(pk=user.pk).update(password=user.password)
    return user


def set_email(user: Any, email: str) -> None:
    """Set where somebody gets mail; empty for nowhere. Raise BadMember."""
    user.email = email
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise BadMember(" ".join(error.messages)) from error
    get_user_model()._default_manager.using(owner_alias()).filter(pk=user.pk).update(email=email)


def close(username: str, *, closed: bool) -> bool:
    """Let somebody log in no more, or again; whether there is such an account. Their clients are locked out too."""
    users = get_user_model()._default_manager.using(owner_alias())
    is_known = bool(users.filter(username=username).update(is_active=not closed))
    for row in Membership.objects.filter(user__username=username).select_related("project"):
        authorizations.end_unfounded(row.project, row.user_id, now=timezone.now())
    return is_known


def owner_alias() -> str:
    """Return the connection that may change accounts. Raise BadMember when this process has none."""
    if "owner" not in settings.DATABASES:
        raise BadMember("Accounts are changed as the owner of the tables: set DATABASE_OWNER_URL.")
    return "owner"


def set_role(project: Project, user_id: int, *, role: str, by: Principal) -> None:
    """Give a member another role, or take them out (an empty role). Raise BadRole, NotPermitted.

    Nobody changes their own, and of two who change each other's one is too late, so that a project keeps an
    administrator.
    """
    if role:
        _check(role)
    if user_id == by.user_id:
        raise BadRole("Another administrator changes your own role.")
    with access.enter(by, why="set role"):
        members = Membership.objects.filter(project=project)
        admins = {row.user_id for row in members.select_for_update().order_by("id") if row.role == Role.ADMIN}
        if by.kind == "person" and by.user_id not in admins:
            raise NotPermitted("you are no administrator of this project any more")
        rows = members.filter(user=user_id)
        if not (rows.update(role=role) if role else rows.delete()[0]):
            raise BadRole("This person is no member.")
    authorizations.end_unfounded(project, user_id, now=timezone.now())
    log.info("role_set", project=project.name, user=user_id, role=role or "none", by=by.user_id)


def enrol(project: Project, user: Any, *, role: str) -> None:
    """Give a person a role in a project, whatever they had; for who operates the installation. Raise BadRole."""
    _check(role)
    Membership.objects.update_or_create(project=project, user=user, defaults={"role": role})
    authorizations.end_unfounded(project, user.pk, now=timezone.now())


def _check(role: str) -> None:
    if role not in Role.values:
        raise BadRole(f"There is no role {role!r}; use one of {', '.join(Role.values)}.")

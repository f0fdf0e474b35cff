"""Scopes: the namespaces that a principal reaches, and those of users below them."""

from collections.abc import Iterable

from django.db.models import Q

from memories.access.principals import NotFound, Principal
from memories.errors import UserRequired
from memories.models import Namespace
from memories.models.enums import Users
from memories.models.namespace import SHARED, BadUser, NamespaceQuerySet, parts_of, scope_name


def readable(principal: Principal, names: list[str]) -> list[Namespace]:
    """The existing ones among covered namespaces, for the request's user. Raise NotFound when one is not covered."""
    require_reach(principal, names)
    return list(Namespace.objects.within(principal.project_id).named(map(principal.scope, names)))


def require_reach(principal: Principal, names: Iterable[str], *, reading: bool = True) -> None:
    """Raise NotFound when one of the names is not covered; whether they exist is not asked. Raise UserRequired."""
    for name in names:
        if not _reaches(principal, name, reading=reading):
            raise NotFound(f"namespace {name}")


def _reaches(principal: Principal, name: str, *, reading: bool = False) -> bool:
    """Return whether a name, which may be that of a user's scope, is the principal's to use. Raise UserRequired."""
    try:
        root, user = parts_of(principal.scope(name))
    except BadUser:
        return False
    if user is not None and principal.user not in (None, user):
        return False
    subject = principal if user is None or principal.user == user else principal.of_user(user)
    if user is None and principal.users == Users.REQUIRED and not principal.all_users:
        raise UserRequired
    return subject.covers_reading(scope_name(root, user)) if reading else subject.covers(scope_name(root, user))


def all_readable(principal: Principal) -> list[Namespace]:
    """Every agent's namespace that the principal covers, by name, and the scopes of the request's user in them."""
    return list(_scopes(principal, every=False).order_by("name"))


def readable_scopes(principal: Principal, names: list[str] | None = None) -> NamespaceQuerySet:
    """As `all_readable`, or `readable` of these names, with the scopes of all users when the request is about these.

    For conditions on rows: nobody counts how many they are.
    """
    every = principal.all_users and principal.speaks_for_all
    if names is None:
        return _scopes(principal, every=every)
    named = readable(principal, names)
    found = Q(id__in=[row.id for row in named])
    if every:
        found |= Q(parent__in=[row.id for row in named])
    return Namespace.objects.within(principal.project_id).filter(found)


def requested_scopes(principal: Principal, name: str | None) -> list[Namespace]:
    """Return the namespaces that a request looks at: the named one or all, with all users when it is about these."""
    return list(readable_scopes(principal, None if name is None else [name]).order_by("name"))


def believed_scopes(principal: Principal, name: str | None) -> list[Namespace]:
    """As `requested_scopes`; beside a named one with what holds there too: the namespace of a user's scope, the shared.

    The named one stands first, the shared one last.
    """
    found = requested_scopes(principal, name)
    if name is None:
        return found
    root, _ = parts_of(principal.scope(name))
    known = {row.id for row in found}
    beside = [
        row
        for wider in dict.fromkeys([root, f"{principal.project}:{SHARED}"])
        for row in Namespace.objects.within(principal.project_id).named([wider])
    ]
    return [*found, *(row for row in beside if row.id not in known)]


def _scopes(principal: Principal, *, every: bool) -> NamespaceQuerySet:
    rows = Namespace.objects.within(principal.project_id)
    roots = [row for row in rows.roots() if principal.covers_reading(row.name)]
    own = [row.id for row in roots if principal.covers(scope_name(row.name, principal.user))]
    found = Q(id__in=[row.id for row in roots])
    if every:
        found |= Q(parent__in=own)
    elif principal.user is not None:
        found |= Q(parent__in=own, user=principal.user)
    return rows.filter(found)


def find(principal: Principal, name: str) -> Namespace | None:
    """Return the namespace of that name, for the request's user, when it exists and is the principal's to change."""
    if not _reaches(principal, name):
        return None
    rows = Namespace.objects.within(principal.project_id).named([principal.scope(name)]).select_related("project")
    found: Namespace | None = rows.first()
    return found


def writable(principal: Principal, name: str) -> Namespace:
    """A covered namespace, for the request's user, made when it is missing. Raise NotFound when it is not covered."""
    require_reach(principal, [name], reading=False)
    return Namespace.objects.ensure(project_id=principal.project_id, name=principal.scope(name))

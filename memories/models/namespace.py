"""Namespaces: `project:agent`, `project:shared` or a branch; below each the scopes of its users (docs/spec.md §2.2)."""

import re
import unicodedata
import uuid
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import ClassVar, Self
from urllib.parse import quote, unquote

from django.db import models
from django.utils import timezone

from memories.models.enums import ArchivePolicy
from memories.models.history import tracked
from memories.models.project import NAME_PART
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet, one_of, parent, unique_in_project

FORM = re.compile(rf"({NAME_PART}):({NAME_PART})", re.ASCII)
# The same, or the scope of one of its users: `project:agent/user`, the user percent-encoded.
SCOPE_FORM = re.compile(rf"({NAME_PART}:{NAME_PART})(?:/([^/\s]+))?", re.ASCII)
SHARED = "shared"
USER_LIMIT = 255
LENGTH = f"Give a user of 1 to {USER_LIMIT} characters."


class BadUser(ValueError):
    """This names no user."""


def user_of(text: str) -> str:
    """Return a user's name as it is compared: NFC. Raise BadUser unless it has 1 to 255 characters, none of control."""
    user = unicodedata.normalize("NFC", text)
    if not 1 <= len(user) <= USER_LIMIT:
        raise BadUser(LENGTH)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in user):
        raise BadUser("A user has no control characters.")
    return user


def user_in_header(header: str) -> str:
    """Return the user that a header names, percent-encoded UTF-8. Raise BadUser, also for a header that came twice:
    servers join these by a comma, which no encoded name has."""
    if "," in header:
        raise BadUser("The header came twice, or names a user with a comma, which is %2C there.")
    try:
        return unquote(header, errors="strict")
    except UnicodeDecodeError as error:
        raise BadUser("The header is percent-encoded UTF-8.") from error


def scope_name(root: str, user: str | None) -> str:
    """Return how the scope of a user below a namespace is written; without a user the namespace's own name."""
    return root if user is None else f"{root}/{quote(user, safe='')}"


def parts_of(name: str) -> tuple[str, str | None]:
    """Return namespace and user of a written scope. Raise BadUser when it is written otherwise."""
    if not (found := SCOPE_FORM.fullmatch(name)):
        raise BadUser("Use project:agent, or project:agent/user with the user percent-encoded.")
    root, encoded = found[1], found[2]
    if encoded is None:
        return root, None
    try:
        return root, user_of(unquote(encoded, errors="strict"))
    except UnicodeDecodeError as error:
        raise BadUser("Encode the user's name as UTF-8.") from error


def is_written(name: str) -> bool:
    """Return whether a name is that of a namespace or a scope."""
    try:
        parts_of(name)
    except BadUser:
        return False
    return True


class NamespaceQuerySet(TenantQuerySet):
    """Namespaces by name."""

    def roots(self) -> Self:
        """Return those of agents, without the scopes of users."""
        return self.filter(parent=None)

    def ensure(self, *, project_id: uuid.UUID, name: str, new_id: uuid.UUID | None = None) -> "Namespace":
        """Return the namespace or scope, made (by this id) when it is missing; two writers at once make one."""
        found: Namespace | None = self.within(project_id).named([name]).first()
        if found is not None:
            return found
        root, user = parts_of(name)
        more = {} if user is None else {"parent": self.ensure(project_id=project_id, name=root), "user": user}
        row = Namespace(id=new_id or uuid.uuid4(), project_id=project_id, name=scope_name(root, user), **more)
        self.bulk_create([row], ignore_conflicts=True)
        made: Namespace = self.within(project_id).named([name]).get()
        return made

    def branch(self, *, source: "Namespace", name: str) -> tuple["Namespace", bool]:
        """The namespace of this name, and whether it is a branch of the source; made as one when it is missing."""
        root, user = parts_of(name)
        more = {} if user is None else {"parent": self.ensure(project_id=source.project_id, name=root), "user": user}
        row = Namespace(project_id=source.project_id, name=name, forked_from=source, **more)
        self.bulk_create([row], ignore_conflicts=True)
        made: Namespace = self.within(source.project_id).named([name]).get()
        return made, made.forked_from_id == source.id

    def named(self, names: Iterable[str]) -> Self:
        """Return those with one of the names: namespaces, or scopes as `scope_name` writes them."""
        parts = [parts_of(name) for name in names]
        found = [models.Q(parent=None, name__in=[root for root, user in parts if user is None])]
        found += [models.Q(parent__name=root, user=user) for root, user in parts if user is not None]
        return self.filter(reduce(or_, found))

    def below(self, roots: "Iterable[Namespace]") -> Self:
        """Return the scopes of these namespaces' users."""
        return self.filter(parent__in=roots)


# Where a scope belongs never changes (a trigger sees to it), so it may be kept.
_roots: dict[uuid.UUID, uuid.UUID] = {}
MOST_KEPT = 100_000


def roots_of(project_id: uuid.UUID, namespace_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """Return by namespace the one that search keeps it under: itself, or its parent."""
    wanted = set(namespace_ids)
    found = {each: _roots[each] for each in wanted if each in _roots}
    if missing := wanted - found.keys():
        rows = Namespace.objects.within(project_id).filter(id__in=missing).values_list("id", "parent_id")
        fresh = {each: parent or each for each, parent in rows}
        if len(_roots) > MOST_KEPT:
            _roots.clear()
        _roots.update(fresh)
        found |= fresh
    return found


@tracked("id", "project", "parent", "forked_from", "archive_policy", "created_at", digested=("name", "user"))
class Namespace(TenantModel):
    """A room of memories inside a project: what one agent, the team or a branch remembers, or one user of these.

    A user's scope has a `parent` and a `user`; its name is as `scope_name` writes it.
    """

    name = models.TextField()
    user = models.CharField(max_length=USER_LIMIT, null=True)  # noqa: DJ001 - null: of no user, which no text says
    forked_from = parent("memories.Namespace", null=True)
    language = models.CharField(max_length=32, default="english")
    archive_policy = models.CharField(max_length=16, choices=ArchivePolicy, default=ArchivePolicy.EPISODIC)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    parent = parent("memories.Namespace", null=True)

    objects = NamespaceQuerySet.as_manager()
    # Kept: a name only.
    spec = TableSpec(
        kind="canonical",
        record="namespace",
        local=("project_id", "forked_from_id", "parent_id", "user"),
        erase="kept",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("namespace_project_id", "id"),
            models.UniqueConstraint(fields=["project", "name"], condition=models.Q(parent=None), name="namespace_name"),
            unique_in_project("namespace_user", "parent", "user"),
            models.CheckConstraint(
                condition=models.Q(parent=None, user=None)
                | models.Q(parent__isnull=False, user__isnull=False)
                & ~models.Q(user__regex="[\u0001-\u001f\u007f-\u009f]")
                & ~models.Q(user=""),
                name="namespace_user_whole",
            ),
            one_of("namespace_archive_policy", "archive_policy", ArchivePolicy),
            models.CheckConstraint(
                condition=models.Q(parent=None, name__regex=rf"^{NAME_PART}:{NAME_PART}$")
                | models.Q(parent__isnull=False, name__regex=rf"^{NAME_PART}:{NAME_PART}/[^/]+$"),
                name="namespace_name_form",
            ),
        ]
        indexes: ClassVar = [
            # All of one person, whichever agent remembers it.
            models.Index(fields=["project", "user"], name="namespace_by_user", condition=models.Q(user__isnull=False)),
            # What was forked from one that goes.
            models.Index(
                fields=["project", "forked_from"],
                name="namespace_by_source",
                condition=models.Q(forked_from__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def root_id(self) -> uuid.UUID:
        """Under which id search keeps it: its own, or its parent's."""
        found: uuid.UUID = self.parent_id or self.id
        return found

    @property
    def root_name(self) -> str:
        """`project:agent`, without a user."""
        return str(self.name).partition("/")[0]

    @property
    def agent(self) -> str:
        """The part after the colon, without a user."""
        return self.root_name.partition(":")[2]

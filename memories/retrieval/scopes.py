"""Scopes of a search: what of a namespace and its users is read as one."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from memories.models import Namespace


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What is searched as one: a namespace or the scope of a user; `whole`: a namespace with all its users."""

    id: uuid.UUID
    root_id: uuid.UUID
    project_id: uuid.UUID
    name: str
    whole: bool = False

    @classmethod
    def of(cls, row: Namespace, *, whole: bool = False) -> "SearchScope":
        """A namespace, with all its users or without."""
        return cls(row.id, row.root_id, row.project_id, row.name, whole)

    @property
    def scope_id(self) -> uuid.UUID | None:
        """Which scope below the root; None for all."""
        return None if self.whole else self.id


def scopes_of(namespaces: Iterable[Namespace]) -> list[SearchScope]:
    """Namespaces as they are searched, each without the others' users."""
    return [SearchScope.of(row) for row in namespaces]

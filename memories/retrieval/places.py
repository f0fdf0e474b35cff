"""Which namespaces a question draws on, and which of them goes before which."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from django.conf import settings

from memories import access
from memories.access import NotPermitted, Principal
from memories.models import Namespace
from memories.models.namespace import SHARED
from memories.retrieval.questions import Question
from memories.retrieval.rivals import FOREIGN

# Raw, because every search asks: the ORM takes longer to word this than Postgres to answer it.
KNOWN = """SELECT * FROM memories_namespace
    WHERE project_id = %s AND (%s OR name = ANY (%s) OR forked_from_id IS NOT NULL) ORDER BY name"""


@dataclass(frozen=True)
class Places:
    """The asked namespaces with the shared one, and the other agents' that a project-wide question adds."""

    own: list[Namespace] = field(default_factory=list)
    others: list[Namespace] = field(default_factory=list)

    @cached_property
    def ranks(self) -> dict[uuid.UUID, int]:
        """0 for the first asked; the shared one last of the own; from FOREIGN on those of other agents."""
        own = {namespace.id: n for n, namespace in enumerate(self.own)}
        return own | {namespace.id: FOREIGN + n for n, namespace in enumerate(self.others)}

    def is_foreign(self, namespace_id: uuid.UUID) -> bool:
        """Whether it is another agent's."""
        return self.ranks[namespace_id] >= FOREIGN


def places_of(principal: Principal, question: Question) -> Places:
    """The existing ones among what the question reaches. Raises NotFound when an asked one is not covered.

    Raises NotPermitted for a project-wide question of whoever may not read wide.
    """
    order = {name: n for n, name in enumerate([*question.namespaces, f"{principal.project}:{SHARED}"])}
    access.require_readable(principal, list(order))
    wide = reads_wide(principal, wanted=question.project_wide)
    known = list(Namespace.objects.raw(KNOWN, [principal.project_id, wide, list(order)]))
    rows = [row for row in known if row.name in order or wide and principal.covers_reading(row.name)]
    asked = sorted((row for row in rows if row.name in order), key=lambda row: order[row.name])
    family = relatives([row for row in asked if row.name in question.namespaces], known)
    own = [row for row in asked if row.name in question.namespaces or row.id not in family]
    # A branch is an attempt apart: whoever wants it asks for it by name.
    others = [row for row in rows if row.name not in order and row.id not in family and row.forked_from_id is None]
    return Places(own, others)


def reads_wide(principal: Principal, *, wanted: bool | None) -> bool:
    """Whether other agents' memories answer too. Raises NotPermitted when they are asked for and not granted."""
    if wanted and not principal.may_read_wide:
        raise NotPermitted("project_wide needs a key that may read wide")
    by_default: bool = settings.RETRIEVAL_INCLUDES_CROSS_AGENT
    return by_default and principal.may_read_wide if wanted is None else wanted


def relatives(namespaces: Iterable[Namespace], known: Iterable[Namespace]) -> set[uuid.UUID]:
    """What these namespaces were forked from, and what was forked from that: none of it sees the other's writes.

    Among the `known` are all of the project's forks.
    """
    forks = {row.id: row.forked_from_id for row in known if row.forked_from_id}
    found = {namespace.id for namespace in namespaces}
    grown = True
    while grown and forks:
        new = {parent for child, parent in forks.items() if child in found}
        new |= {child for child, parent in forks.items() if parent in found}
        grown = not new <= found
        found |= new
    return found if forks else set()

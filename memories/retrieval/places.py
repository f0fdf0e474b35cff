"""Which namespaces a question draws on, and which of them goes before which."""

import uuid
from dataclasses import dataclass, field
from functools import cached_property

from memories import access
from memories.access import Principal
from memories.models import Namespace
from memories.models.namespace import SHARED
from memories.retrieval.questions import Question
from memories.retrieval.rivals import FOREIGN


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
    """The existing ones among what the question reaches. Raises NotFound when an asked one is not covered."""
    order = {name: n for n, name in enumerate([*question.namespaces, f"{principal.project}:{SHARED}"])}
    access.require_readable(principal, list(order))
    wide = question.project_wide
    rows = access.all_readable(principal) if wide else access.readable(principal, list(order))
    own = sorted((row for row in rows if row.name in order), key=lambda row: order[row.name])
    return Places(own, [row for row in rows if row.name not in order])

"""Which namespaces a question draws on, and which of them goes before which."""

import uuid
from dataclasses import dataclass, field

from memories import access
from memories.access import Principal
from memories.models import Namespace
from memories.models.namespace import SHARED
from memories.retrieval.questions import Question
from memories.retrieval.rivals import FOREIGN


@dataclass(frozen=True, slots=True)
class Places:
    """The asked namespaces with the shared one, and the other agents' that a project-wide question adds."""

    own: list[Namespace] = field(default_factory=list)
    others: list[Namespace] = field(default_factory=list)

    @property
    def ranks(self) -> dict[uuid.UUID, int]:
        """0 for the first asked; the shared one last of the own; from FOREIGN on those of other agents."""
        own = {namespace.id: n for n, namespace in enumerate(self.own)}
        return own | {namespace.id: FOREIGN + n for n, namespace in enumerate(self.others)}

    def is_foreign(self, namespace_id: uuid.UUID) -> bool:
        """Whether it is another agent's."""
        return self.ranks[namespace_id] >= FOREIGN


def places_of(principal: Principal, question: Question) -> Places:
    """The existing ones among what the question reaches. Raises NotFound when an asked one is not covered."""
    shared = f"{principal.project}:{SHARED}"
    order = {name: n for n, name in enumerate(question.namespaces)}
    own = access.readable(principal, [*question.namespaces, shared])
    own.sort(key=lambda namespace: order.get(namespace.name, len(order)))
    if not question.project_wide:
        return Places(own)
    mine = {namespace.id for namespace in own}
    return Places(own, [namespace for namespace in access.all_readable(principal) if namespace.id not in mine])

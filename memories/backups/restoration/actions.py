"""What a restore lets packages do that lie above backups."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Erase(Protocol):
    """What forgets memories with every copy of them; it lies above backups, for it purges them."""

    def __call__(
        self, project_id: uuid.UUID, ids: Sequence[uuid.UUID], *, authority: int, now: datetime.datetime
    ) -> object:
        """Forget them in the open transaction; the caller holds their namespaces."""
        ...


class ContainAgain(Protocol):
    """What sets aside again whatever a containment in force reaches; it lies above backups, as forgetting does."""

    def __call__(
        self, project_id: uuid.UUID, ids: Sequence[uuid.UUID], *, now: datetime.datetime
    ) -> Sequence[uuid.UUID]:
        """Set them aside in the open transaction and return them; the caller holds their namespaces."""
        ...


@dataclass(frozen=True, slots=True)
class RestoreActions:
    """What a restore lets packages above this one do."""

    erase: Erase
    set_aside: ContainAgain

"""What a kind of long job is: what runs it, which options it takes, how its effect is taken back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.access import Principal
from memories.errors import NovaError
from memories.models import Operation
from memories.models.enums import OperationState
from memories.operations.runner import Handler

Options = Mapping[str, Any]


class BadOptions(NovaError):
    """The options do not fit the kind; `field` is the one at fault."""

    status = 400
    code = "validation"
    title = "This can’t be started"

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


@dataclass(frozen=True, slots=True)
class OperationKind:
    """A kind of operation.

    `check` raises BadOptions unless the options fit. With `whole_project` no namespace may be named, with
    `one_namespace` one has to be. `undo` takes the effect of an ended operation, which it is given, back; None where
    that cannot be; `check_undo` raises where it is known beforehand, and `check_start` for one that was just
    queued, in the transaction that did. `permit` raises where whoever starts it, or its undo, may not. `dry_runs` says
    whether it may only look. With `own_door` it is asked for at an endpoint of its own, which alone writes its options.
    One of the same place and options, and without `permit` of the same starter, that is in a state of `once` is
    answered instead of another: what would be done twice comes late.
    """

    run: Handler
    check: Callable[[Options], None]
    whole_project: bool = False
    undo: Handler | None = None
    check_undo: Callable[[Operation], None] | None = None
    check_start: Callable[[Operation], None] | None = None
    permit: Callable[[Principal, Operation], None] | None = None
    one_namespace: bool = False
    dry_runs: bool = False
    own_door: bool = False
    once: Sequence[OperationState] = ()

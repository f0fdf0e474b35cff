"""What a room may answer to a person's wish, in words; and who is told of it how."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from conflicts.front import AlreadyResolved, BlockedByErasure, CannotUndo, NotApplicable
from memories import backups, branches, jobs, keys, members, operations, schedules, upkeep
from memories.forgetting import CountDiffers
from memories.ingest import History, StaleRevision
from memories.operations import BadOptions, NotOpen

T = TypeVar("T")
TITLES: dict[type[Exception], str] = {
    jobs.AlreadyRunning: "This namespace is being consolidated already",
    jobs.NotUndoable: "This can’t be undone",
    upkeep.CannotUndo: "This can’t be undone",
    operations.NoPlan: "This plan is gone",
    operations.PlanUsed: "This plan was applied already",
    upkeep.Purged: "Too late to restore",
    BlockedByErasure: "This text was forgotten",
    AlreadyResolved: "Settled before you",
    NotApplicable: "This can’t be decided so",
    CannotUndo: "This can’t be undone",
    BadOptions: "This can’t be started",
    NotOpen: "It has ended already",
    backups.StillNeeded: "This backup is still needed",
    backups.FileMissing: "The file is missing",
    backups.BrokenBundle: "This is no sound backup",
    backups.WrongProject: "This is another project’s backup",
    backups.BaseMissing: "Another backup is missing",
    backups.IdentityMissing: "This backup is encrypted",
    backups.NoSpace: "There is no space left",
    branches.BranchTaken: "This name is taken",
    keys.BadGrant: "This key can’t be made",
    schedules.BadSchedule: "The schedule was not changed",
    members.BadRole: "The role was not changed",
    members.BadMember: "Nobody was added",
    History: "This memory is history",
    CountDiffers: "Nothing was erased",
    StaleRevision: "It changed while you looked",
}


def request_id() -> str:
    """Under which the log has what is done now."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was done; the request by which the log has it."""

    title: str
    detail: str
    request_id: str = field(default_factory=request_id)


def attempted(act: Callable[[], T]) -> tuple[T | None, Refusal | None]:
    """What the act answered, or why the room refused it. NotFound and NotPermitted pass: they are pages."""
    try:
        return act(), None
    except tuple(TITLES) as error:
        title = next(title for kind, title in TITLES.items() if isinstance(error, kind))
        return None, Refusal(title, sentence(str(error)))


def sentence(said: str) -> str:
    """What a room says, as a sentence; some rooms say whole ones."""
    return said if not said or said.endswith(".") else f"{said[:1].upper()}{said[1:]}."

"""What grows with time, where it stands, what bounds it, and which schedule sees to that.

What is not listed grows with memories, people, keys or projects alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memories.models import AccountEvent
from memories.models.history import event_models
from memories.readings import Measurement


@dataclass(frozen=True, slots=True)
class Growing:
    """Something that grows: its tables, or its kind of files; the setting that bounds it and the schedule of that."""

    what: str
    tables: tuple[str, ...] = ()
    files: str = ""
    setting: str = ""
    schedule: str = ""


def growing() -> list[Growing]:
    """Return all there is."""
    events: list[Any] = [*event_models(), AccountEvent]
    history = tuple(model._meta.db_table for model in events)
    operations = ("memories_operation", "memories_planstep", "memories_runchange")
    sessions = ("django_session", "memories_seat", "memories_ratebudget")
    return [
        Growing("history", (*history, "memories_seal", "memories_audithorizon"), "", "HISTORY_DAYS", "expire history"),
        Growing("audit journal", (), "journal", "HISTORY_DAYS", "expire history"),
        Growing("operations", operations, "", "OPERATION_DAYS", "expire operations"),
        Growing("undo of runs", (), "", "CONSOLIDATION_UNDO_DAYS", "expire consolidations"),
        Growing("tasks of agents", ("memories_task",), "", "TASK_DAYS", "expire operations"),
        Growing("receipts", ("memories_receipt", "memories_recallnotice"), "", "RECEIPT_DAYS", "expire receipts"),
        Growing("repeated requests", ("memories_repeatedrequest",), "", "IDEMPOTENCY_HOURS", "expire requests"),
        Growing("searches by day", ("memories_searchday",), "", "USAGE_DAYS", "expire usage"),
        Growing("calls of the language model", ("memories_llmcall",), "", "LLM_CALL_DAYS", "expire calls"),
        Growing("proposals", ("memories_proposal",), "", "", "trim proposals"),
        Growing("archive", ("memories_archive",), "", "ARCHIVE_DAYS", "expire copies"),
        Growing("logins", ("memories_loginevent",), "", "LOGIN_DAYS", "expire logins"),
        Growing("sessions and seats", sessions, "", "", "expire sessions"),
        Growing("chats to be read", ("memories_exchange",), "", "", "look for work"),
        Growing("backups", ("memories_backup",), "backups", "BACKUP_KEEP", "expire backups"),
        Growing("logs of script/server", (), "logs", "LOG_MB", ""),
    ]


@dataclass(frozen=True, slots=True)
class Growth:
    """How much of something there is; `bound` is what its setting says."""

    growing: Growing
    rows: int
    octets: int
    bound: str


def growth(found: Iterable[Measurement]) -> list[Growth]:
    """Return how much of each there is, by these readings."""
    numbers: Mapping[tuple[str, str], float] = {(each.name, each.label): each.value for each in found}

    def total(name: str, labels: Iterable[str]) -> int:
        return int(sum(numbers.get((name, label), 0) for label in labels))

    rows = []
    for each in growing():
        octets = total("table_bytes", each.tables) + total("files_bytes", [each.files])
        octets += total("backup_bytes", [""]) if each.files == "backups" else 0
        rows.append(Growth(each, total("table_rows", each.tables), octets, _bound(each.setting)))
    return rows


def _bound(setting: str) -> str:
    value = settings.ENV[setting] if setting else None
    if value is None:
        return ""
    unit = {"DAYS": "days", "HOURS": "hours", "MB": "MB", "KEEP": "newest"}[setting.rpartition("_")[2]]
    return f"{value} {unit}" if value else "kept for good"

"""Readings: how the whole installation stands, in numbers, for /metrics, the health page and `manage.py doctor`.

Of no project, and without a name or text of any: who reads metrics need not know them. What the database knows comes by
one function of its own, since row-level security would have every project asked in turn.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from prometheus_client import Gauge, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from memories.models.sql import execute, fetch

PATIENCE = "3s"  # a scrape that takes longer tells the other metrics
COUNTS = "PROMETHEUS_MULTIPROC_DIR"

# By name: what it is, and the name of its label.
NAMES = {
    "operations": ("Operations that are open, by state.", "state"),
    "operations_ended_day": ("Operations that ended within a day, by how.", "state"),
    "operation_wait_seconds": ("How long the oldest queued operation waits.", ""),
    "queue_messages": ("Messages in the queue in Postgres.", ""),
    "queue_age_seconds": ("How long the oldest of them waits that nobody has taken.", ""),
    "conflicts_waiting": ("Conflicts that wait for a person.", ""),
    "proposals_waiting": ("Proposals of language models that wait for a person.", ""),
    "vectors_pending": ("Vectors that are still to be made.", ""),
    "connections_pending": ("Changes that are still to be linked.", ""),
    "exchanges_pending": ("Chats that are still to become memories.", ""),
    "heartbeat_age_seconds": ("Since a part last showed that it lives.", "part"),
    "seal_age_seconds": ("Since the last seal of any project.", ""),
    "backup_age_seconds": ("Since the last backup, of the project where that is longest ago.", ""),
    "drill_age_seconds": ("Since the last drill that found a backup sound, likewise.", ""),
    "projects": ("Projects.", ""),
    "projects_without_backup": ("Projects older than a day that were never backed up.", ""),
    "projects_without_drill": ("Projects older than a day of which no backup was proven by a restore.", ""),
    "backup_bytes": ("Bytes of all backups.", ""),
    "database_bytes": ("Bytes of the database.", ""),
    "wal_bytes": ("Bytes that Postgres has written ahead.", ""),
    "database_connections": ("Connections that Postgres has.", ""),
    "database_connections_most": ("Connections that Postgres allows.", ""),
    "table_rows": ("Rows of a table, as the planner estimates them.", "table"),
    "table_bytes": ("Bytes of a table, its indexes and its partitions.", "table"),
    "disk_free_bytes": ("Bytes that are free where a folder lies.", "folder"),
    "disk_bytes": ("Bytes of that disk.", "folder"),
    "files_bytes": ("Bytes of the files of a kind in the data directory.", "kind"),
}
COUNTERS = {"wal_bytes"}
POOL = {
    state: Gauge(f"novamem_pool_{state}", text, multiprocess_mode="livesum")
    for state, text in (
        ("connections", "Connections that web processes keep."),
        ("used", "Those that answer somebody."),
        ("waiting", "Requests that wait for one."),
    )
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number by its name, and by its label where there are several."""

    name: str
    label: str
    value: float


def readings() -> list[Measurement]:
    """Return all there are. Raise DatabaseError without a database."""
    with transaction.atomic():
        execute(f"SET LOCAL statement_timeout = '{PATIENCE}'", [])
        found = fetch("SELECT name, label, value FROM nova_readings()", [])
    if settings.CELERY_BROKER_URL != "pgmq://":
        found = [row for row in found if not row[0].startswith("queue_")]
    return [*(Measurement(*row) for row in found), *_of_files()]


def folders() -> dict[str, Path]:
    """Return where files lie that grow, by what people call it; a storage elsewhere is none of ours to measure."""
    found = {"data": Path(settings.DATA_DIR)}
    storages: dict[str, Any] = settings.STORAGES
    if location := storages["backups"].get("OPTIONS", {}).get("location"):
        found["backups"] = Path(location)
    return found


def _of_files() -> Iterator[Measurement]:
    for name, folder in folders().items():
        with suppress(OSError):
            usage = shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists()))
            yield Measurement("disk_free_bytes", name, usage.free)
            yield Measurement("disk_bytes", name, usage.total)
    for kind, pattern in (("journal", "audit/*"), ("logs", "logs/*")):
        yield Measurement("files_bytes", kind, sum(_size(path) for path in Path(settings.DATA_DIR).glob(pattern)))


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


class Readings(Collector):
    """Read each time somebody asks, since workers change what web processes tell."""

    def describe(self) -> Iterable[Metric]:
        """Return what there may be; nothing is read at registration: there may be no database yet."""
        return [_family(name) for name in NAMES]

    def collect(self) -> Iterator[Metric]:
        """Return what has a value. Without a database the other metrics are told all the same."""
        try:
            found = readings()
        except DatabaseError:
            found = list(_of_files())
        for name in NAMES:
            family = _family(name)
            for each in found:
                if each.name == name:
                    family.add_metric([each.label] if NAMES[name][1] else [], each.value)
            if family.samples:
                yield family


def _family(name: str) -> GaugeMetricFamily | CounterMetricFamily:
    text, label = NAMES[name]
    kind = CounterMetricFamily if name in COUNTERS else GaugeMetricFamily
    return kind(f"novamem_{name}", text, labels=[label] if label else [])


def read_pool() -> None:
    """Tell how busy this process's connections are; for whoever serves requests, every few seconds."""
    pool = connections[DEFAULT_DB_ALIAS].pool  # type: ignore[attr-defined]  # of the backend for Postgres
    numbers = pool.get_stats() if pool else {}
    size, free = numbers.get("pool_size", 0), numbers.get("pool_available", 0)
    POOL["connections"].set(size)
    POOL["used"].set(size - free)
    POOL["waiting"].set(numbers.get("requests_waiting", 0))


def forget_dead_processes() -> None:
    """Let go of what processes that are gone said of themselves last, where several add up what they tell."""
    if folder := os.environ.get(COUNTS):
        for path in Path(folder).glob("gauge_live*_*.db"):
            number = path.stem.rpartition("_")[2]
            if number.isdecimal() and not Path(f"/proc/{number}").exists() and Path("/proc/self").exists():
                multiprocess.mark_process_dead(int(number))  # type: ignore[no-untyped-call]

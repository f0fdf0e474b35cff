"""What is wrong with an installation, and what to do about it: for `manage.py doctor`, in words for its operator."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.db import DatabaseError
from django_celery_beat.models import PeriodicTask

from memories import health
from memories.models import EmbeddingModel
from memories.models.enums import ModelState
from memories.models.sql import fetch
from memories.providers import RecognitionFailed, RerankingFailed, current_recogniser, current_reranker, embed
from memories.readings import Measurement, readings

State = Literal["ok", "look", "wrong"]
DAY = 86_400
BACKUP_AGE, DRILL_AGE = 26 * 3600, 8 * DAY
LEAST_FREE, LEAST_SHARE = 2 * 10**9, 0.1
MANY_VECTORS, MANY_FAILED = 10_000, 10
CLOCK = 5.0  # seconds
WRITTEN = datetime.timedelta(minutes=4)  # the scheduler writes every three when it last began what
REMEDIES = {
    "database": "Is Postgres up, and does DATABASE_URL lead to it? Its own log says why it refuses.",
    "migrations": "Run `script/manage upgrade` with DATABASE_OWNER_URL set, then start the units again.",
    "embedder": "While it loads, wait. Else look at `script/manage models list`, and at the web server's log.",
    "broker": "Start it, or set CELERY_BROKER_URL to one that is there. Jobs wait meanwhile, none is lost.",
    "worker": "Start a worker (`script/manage worker`) and the scheduler; their logs say why they ended.",
    "sidecar": "Is the service of LLM_SIDECAR_URL up? `script/manage sidecar check` asks it.",
    "reduction_client": "Set REDUCTION_CLIENT to a class that can be imported, or leave it at its default.",
    "seals": "Which machine has the NOVAMEM_DATA_DIR whose key seals these projects? All of them share it.",
    "witness": "Is the place of AUDIT_WITNESS reachable? It is told what it missed once it answers.",
}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at: how it is, and what to do where it is not well."""

    what: str
    state: State
    detail: str = ""
    remedy: str = ""


def diagnose(*, now: datetime.datetime) -> list[Diagnosis]:
    """Look at all of it."""
    parts = _parts_with_a_model()
    found = [*_parts(parts), *_bound_models(), *_files()]
    try:
        numbers = {(each.name, each.label): each.value for each in readings()}
    except DatabaseError:
        return found
    return [*found, *_disk(numbers), *_work(numbers), *_backups(numbers), *_database(numbers, now), *_schedules(now)]


def _parts_with_a_model() -> dict[str, health.Part]:
    """Return the parts, once the model that nobody asked in this process yet was asked."""
    parts = health.check_parts()
    model = EmbeddingModel.objects.filter(state=ModelState.ACTIVE).first() if "embedder" in parts else None
    if model is None or parts["embedder"]["state"] == health.OK:
        return parts
    embed(["Ada."], model=model)
    return health.check_parts()


def _one(what: str, well: bool, detail: str, remedy: str, *, otherwise: State = "wrong") -> Diagnosis:
    return Diagnosis(what, "ok", detail) if well else Diagnosis(what, otherwise, detail, remedy)


def _parts(parts: Mapping[str, health.Part]) -> Iterator[Diagnosis]:
    states: dict[str, State] = {health.OK: "ok", health.DEGRADED: "look", health.DOWN: "wrong"}
    for name, part in parts.items():
        state = "wrong" if name == "worker" and part["state"] != health.OK else states[part["state"]]
        remedy = "" if state == "ok" else REMEDIES[name]
        yield Diagnosis(name.replace("_", " "), state, part.get("detail", ""), remedy)


def _bound_models() -> Iterator[Diagnosis]:
    """Those that work goes on without: whether they answer."""
    if reranker := current_reranker():
        yield _answers("reranker", partial(reranker.scores, "Who?", ["Ada."]), "RERANKER and RERANKER_MODEL")
    if recogniser := current_recogniser():
        yield _answers("recogniser", partial(recogniser.names, ["Ada."]), "ENTITY_MODEL")


def _answers(what: str, ask: Callable[[], object], setting: str) -> Diagnosis:
    try:
        ask()
    except (RerankingFailed, RecognitionFailed) as error:
        return Diagnosis(what, "look", str(error), f"Is {setting} right? Until it answers, all goes on without.")
    return Diagnosis(what, "ok")


def _files() -> Iterator[Diagnosis]:
    folder = Path(settings.DATA_DIR)
    open_ones = [
        name
        for name in ("secret_key", "keys/instance.ed25519", "postgres.passwords")
        if (folder / name).exists() and (folder / name).stat().st_mode & 0o077
    ]
    remedy = f"chmod 600 them: others of this machine can read them in {folder}."
    yield _one("secrets on disk", not open_ones, ", ".join(open_ones), remedy)
    yield _one(
        "debug", not settings.DEBUG, "DEBUG is on" if settings.DEBUG else "", "Set DEBUG=False: pages show secrets."
    )
    is_open = settings.ENV["HOST"] not in ("127.0.0.1", "localhost", "::1") and not settings.ENV["BEHIND_TLS"]
    remedy = "End TLS in front of it and set BEHIND_TLS=True: passwords and keys travel in the clear."
    yield _one("TLS", not is_open, f"listens on {settings.ENV['HOST']}" if is_open else "", remedy, otherwise="look")


def _disk(numbers: Mapping[tuple[str, str], float]) -> Iterator[Diagnosis]:
    for folder in ("data", "backups"):
        if ("disk_free_bytes", folder) not in numbers:
            continue
        free, total = numbers["disk_free_bytes", folder], numbers["disk_bytes", folder]
        well = free >= LEAST_FREE and free >= LEAST_SHARE * total
        remedy = (
            "Make room, or move the folder: writes are refused once it is full. docs/operations.md says what grows."
        )
        yield _one(f"disk of {folder}", well, f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free", remedy)


def _work(numbers: Mapping[tuple[str, str], float]) -> Iterator[Diagnosis]:
    waits = numbers["operation_wait_seconds", ""]
    remedy = "Start more workers, or look for what the running operations do: `script/manage operations list`."
    yield _one("operations wait", waits < 900, f"the oldest for {waits:.0f} s", remedy, otherwise="look")
    failed = numbers["operations_ended_day", "failed"]
    remedy = "`script/manage operations list --state failed` says which, `operations show ID` why."
    yield _one("operations failed", failed < MANY_FAILED, f"{failed:.0f} within a day", remedy, otherwise="look")
    pending = numbers["vectors_pending", ""]
    remedy = "Searches find these by words only. Is the worker up, and the embedding model well?"
    yield _one("vectors pending", pending < MANY_VECTORS, f"{pending:.0f}", remedy, otherwise="look")


def _backups(numbers: Mapping[tuple[str, str], float]) -> Iterator[Diagnosis]:
    missing, age = numbers["projects_without_backup", ""], numbers.get(("backup_age_seconds", ""), 0.0)
    detail = f"{missing:.0f} projects were never saved" if missing else f"the oldest last one is {age / 3600:.0f} h old"
    remedy = "Is the schedule `back up` on, and the worker up? `script/manage backup make --project P` makes one now."
    yield _one("backups", not missing and age < BACKUP_AGE, detail, remedy)
    missing, age = numbers["projects_without_drill", ""], numbers.get(("drill_age_seconds", ""), 0.0)
    detail = f"of {missing:.0f} projects none was restored for a test" if missing else f"{age / DAY:.0f} days ago"
    remedy = "`script/manage backup drill ID` does; encrypted ones need BACKUP_IDENTITY_FILE."
    yield _one("drills", not missing and age < DRILL_AGE, detail, remedy, otherwise="look")


def _database(numbers: Mapping[tuple[str, str], float], now: datetime.datetime) -> Iterator[Diagnosis]:
    used, most = numbers["database_connections", ""], numbers["database_connections_most", ""]
    wanted = (settings.ENV["DATABASE_POOL_SIZE"] + 4) * (settings.ENV["WEB_PROCESSES"] + 1)
    remedy = "Raise max_connections of Postgres, or lower DATABASE_POOL_SIZE or WEB_PROCESSES."
    detail = f"{used:.0f} of {most:.0f} in use; one web server and worker may want {wanted}"
    yield _one("connections", used < 0.85 * most and wanted <= most, detail, remedy, otherwise="look")
    ((there,),) = fetch("SELECT clock_timestamp()", [])
    apart = abs((there - datetime.datetime.now(datetime.UTC)).total_seconds())
    remedy = "Let both machines keep time by NTP: leases, schedules and logins go by it."
    yield _one("clock", apart < CLOCK, f"{apart:.1f} s apart from the database's", remedy)


def _schedules(now: datetime.datetime) -> Iterator[Diagnosis]:
    rows = PeriodicTask.objects.select_related("interval").filter(interval__isnull=False)
    off = sorted(row.name for row in rows if not row.enabled)
    late = sorted(
        row.name
        for row in rows
        if row.enabled and now - (row.last_run_at or row.date_changed) > 3 * row.interval.schedule.run_every + WRITTEN
    )
    yield _one("schedules", bool(rows) and not late, f"late: {', '.join(late)}" if late else "",
               "Start the scheduler (`script/manage scheduler`); one of a database is enough.")  # fmt: skip
    remedy = "Switch them on in /admin/, unless you meant it: what they clear grows."
    yield _one("schedules switched off", not off, ", ".join(off), remedy, otherwise="look")


def numbers_of(found: list[Measurement]) -> dict[str, float]:
    """Return readings by name and label in one text each."""
    return {f"{each.name}{{{each.label}}}" if each.label else each.name: each.value for each in found}

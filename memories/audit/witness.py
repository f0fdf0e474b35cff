"""The witness: seals told to a place that neither the database's owner nor this machine's can set back.

A folder elsewhere, an S3 bucket whose objects are locked, or the URL of a log. When it fails, writes go on: what it was
not told yet follows with the next seal.
"""

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import httpx2
import structlog
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from memories import access
from memories.access import Principal
from memories.audit.journal import NUMBER, Head
from memories.models import AuditHorizon, Seal

log = structlog.get_logger(__name__)

ALIAS = "witness"
MOST = 1_000  # seals told at once
TIMEOUT = 10.0
LONGEST = 64 * 1024  # bytes of a receipt, or of a line of a log


class WitnessSilent(Exception):
    """The witness could not be told or asked."""


@dataclass(frozen=True, slots=True)
class Testimony:
    """What a witness was told of a seal."""

    number: int
    digest: str


class Witness(Protocol):
    """A place that keeps what it is told. Both raise WitnessSilent."""

    def tell(self, project_id: UUID, head: Mapping[str, Any]) -> str:
        """Keep a seal; the receipt."""

    def testimonies(self, project_id: UUID) -> Iterator[Testimony]:
        """Return all that it was told of a project, in any order."""


class FolderWitness:
    """A file of each project in a folder: on another machine's disk, say, mounted for adding only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tell(self, project_id: UUID, head: Mapping[str, Any]) -> str:
        """Add a line."""
        try:
            handle = os.open(self._path(project_id), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "ab") as file:
                file.write(json.dumps(head).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise WitnessSilent(error.strerror) from error
        return ""

    def testimonies(self, project_id: UUID) -> Iterator[Testimony]:
        """Return what its lines say."""
        try:
            with self._path(project_id).open("rb") as file:
                yield from map(_parse_line, file)
        except FileNotFoundError:
            return
        except OSError as error:
            raise WitnessSilent(error.strerror or type(error).__name__) from error

    def _path(self, project_id: UUID) -> Path:
        return self._folder / f"{project_id}.ndjson"


class StorageWitness:
    """An object of each seal, whose name says all that is compared: so a listing is enough."""

    def tell(self, project_id: UUID, head: Mapping[str, Any]) -> str:
        """Store an object; one that is there already is left alone."""
        name = f"{project_id}/{head['number']:09}-{head['digest']}.json"
        try:
            if not storages[ALIAS].exists(name):
                storages[ALIAS].save(name, ContentFile(json.dumps(head).encode()))
        except Exception as error:  # storages raise what their clients do
            raise WitnessSilent(type(error).__name__) from error
        return name

    def testimonies(self, project_id: UUID) -> Iterator[Testimony]:
        """Return what the names say."""
        try:
            _, names = storages[ALIAS].listdir(str(project_id))
        except FileNotFoundError:
            return
        except Exception as error:  # as above
            raise WitnessSilent(type(error).__name__) from error
        for name in names:
            number, _, digest = name.removesuffix(".json").partition("-")
            if not number.isdecimal():
                raise WitnessSilent("it holds something else")
            yield Testimony(int(number), digest)


class LogWitness:
    """A transparency log by its URL: POST adds a seal, GET answers every seal of `?project=` as lines of JSON."""

    def __init__(self, url: str) -> None:
        self._url = url

    def tell(self, project_id: UUID, head: Mapping[str, Any]) -> str:
        """Post the seal; the answer is the receipt."""
        try:
            answer = httpx2.post(self._url, json=head, timeout=TIMEOUT)
            answer.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise WitnessSilent(type(error).__name__) from error
        return answer.text[:LONGEST]

    def testimonies(self, project_id: UUID) -> Iterator[Testimony]:
        """Return what it answers."""
        try:
            with httpx2.stream("GET", self._url, params={"project": str(project_id)}, timeout=TIMEOUT) as answer:
                answer.raise_for_status()
                for line in answer.iter_lines():
                    yield _parse_line(line.encode())
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise WitnessSilent(type(error).__name__) from error


def configured_witness() -> Witness | None:
    """Return the witness that AUDIT_WITNESS names."""
    wanted: str = settings.AUDIT_WITNESS
    if not wanted:
        return None
    if wanted.startswith("s3://"):
        return StorageWitness()
    if wanted.startswith(("http://", "https://")):
        return LogWitness(wanted)
    return FolderWitness(Path(wanted))


def send_seals(principal: Principal, *, now: datetime.datetime) -> int:
    """Tell the witness the seals that it has not heard of; how many. Its failure is noted and raised nowhere."""
    witness, receipts = configured_witness(), Receipts(principal.project_id)
    if witness is None:
        return 0
    with access.enter(principal, why="witness"):
        seals = Seal.objects.within(principal.project_id).filter(number__gt=receipts.last_number())
        heads = [Head.of(row) for row in seals.order_by("number")[:MOST]]
    done = 0
    try:
        for head in heads:
            body = {"project": str(principal.project_id)}
            body |= {name: getattr(head, name) for name in Head.__dataclass_fields__}
            receipts.add(head.number, witness.tell(principal.project_id, body), now=now)
            done += 1
    except WitnessSilent as error:
        log.warning("witness_silent", project=str(principal.project_id), error=str(error))
        receipts.fail(str(error), now=now)
        return done
    receipts.fail("", now=now)
    return done


def find_contradiction(principal: Principal) -> tuple[int, str] | None:
    """Return the first seal that the witness knows otherwise than the database, and how. Raise WitnessSilent."""
    witness = configured_witness()
    if witness is None:
        return None
    with access.enter(principal, why="verify"):
        rows = Seal.objects.within(principal.project_id).values_list("number", "digest")
        here = {number: bytes(digest).hex() for number, digest in rows.iterator()}
        horizon = AuditHorizon.objects.within(principal.project_id).first()
    begin = horizon.number if horizon else 0
    here |= {begin: bytes(horizon.digest).hex()} if horizon else {}
    wrong = {
        each.number: each
        for each in witness.testimonies(principal.project_id)
        if each.number >= begin and here.get(each.number) != each.digest
    }
    if not wrong:
        return None
    first = min(wrong)
    return first, "another one" if first in here else "not there"


def witness_silence() -> str:
    """Return since when the witness of any project is silent, and why; empty when it is not, or there is none."""
    found = sorted((Path(settings.DATA_DIR) / "audit").glob("*.unwitnessed")) if settings.AUDIT_WITNESS else []
    body = [json.loads(path.read_text()) for path in found]
    return min((f"silent since {each['since']}: {each['why']}" for each in body), default="")


class Receipts:
    """What the witness answered, beside the journal; and since when it does not answer."""

    def __init__(self, project_id: UUID) -> None:
        folder = Path(settings.DATA_DIR) / "audit"
        self._path, self._failure = folder / f"{project_id}.receipts", folder / f"{project_id}.unwitnessed"

    def last_number(self) -> int:
        """Return the number of the last seal that was told."""
        if not self._path.exists():
            return 0
        with self._path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 2 * LONGEST))
            lines = [
                line for line in file.read().split(b"\n") if line.startswith(b'{"number": ') and line.endswith(b"}")
            ]
        return int(json.loads(lines[-1])["number"]) if lines else 0

    def add(self, number: int, receipt: str, *, now: datetime.datetime) -> None:
        """Keep a receipt."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path.touch(mode=0o600)
        with self._path.open("ab") as file:
            file.write(json.dumps({"number": number, "at": now.isoformat(), "receipt": receipt}).encode() + b"\n")

    def begin_after(self, number: int) -> None:
        """Let go of the receipts of seals up to a number."""
        if not self._path.exists():
            return
        draft = self._path.with_suffix(".receipts-draft")
        draft.touch(mode=0o600)
        with self._path.open("rb") as former, draft.open("wb") as file:
            file.writelines(line for line in former if not (found := NUMBER.match(line)) or int(found[1]) > number)
        draft.replace(self._path)

    def fail(self, why: str, *, now: datetime.datetime) -> None:
        """Note since when it is silent, and why; nothing once it answers."""
        if not why:
            self._failure.unlink(missing_ok=True)
        elif not self._failure.exists():
            self._failure.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._failure.touch(mode=0o600)
            self._failure.write_text(json.dumps({"since": now.isoformat(), "why": why}))

    def failure(self) -> dict[str, str] | None:
        """Return since when it is silent, and why."""
        try:
            body: dict[str, str] = json.loads(self._failure.read_text())
        except FileNotFoundError:
            return None
        return body


def _parse_line(line: bytes) -> Testimony:
    try:
        body = json.loads(line)
        return Testimony(int(body["number"]), str(body["digest"]))
    except (ValueError, TypeError, KeyError) as error:
        raise WitnessSilent("it holds something else") from error

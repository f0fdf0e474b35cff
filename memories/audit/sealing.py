"""Sealing: the new events of a project become one signed link of its chain, in the database and in a file."""

import datetime
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import connection

from memories import access
from memories.access import Principal
from memories.audit import signing
from memories.audit.leaves import Leaf, chain, horizon, leaves
from memories.models import Seal

GENESIS = bytes(32)


def seal(principal: Principal, *, now: datetime.datetime) -> Seal | None:
    """Seals what is new and copies it to the file; None when there is nothing new."""
    with access.enter(principal, why="seal"):
        with connection.cursor() as cursor:  # one sealer at a time; writers are not held up
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [str(principal.project_id)])
        fresh = _next(principal, now)
    catch_up(principal)
    return fresh


def _next(principal: Principal, now: datetime.datetime) -> Seal | None:
    last = Seal.objects.within(principal.project_id).order_by("-number").first()
    number, since, former = (last.number + 1, last.upto, bytes(last.digest)) if last else (1, 0, GENESIS)
    before = horizon()
    content = leaves(principal.project_id, since=since, before=before)
    if not content:
        return None
    digest = chain(former, number=number, upto=before, content=content)
    fresh: Seal = Seal.objects.create(
        project_id=principal.project_id,
        number=number,
        upto=before,
        events=len(content),
        digest=digest,
        signature=signing.sign(digest),
        signer=signing.fingerprint(),
        sealed_at=now,
    )
    return fresh


@dataclass(frozen=True, slots=True)
class Line:
    """A seal as the file has it."""

    number: int
    upto: int
    digest: bytes
    signature: bytes
    leaves: list[Leaf]


def journal_path(project_id: UUID) -> Path:
    """The project's file outside the database."""
    return Path(settings.DATA_DIR) / "audit" / f"{project_id}.ndjson"


def journal(project_id: UUID) -> Iterator[Line]:
    """The seals in the file, oldest first; a half-written last line is passed over."""
    path = journal_path(project_id)
    if not path.exists():
        return
    with path.open() as file:
        for text in file:
            if not text.endswith("\n"):
                return
            row = json.loads(text)
            content = [Leaf(*leaf) for leaf in row["leaves"]]
            yield Line(
                row["number"], row["upto"], bytes.fromhex(row["digest"]), bytes.fromhex(row["signature"]), content
            )


def catch_up(principal: Principal) -> None:
    """Appends the seals that the file does not have yet: the new one, and any that a crash kept from it."""
    known = max((line.number for line in journal(principal.project_id)), default=0)
    with access.enter(principal, why="seal"):
        missing = list(Seal.objects.within(principal.project_id).filter(number__gt=known).order_by("number"))
        former = Seal.objects.within(principal.project_id).filter(number=known).first()
        since, lines = former.upto if former else 0, []
        for row in missing:
            lines.append(_line(row, leaves(principal.project_id, since=since, before=row.upto)))
            since = row.upto
    if lines:
        _append(journal_path(principal.project_id), lines)


def _line(row: Seal, content: list[Leaf]) -> str:
    body = {"number": row.number, "upto": row.upto, "sealed_at": row.sealed_at.isoformat(), "signer": row.signer}
    body |= {"digest": bytes(row.digest).hex(), "signature": bytes(row.signature).hex()}
    body["leaves"] = [[leaf.recorded_in, leaf.table, leaf.number, leaf.digest] for leaf in content]
    return json.dumps(body) + "\n"


def _append(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell() and path.read_bytes()[-1:] != b"\n":
            file.write(b"\n")  # what a crash left half-written stays a line of its own
        file.write("".join(lines).encode())
        file.flush()
        os.fsync(file.fileno())

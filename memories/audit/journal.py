"""The copy of the audit chain outside the database: one line per seal, with the digests that it covers."""

import datetime
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Self
from uuid import UUID

from django.conf import settings

from memories.audit.leaves import Leaf
from memories.models import Seal

NUMBER = re.compile(rb'\{"number": (\d{1,9}),')
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Head:
    """A seal as the file has it, but for the events that it covers."""

    number: int
    upto: int
    sealed_at: str
    signer: str
    digest: str
    signature: str

    @classmethod
    def of(cls, row: Seal) -> Self:
        """Return what the file says of a seal."""
        return cls(
            number=row.number,
            upto=row.upto,
            sealed_at=moment(row.sealed_at),
            signer=row.signer,
            digest=bytes(row.digest).hex(),
            signature=bytes(row.signature).hex(),
        )


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A line of the file."""

    head: Head
    leaves: list[Leaf]

    @classmethod
    def parse(cls, text: bytes) -> Self | None:
        """Return the line, or None when it has been damaged."""
        try:
            row = json.loads(text)
            bytes.fromhex(row["signature"])
            leaves = [Leaf(*leaf) for leaf in row.pop("leaves")]
            return cls(Head(**row), leaves)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None


def moment(at: datetime.datetime) -> str:
    """Return the time of a seal as it is hashed and written."""
    return at.astimezone(datetime.UTC).isoformat()


class Journal:
    """A project's file. Its lines end in a newline: what a crash left half-written does not count."""

    def __init__(self, project_id: UUID) -> None:
        self.path = self.folder() / f"{project_id}.ndjson"
        self.elsewhere = self.path.with_suffix(".elsewhere")  # says that another instance seals the project

    @staticmethod
    def folder() -> Path:
        """Return where the files of all projects lie."""
        return Path(settings.DATA_DIR) / "audit"

    @contextmanager
    def held(self) -> Iterator[None]:
        """One process at a time seals or verify: between a seal's commit and its line nobody looks."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.path.with_suffix(".lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def places(self) -> dict[int, int]:
        """Return where the line of each seal begins; of two lines with one number the later."""
        found: dict[int, int] = {}
        if self.path.exists():
            offset = 0
            with self.path.open("rb") as file:
                for text in file:
                    match = NUMBER.match(text)
                    if match and text.endswith(b"\n"):
                        found[int(match[1])] = offset
                    offset += len(text)
        return found

    def line(self, offset: int) -> JournalLine | None:
        """Return the line that begins there, or None when it has been damaged."""
        with self.path.open("rb") as file:
            file.seek(offset)
            return JournalLine.parse(file.readline())

    def last_number(self) -> int:
        """Return the number of the last line, 0 when there is none; reads no more than that line."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as file:
            end = _line_break_before(file, file.seek(0, os.SEEK_END))
            file.seek(_line_break_before(file, end - 1) if end else 0)
            match = NUMBER.match(file.read(32))
        return int(match[1]) if match and end else 0

    def begin_after(self, number: int, first: bytes) -> None:
        """Let go of the lines up to a number: the file begins with another line, and is replaced as a whole."""
        if not self.path.exists():
            return
        places = sorted(offset for its_number, offset in self.places().items() if its_number > number)
        draft = self.path.with_suffix(".draft")
        draft.touch(mode=0o600)
        with self.path.open("rb") as former, draft.open("wb") as file:
            file.write(first)
            if places:
                former.seek(places[0])
                shutil.copyfileobj(former, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)

    def begin_anew(self, first: bytes) -> None:
        """Begin the file with a line; what stood there is put aside."""
        if self.path.exists():
            self.path.replace(self.path.with_suffix(".former"))
        self.path.touch(mode=0o600)
        with self.path.open("wb") as file:
            file.write(first)
            file.flush()
            os.fsync(file.fileno())

    def append(self, row: Seal, leaves: BinaryIO) -> None:
        """Write a seal in the place of what a crash may have left half-written; it is on the disk afterwards.

        The number comes first, so that a line is found without reading its leaves: the texts that `Link.add` gave.
        """
        self.path.touch(mode=0o600)
        leaves.seek(0)
        with self.path.open("r+b") as file:
            file.truncate(_line_break_before(file, file.seek(0, os.SEEK_END)))
            file.seek(0, os.SEEK_END)
            file.write(json.dumps(asdict(Head.of(row))).removesuffix("}").encode() + b', "leaves": [')
            shutil.copyfileobj(leaves, file)
            file.write(b"]}\n")
            file.flush()
            os.fsync(file.fileno())


def _line_break_before(file: BinaryIO, end: int) -> int:
    """Return the offset just after the last newline in [0, end), 0 without one."""
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0

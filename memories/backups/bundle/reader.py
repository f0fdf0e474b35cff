"""Bundle reader: a bundle is taken line by line and believed in nothing; what is wrong is named with its line.

Whatever the file is, reading it takes bounded memory and raises nothing but BrokenBundle.
"""

import datetime
import hashlib
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.conf import settings

from conflicts.enums import Policy
from memories import strict_json
from memories.backups.bundle import changes, forms, records, shapes, vectors
from memories.backups.bundle.manifest import READ, Footer, Manifest
from memories.errors import NovaError

CHUNK, PIECE = 64 * 1024, 1024 * 1024
# The emptiest texts that may be stored shrink to a 300th, a bomb to less. The first bytes may do as they like.
RATIO, FREE = 500, 16 * 1024 * 1024
MOST = 2_000  # lines of a batch
A_PART = 100  # bytes that a value of a line takes in memory, beside its text
HANDOVER = 0.0005  # seconds for which a thread computes while others want to
WEIGHT = 24 * 1024 * 1024  # of a batch: a heavier one is read by itself
AHEAD = datetime.timedelta(minutes=5)  # of our clock
ORDER = {kind: place for place, kind in enumerate((*records.KINDS, *changes.KINDS))}


class BrokenBundle(NovaError):
    """It is no bundle, or not as it was written; nothing of it was applied. `line` counts from 1."""

    status = 400
    code = "broken_bundle"
    title = "This is no sound backup"

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line, self.why = line, why

    @property
    def summary(self) -> dict[str, Any]:
        """Return the line and what is wrong with it."""
        return {"line": self.line, "detail": self.why}


class UnknownVersion(BrokenBundle):
    """Of a version that this program does not know."""

    code = "unknown_version"


@dataclass(frozen=True, slots=True)
class BundleLine:
    """A record as it was read: its number in the file, its kind, the parsed JSON and the bytes."""

    number: int
    kind: str
    told: dict[str, Any]
    raw: bytes
    weight: int  # about so many bytes in memory


class BundleReader:
    """One bundle: the manifest at once, then the records; at their end all is checked."""

    def __init__(self, file: BinaryIO, *, now: datetime.datetime, allow_version: bool = False) -> None:
        self._lines = _unpacked(file)
        self._digest = hashlib.sha256()
        self._latest = (now + AHEAD).astimezone(datetime.UTC).isoformat(timespec="microseconds")
        self._shapes = shapes.shapes()
        self.number, self.count = 1, 0
        self._held = Counter[str]()
        self.footer: Footer | None = None
        first = next(self._lines, b"")
        self._digest.update(first + b"\n")
        record = self._parsed(first)
        self._check_version(record, allow_version=allow_version)
        try:
            self.manifest = Manifest.of(record)
            self.signer = self.manifest.signer
        except ValueError as error:
            raise BrokenBundle(1, str(error)) from error
        self._check_names()

    def _check_version(self, record: Mapping[str, Any], *, allow_version: bool) -> None:
        if "schemaVersion" not in record or "format" not in record:
            raise BrokenBundle(1, "this is no bundle")
        self.is_known = record["schemaVersion"] in READ
        if not self.is_known and not allow_version:
            raise UnknownVersion(1, f"schema version {str(record['schemaVersion'])[:20]} is not known here")

    def _check_names(self) -> None:
        at = f"{self.manifest.project}:"
        if any(not name.startswith(at) for name in self.manifest.namespaces):
            raise BrokenBundle(1, "a namespace belongs to another project")

    def lines(self) -> Iterator[BundleLine]:
        """Return every record in order. Raise BrokenBundle, at the latest after the last one."""
        names, before = set(self.manifest.namespaces), (-1, "", "")
        for raw in self._lines:
            self.number += 1
            record = self._parsed(raw)
            kind = record.get("kind")
            if kind == "footer":
                return self._finish(record)
            if type(kind) is not str or kind not in ORDER:
                raise BrokenBundle(self.number, "this kind of record is not known here")
            self._digest.update(raw + b"\n")
            if upgrade(record):
                raw = json.dumps(record).encode()
            key = self._checked(kind, record)
            if not before < key:
                raise BrokenBundle(self.number, "this record stands out of order, or twice")
            before = key
            if record.get("namespace", None) is not None and record["namespace"] not in names:
                raise BrokenBundle(self.number, "this namespace is not in the manifest")
            self.count += 1
            if kind == "fragment":
                self._held[self.manifest.bucket_of(record["row"])] += 1
            yield BundleLine(self.number, kind, record, raw, len(raw) + A_PART * records.parts(raw))
        raise BrokenBundle(self.number, "the file ends before its footer")

    def _checked(self, kind: str, record: dict[str, Any]) -> tuple[int, str, str]:
        """Return the place of a record in the order."""
        if kind in changes.KINDS:
            return ORDER[kind], "", self._first_id(record)
        shape = self._shapes[kind]
        if fault := shape.fault(record, latest=self._latest):
            raise BrokenBundle(self.number, fault)
        if "namespace" in shape.fields and type(record["namespace"]) is not str:
            raise BrokenBundle(self.number, "the namespace is no name")
        row = record["row"]
        at, which = row[shape.order], row[shape.key]
        if type(at) is not str or type(which) is not str:
            raise BrokenBundle(self.number, "time or id is missing")
        if "vectors" in record and (fault := vectors.fault(record["vectors"])):
            raise BrokenBundle(self.number, fault)
        return ORDER[kind], at, which

    def _first_id(self, record: dict[str, Any]) -> str:
        ids = record.get("ids")
        if record.keys() != {"kind", "ids"} or type(ids) is not list or not ids:
            raise BrokenBundle(self.number, "this is no list of ids")
        if any(type(each) is not str or not forms.ID.fullmatch(each) for each in ids):
            raise BrokenBundle(self.number, "this is no list of ids")
        return str(ids[0])

    def _finish(self, record: dict[str, Any]) -> None:
        record.pop("kind")
        if record.keys() != set(Footer.__dataclass_fields__) or type(record["count"]) is not int:
            raise BrokenBundle(self.number, "the footer has other fields")
        footer = Footer(record["count"], str(record["sha256"]), str(record["signature"]))
        if footer.count != self.count:
            raise BrokenBundle(self.number, f"the footer counts {footer.count} records, the file holds {self.count}")
        if footer.sha256 != self._digest.hexdigest():
            raise BrokenBundle(self.number, "the SHA-256 of the lines is another one")
        if not footer.is_by(self.manifest.key):
            raise BrokenBundle(self.number, "the signature does not fit the public key of the manifest")
        if next(self._lines, None) is not None:
            raise BrokenBundle(self.number + 1, "something follows the footer")
        if fault := self.manifest.miscounted(self._held):
            raise BrokenBundle(1, fault)
        self.footer = footer

    def _parsed(self, raw: bytes) -> dict[str, Any]:
        try:
            record = parsed(raw)
        except RecursionError as error:
            raise BrokenBundle(self.number, "this is nested too deeply") from error
        except ValueError as error:
            raise BrokenBundle(self.number, f"this is no record: {str(error)[:200]}") from error
        return record


def records_of(file: BinaryIO, *, now: datetime.datetime) -> Iterator[dict[str, Any]]:
    """Return every record of a bundle, parsed; at the end all is checked. Raise BrokenBundle."""
    return (line.told for line in BundleReader(file, now=now).lines())


def parsed(raw: bytes, *, most: int = records.PARTS) -> dict[str, Any]:
    """Return one line as JSON that Postgres takes as it is. Raise ValueError, RecursionError."""
    opened = raw.count(b"{") + raw.count(b"[")
    if records.parts(raw, most=most) > most:
        raise ValueError("it has too many parts")
    record = strict_json.loads(raw.decode("utf-8"), parse_float=strict_json.finite)
    if type(record) is not dict:
        raise ValueError("it is no object")
    lowered = raw.lower() if b"\\" in raw else b""
    if opened > shapes.DEPTH or b"\\u0000" in lowered or b"\\ud" in lowered:
        strict_json.check(record, left=shapes.DEPTH)
    return record


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a gzip file. Raise BrokenBundle when it is none, is cut off, bursts, or goes on after its end."""
    unpacker, rest, number = zlib.decompressobj(31), b"", 1
    taken = given = 0
    while chunk := file.read(CHUNK):
        taken += len(chunk)
        while chunk and not unpacker.eof:
            try:
                piece = unpacker.decompress(chunk, PIECE)
            except zlib.error as error:
                raise BrokenBundle(number, "the file is no gzip, or damaged") from error
            chunk = unpacker.unconsumed_tail
            given += len(piece)
            if given > FREE + RATIO * taken or given > settings.RESTORE_MAX_BYTES:
                raise BrokenBundle(number, "the file unpacks to more than may be")
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
            number += len(whole)
            if len(rest) > records.LONGEST:
                raise BrokenBundle(number, f"the line is longer than {records.LONGEST:,} bytes")
        if unpacker.eof and unpacker.unused_data + chunk:
            raise BrokenBundle(number, "something follows the end of the file")
    if not unpacker.eof:
        raise BrokenBundle(number, "the file is cut off")
    if rest:
        raise BrokenBundle(number, "the last line has no end")


def batches(lines: Iterator[BundleLine]) -> Iterator[list[BundleLine]]:
    """So many lines at a time that memory stays flat."""
    batch: list[BundleLine] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += line.weight
        if len(batch) >= MOST or size >= WEIGHT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def prefetch_batches(made: Iterator[list[BundleLine]]) -> Iterator[list[BundleLine]]:
    """Return the same batches; while the database works on one, the next is read, but not beside a heavy one."""
    with _handing_over_soon(), ThreadPoolExecutor(max_workers=1) as reading:
        waiting = reading.submit(next, made, None)
        while batch := waiting.result():
            heavy = sum(line.weight for line in batch) >= WEIGHT
            if not heavy:
                waiting = reading.submit(next, made, None)
            yield batch
            batch.clear()  # whoever took it still names it
            if heavy:
                waiting = reading.submit(next, made, None)


@contextmanager
def _handing_over_soon() -> Iterator[None]:
    """Let whoever has an answer of the database go on at once: of each it waited 5 ms for the thread that reads."""
    former = sys.getswitchinterval()
    sys.setswitchinterval(HANDOVER)
    try:
        yield
    finally:
        sys.setswitchinterval(former)


def upgrade(record: dict[str, Any]) -> bool:
    """Bring a record up to date in place; whether there was anything to do."""
    row = record.get("row")
    if record.get("kind") != "predicate" or type(row) is not dict or "policy" in row:
        return False
    newest = row.pop("newer_wins", None)
    if type(newest) is not bool:
        return False
    row["policy"] = str(Policy.NEWEST if newest else Policy.REVIEW)
    return True

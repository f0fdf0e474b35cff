"""Streaming: manifest, records and footer become one gzip file, packed beside while Postgres writes the next lines."""

import gzip
import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any

from memories import failpoints
from memories.backups import changes, records
from memories.backups.manifest import Footer, Manifest
from memories.operations import Progress

LEVEL = 4  # of gzip: twice as fast as its default, a tenth larger
PIECE = 1024 * 1024  # bytes of lines that are packed at a time


class RecordTooLong(Exception):
    """A record is longer than any reader takes."""

    code = "record_too_long"


def write(file: IO[bytes], manifest: Manifest, selection: records.Selection, progress: Progress) -> tuple[int, str]:
    """Manifest, records and footer; how many records, and the SHA-256 of the file. Raises RecordTooLong."""
    whole = hashlib.sha256()
    tee = _Tee(file, whole)
    with gzip.GzipFile(filename="", fileobj=tee, mode="wb", compresslevel=LEVEL, mtime=0) as packed:
        count = _lines(packed, manifest, selection, progress)
    return count, whole.hexdigest()


def _lines(packed: gzip.GzipFile, manifest: Manifest, selection: records.Selection, progress: Progress) -> int:
    count, total = 0, sum(bucket["count"] for bucket in manifest.counts)
    with _Packing(packed) as packing:
        packing.add(manifest.line())
        for record in changes.read(selection):
            if len(record.line) > records.LONGEST or records.parts(record.line) > records.PARTS:
                raise RecordTooLong(f"a record of kind {record.kind} is longer than any reader takes")
            packing.add(record.line)
            count += 1
            if count % records.BATCH == 0:
                progress.note(stage="writing", done=count, total=max(count, total))
                failpoints.reach("backup.half")
    packed.write(Footer.of(count, packing.digest.hexdigest()).line() + b"\n")
    return count


class _Packing:
    """Takes lines, packs and hashes them beside: meanwhile Postgres writes the next ones."""

    def __init__(self, packed: gzip.GzipFile) -> None:
        self.digest = hashlib.sha256()
        self._packed, self._piece, self._beside = packed, bytearray(), ThreadPoolExecutor(max_workers=1)
        self._last: Future[None] | None = None

    def __enter__(self) -> "_Packing":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._beside:
            if kind is None:
                self._hand_over()
                self._wait()

    def add(self, line: bytes) -> None:
        """One line, without its line break. Raises what packing those before it raised."""
        self._piece += line + b"\n"
        if len(self._piece) >= PIECE:
            self._hand_over()

    def _hand_over(self) -> None:
        self._wait()
        piece, self._piece = self._piece, bytearray()
        self._last = self._beside.submit(self._pack, piece)

    def _wait(self) -> None:
        if self._last:
            self._last.result()

    def _pack(self, piece: bytearray) -> None:
        self.digest.update(piece)
        self._packed.write(piece)


class _Tee:
    """A file that hashes what is written to it."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file, self._digest = file, digest

    def write(self, data: bytes) -> int:
        """Writes and hashes."""
        self._digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Flushes the file."""
        self._file.flush()

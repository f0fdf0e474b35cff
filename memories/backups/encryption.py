"""Encryption of files at rest, in the age format: for recipients whose identities only restoring needs."""

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import pyrage
from django.conf import settings

from memories.errors import NovaError

HEADER = b"age-encryption.org/v1\n"
_identity_file: ContextVar[str | None] = ContextVar("identity_file", default=None)


class Writable(Protocol):
    """What takes bytes."""

    def write(self, data: bytes, /) -> int:
        """Write; how many."""

    def flush(self) -> None:
        """Let them go on."""


class BadRecipient(ValueError):
    """It is no public key of age or SSH."""


class IdentityMissing(NovaError):
    """The file is encrypted, and no identity is at hand that opens it."""

    code = "identity_missing"
    title = "This backup is encrypted"
    is_kept = True


def check_recipients(texts: Sequence[str]) -> None:
    """Raise BadRecipient unless each is a public key: `age1…`, `ssh-ed25519 …` or `ssh-rsa …`."""
    _recipients(texts)


def is_encrypted(file: BinaryIO) -> bool:
    """Return whether the file is encrypted; it is read from its beginning afterwards."""
    file.seek(0)
    head = file.read(len(HEADER))
    file.seek(0)
    return head == HEADER


def has_identity() -> bool:
    """Return whether an identity file is named."""
    return bool(_identity_path())


@contextmanager
def identity(path: Path | None) -> Iterator[None]:
    """Use this identity file meanwhile instead of the setting's. None: that one."""
    token = _identity_file.set(str(path) if path else None)
    try:
        yield
    finally:
        _identity_file.reset(token)


@contextmanager
def encrypted(file: Writable, recipients: Sequence[str]) -> Iterator[Writable]:
    """A file to write that ends up in the other one encrypted; without recipients that one itself.

    No byte of it reaches a disk as it is. Raise what writing to the other one raises.
    """
    if not recipients:
        yield file
        return
    keys, source, sink = _recipients(recipients), _Pipe(), _Sink(file)
    failures: list[Exception] = []

    def work() -> None:
        with source.reader as reader:
            try:
                pyrage.encrypt_io(reader, sink, keys)
            except Exception as error:  # noqa: BLE001  # told where the writer waits
                failures.append(sink.failure or error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        with source.writer as writer:
            yield writer
    except BrokenPipeError:
        thread.join()
        if not failures:
            raise
    finally:
        thread.join()
    if failures:
        raise failures[0]


@contextmanager
def decrypted(file: BinaryIO) -> Iterator[BinaryIO]:
    """The file as it was before it was encrypted, itself when it was not. Raise IdentityMissing.

    What was encrypted lies meanwhile in a file without a name, which ends with the process at the latest.
    """
    if not is_encrypted(file):
        yield file
        return
    keys = _identities()
    with tempfile.TemporaryFile() as plain:
        try:
            pyrage.decrypt_io(file, plain, keys)
        except pyrage.DecryptError as error:
            raise IdentityMissing("the identity at hand does not open this file") from error
        except OSError as error:
            if error.errno is not None:
                raise
            # Changed after its header: what was read so far shows whoever reads on that it is broken.
        plain.seek(0)
        yield cast("BinaryIO", plain)


def _recipients(texts: Sequence[str]) -> list[Any]:
    try:
        return [_recipient(text.strip()) for text in texts]
    except pyrage.RecipientError as error:
        raise BadRecipient("Give public keys: age1…, ssh-ed25519 … or ssh-rsa ….") from error


def _recipient(text: str) -> Any:
    kind = pyrage.ssh.Recipient if text.startswith("ssh-") else pyrage.x25519.Recipient
    return kind.from_str(text)


def _identity_path() -> str:
    return _identity_file.get() or str(settings.BACKUP_IDENTITY_FILE)


def _identities() -> list[Any]:
    path = _identity_path()
    if not path:
        raise IdentityMissing("the file is encrypted: name the identity file in BACKUP_IDENTITY_FILE or by --identity")
    try:
        text = Path(path).read_text()
        if "PRIVATE KEY" in text:
            return [pyrage.ssh.Identity.from_buffer(text.encode())]
        lines = [line.strip() for line in text.splitlines()]
        found = [pyrage.x25519.Identity.from_str(line) for line in lines if line and not line.startswith("#")]
    except (OSError, UnicodeDecodeError, pyrage.IdentityError) as error:
        raise IdentityMissing(f"the identity file can't be used: {type(error).__name__}") from error
    if not found:
        raise IdentityMissing("the identity file holds no identity")
    return found


class _Pipe:
    """What is written at one end is read at the other."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.reader, self.writer = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


class _Sink:
    """A file to write whose own error is kept: the library tells only its text."""

    def __init__(self, file: Writable) -> None:
        self._file = file
        self.failure: Exception | None = None

    def write(self, data: bytes) -> int:
        """Write."""
        try:
            return self._file.write(data)
        except Exception as error:
            self.failure = error
            raise

    def flush(self) -> None:
        """Flush the file."""
        self._file.flush()

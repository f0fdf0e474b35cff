"""The first and the last line of a bundle: what it holds and from whom, and what proves that nothing was changed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import pydantic
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic.dataclasses import dataclass as checked
from typing_extensions import TypedDict  # pydantic reads that of Python from 3.12 on

from memories import audit
from memories.backups.bundle import policies
from memories.models.enums import ExportPolicy

FORMAT, VERSION, PURPOSE = "novamem-bundle", 3, "bundle"
ENVELOPE = "envelope"  # the instance of what was a V1 envelope: its key was made to be thrown away
# Version 1 knew no rulings, users and keys; before 3 every bundle held the salt.
READ = (1, 2, VERSION)
LATE = ("saltName",)  # fields that earlier versions lack
EXACT = pydantic.ConfigDict(strict=True, extra="forbid")


@pydantic.with_config(EXACT)
class BucketCount(TypedDict):
    """How many fragments of a bucket a file holds, and why they are in it."""

    bucket: str
    reason: str
    count: int


@checked(frozen=True, slots=True, config=EXACT)
class Manifest:
    """What a bundle says of itself. Field names are those of the file."""

    project: str
    policy: str
    policyVersion: int
    exportedAtMs: int
    instance: str
    namespaces: list[str]
    embeddings: bool
    counts: list[BucketCount]
    # What changed in transactions from `upto` on may be missing; an increment holds only what changed since `since`.
    upto: str
    since: str | None = None
    base: str | None = None
    # The SHA-256 of the files that this one goes on from, the oldest first.
    chain: list[str] = field(default_factory=list)
    publicKey: str = ""
    # What the project's fingerprints are keyed with, in hexadecimal, of an encrypted bundle alone; and how it is named.
    salt: str = ""
    saltName: str = ""
    format: str = FORMAT
    schemaVersion: int = VERSION

    def line(self) -> bytes:
        """As it is written, without a line break."""
        return canonical(asdict(self))

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """As read, with the right names and types. Raise ValueError saying what is wrong."""
        wanted = cls.__dataclass_fields__
        if record.get("schemaVersion") in READ[:-1]:
            record = {**dict.fromkeys(LATE, ""), **record}
        if set(record) != set(wanted):
            raise ValueError(f"the manifest has other fields: {', '.join(sorted(set(record) ^ set(wanted)))}")
        try:
            return cls(**record)
        except pydantic.ValidationError as error:
            raise ValueError(f"{error.errors()[0]['loc'][0]} of the manifest is of another type") from error

    def bucket_of(self, row: Mapping[str, Any]) -> str:
        """Return where a fragment counts: only an identity has more than one bucket."""
        if self.policy == ExportPolicy.IDENTITY:
            return policies.identity_bucket(row)
        return self.counts[0]["bucket"] if self.counts else ""

    def miscounted(self, found: Mapping[str, int]) -> str:
        """Return how it counts otherwise than the file, which holds `found` by bucket; empty when it does not."""
        counts = {each["bucket"]: each["count"] for each in self.counts}
        for bucket in {**counts, **found}:
            if counts.get(bucket, 0) != found.get(bucket, 0):
                held = found.get(bucket, 0)
                return f"the manifest counts {counts.get(bucket, 0)} fragments of {bucket!r}, the file holds {held}"
        return ""

    @property
    def key(self) -> bytes:
        """The public key. Raises ValueError unless it is one."""
        key = bytes.fromhex(self.publicKey)
        if len(key) != 32:
            raise ValueError("the public key has not 32 bytes")
        return key

    @property
    def signer(self) -> str:
        """The name of who signed, as `--trust-signer` takes it; empty for a V1 envelope, which nobody signs."""
        signed_with = audit.fingerprint(self.key)
        return "" if self.instance == ENVELOPE else signed_with


@dataclass(frozen=True, slots=True)
class Footer:
    """How many records there are, the SHA-256 of all lines before this one, and the signature of both."""

    count: int
    sha256: str
    signature: str

    @classmethod
    def of(cls, count: int, digest: str, *, key: Ed25519PrivateKey | None = None) -> Self:
        """Signed with this key, without one by this instance."""
        return cls(count, digest, audit.sign(_signed(count, digest), purpose=PURPOSE, key=key).hex())

    def line(self) -> bytes:
        """As it is written, without a line break."""
        return canonical({"kind": "footer", **asdict(self)})

    def is_by(self, key: bytes) -> bool:
        """Return whether the holder of this public key signed it."""
        try:
            signature = bytes.fromhex(self.signature)
        except ValueError:
            return False
        return audit.is_signed(_signed(self.count, self.sha256), signature, purpose=PURPOSE, key=key)


def canonical(record: Mapping[str, Any]) -> bytes:
    """JSON with sorted keys and no spaces."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _signed(count: int, digest: str) -> bytes:
    return f"{count} {digest}".encode()

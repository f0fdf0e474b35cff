"""The V1 envelope: a small backup as one JSON document, out of a bundle and into one.

`{schemaVersion: 1, exportedAtMs, selection, counts, chunks}`. Nobody signs an envelope, so what comes in as one is a
stranger's: it becomes a bundle that is signed with a key which nobody keeps.
"""

import base64
import datetime
import gzip
import hashlib
import io
import math
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NoReturn

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.apps import apps

from conflicts.authority import SOURCE_RANK
from memories.backups.bundle import policies, v1_details, v1_faults, vectors
from memories.backups.bundle.manifest import ENVELOPE, Footer, Manifest, canonical
from memories.backups.bundle.reader import BrokenBundle, BundleLine, BundleReader, UnknownVersion, parsed
from memories.backups.bundle.records import LISTS, LONGEST
from memories.errors import NovaError
from memories.models import Claim, Fragment, Namespace
from memories.models.enums import ExportPolicy, FragmentType, SourceClass, SourceType
from memories.models.namespace import is_written
from memories.models.table_spec import specs

VERSION = 1
RANKS = {str(source): rank for source, rank in SOURCE_RANK.items()}
FIELDS = {"schemaVersion", "exportedAtMs", "selection", "counts", "chunks"}
CHUNK = {"id", "content", "createdAt", "updatedAt"}
MORE = {"metadata", "embedding", "embeddingModelId"}
DEFAULTS = {
    "type": FragmentType.SEMANTIC,
    "source_type": SourceType.MANUAL,
    "source": SourceClass.DOCUMENT,
    "importance": 0.5,
}


PARTS = 1_000_000  # of an envelope, whose vectors are lists of numbers
SPARE = 10_000  # bytes and values beside the chunks


class EnvelopeTooLarge(NovaError):
    """The backup is too large for one JSON document: take the bundle."""

    status = 413
    code = "too_large"


class NoEnvelope(NovaError):
    """The backup is an increment, and says too little by itself."""

    code = "increment"


class Sealed(NovaError):
    """The backup is encrypted, and given only as it is."""

    code = "encrypted"


def is_envelope(file: BinaryIO) -> bool:
    """Return whether a file begins like JSON; it stands at its beginning afterwards."""
    first = file.read(64).lstrip()[:1]
    file.seek(0)
    return first == b"{"


def project_of(file: BinaryIO) -> str:
    """Return the project that the first chunk names, empty when it names none. Raise BrokenBundle."""
    for chunk in _parsed(file.read(LONGEST + 1), allow_version=True)["chunks"]:
        more = chunk.get("metadata") if type(chunk) is dict else None
        return str((more if type(more) is dict else {}).get("namespace", "")).partition(":")[0]
    return ""


def envelope_of(file: BinaryIO, *, now: datetime.datetime) -> dict[str, Any]:
    """A bundle's fragments as an envelope. Raise BrokenBundle, NoEnvelope; EnvelopeTooLarge for more than is taken."""
    reader = BundleReader(file, now=now)
    record, chunks, size, parts = reader.manifest, [], 0, 0
    if record.base is not None:
        raise NoEnvelope("it holds only what changed since another: take a whole one")
    for line in reader.lines():
        if line.kind == "fragment":
            chunks.append(_chunk(line))
            raw = canonical(chunks[-1])
            size, parts = size + len(raw), parts + raw.count(b",") + raw.count(b"{") + raw.count(b"[")
            if size + SPARE > LONGEST or parts + SPARE > PARTS:
                raise EnvelopeTooLarge("it is too large for one document: download it without format=json")
    selection = {"policy": record.policy, "policyVersion": record.policyVersion, "namespaces": record.namespaces}
    return {
        "schemaVersion": VERSION,
        "exportedAtMs": record.exportedAtMs,
        "selection": {**selection, "embeddings": record.embeddings},
        "counts": record.counts,
        "chunks": chunks,
    }


def _chunk(line: BundleLine) -> dict[str, Any]:
    row = line.told["row"]
    metadata = {"namespace": line.told["namespace"], **{name: row[column] for name, column in v1_details.NAMED.items()}}
    metadata |= v1_details.written(line.told)
    found = {
        "id": row["id"],
        "content": row["content"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
        "metadata": {**metadata, "extra": row["extra"]},
    }
    for each in line.told.get("vectors", ())[:1]:
        found |= {"embedding": vectors.unpacked(each["vector"]).tolist(), "embeddingModelId": each["model"]}
    return found


def bundle_of(file: BinaryIO, *, project: str, now: datetime.datetime, allow_version: bool = False) -> BinaryIO:
    """Return an envelope as a bundle of this project. Raise BrokenEnvelope, which names the field, BrokenBundle and
    UnknownVersion.

    Chunks that name no namespace belong to the project's `main`.
    """
    content = _parsed(file.read(LONGEST + 1), allow_version=allow_version)
    found = [_record(number, chunk, project=project) for number, chunk in enumerate(content["chunks"])]
    found.sort(key=lambda each: (each[1]["row"]["created_at"], each[1]["row"]["id"]))
    places = sorted({record["namespace"] for _, record in found})
    at = _at_ms(content["exportedAtMs"], "exportedAtMs")
    bundle = _signed(at, places, project, [record for _, record in found])

    def chunk_at(line: int) -> str:
        place = line - 2 - len(places)
        return f"chunks[{found[place][0]}]" if 0 <= place < len(found) else "the envelope"

    try:
        for line in BundleReader(bundle, now=now).lines():
            if line.kind == "fragment":
                v1_faults.check(chunk_at(line.number), line.told)
    except v1_faults.BrokenEnvelope:
        raise
    except BrokenBundle as error:
        raise v1_faults.retold(chunk_at(error.line), error) from error
    bundle.seek(0)
    return bundle


def _parsed(raw: bytes, *, allow_version: bool) -> dict[str, Any]:
    if len(raw) > LONGEST:
        raise BrokenBundle(1, f"an envelope has at most {LONGEST:,} bytes")
    try:
        record = parsed(raw, most=PARTS)
    except RecursionError as error:
        raise BrokenBundle(1, "this is nested too deeply") from error
    except ValueError as error:
        raise BrokenBundle(1, f"this is no envelope: {str(error)[:200]}") from error
    if record.keys() != FIELDS or type(record["chunks"]) is not list:
        raise BrokenBundle(1, f"an envelope has {', '.join(sorted(FIELDS))}")
    if record["schemaVersion"] != VERSION and not allow_version:
        raise UnknownVersion(1, f"schema version {str(record['schemaVersion'])[:20]} is not known here")
    return record


def _record(number: int, chunk: Any, *, project: str) -> tuple[int, dict[str, Any]]:
    """Return a chunk as a fragment's record."""

    def refuse(why: str, at: str = "") -> NoReturn:
        raise v1_faults.BrokenEnvelope(f"chunks[{number}]{at}", why)

    which, place, more = _named(chunk, project, refuse)
    row = _row(Fragment(agent_id=place.partition(":")[2][:63], **DEFAULTS))
    row |= {column: more[name] for name, column in v1_details.NAMED.items() if name in more}
    details = v1_details.read(more, chunk["content"])
    extra = more.get("extra", {})
    if not isinstance(row["source"], str):
        refuse("it is no text", ".metadata.source")
    if type(extra) is not dict:
        refuse("it is no object", ".metadata.extra")
    row |= {"id": which, "content": chunk["content"], "authority": RANKS.get(row["source"], 1), **details.columns}
    known = {*v1_details.NAMED, *details.names, "namespace", "extra"}
    row["extra"] = {name: value for name, value in more.items() if name not in known} | extra
    row |= {name: _time(chunk[key], f"chunks[{number}].{key}") for name, key in TIMES}
    said = [_row(Claim(**claim | {"authority": min(row["authority"], claim["authority"])})) for claim in details.claims]
    said = [{**claim, "last_seen_at": row["updated_at"]} for claim in said]
    beside = dict.fromkeys(("claim", "access", *LISTS))
    record: dict[str, Any] = {"kind": "fragment", "namespace": place, "row": row, **beside}
    if said:
        record |= {"claim": said[0], **({"claims": said[1:]} if said[1:] else {})}
    if chunk.get("embedding") is not None:
        record["vectors"] = [_vector(chunk, refuse)]
    return number, record


def _named(chunk: Any, project: str, refuse: Any) -> tuple[str, str, dict[str, Any]]:
    """Return the chunk's id, its namespace and its metadata."""
    if type(chunk) is not dict or not CHUNK <= chunk.keys() <= CHUNK | MORE:
        refuse(f"a chunk has {', '.join(sorted(CHUNK))}, and may have {', '.join(sorted(MORE))}")
    more = chunk.get("metadata") or {}
    if type(more) is not dict:
        refuse("it is no object", ".metadata")
    for name in ("id", "content"):
        if not isinstance(chunk[name], str):
            refuse("it is no text", f".{name}")
    try:
        which = str(uuid.UUID(chunk["id"]))
    except ValueError:
        refuse("it is no UUID", ".id")
    place = more.get("namespace", f"{project}:main")
    if not isinstance(place, str) or not place.startswith(f"{project}:"):
        refuse("it is another project's", ".metadata.namespace")
    if not is_written(place):
        refuse("it is not written as project:agent", ".metadata.namespace")
    return which, place, more


TIMES = (("created_at", "createdAt"), ("updated_at", "updatedAt"))


def _row(instance: Any) -> dict[str, Any]:
    """Return the columns of a row that travel."""
    model = instance._meta.label
    fields = [f for f in apps.get_model(model)._meta.concrete_fields if f.column not in specs()[model].left_out]
    return {str(f.column): getattr(instance, f.attname) for f in fields}


def _vector(chunk: Mapping[str, Any], refuse: Any) -> dict[str, Any]:
    numbers = chunk["embedding"]
    if type(numbers) is not list or not numbers or any(type(n) not in (int, float) for n in numbers):
        refuse("it is no list of numbers", ".embedding")
    try:
        found = np.asarray(numbers, dtype=np.float64)
    except OverflowError:
        refuse("it holds a number that is too large", ".embedding")
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(found))
    if not (math.isfinite(length) and length > 0):
        refuse("it has no direction", ".embedding")
    model = chunk.get("embeddingModelId") or f"legacy_{len(numbers)}"
    if not isinstance(model, str):
        refuse("it is no text", ".embeddingModelId")
    packed = base64.b64encode((found / length).astype("<f4").tobytes()).decode()
    return {"model": model, "dim": len(numbers), "vector": packed}


def _time(record: Any, name: str) -> str:
    """Return a moment in ISO 8601 or in milliseconds since 1970, as Postgres writes it."""
    try:
        at = datetime.datetime.fromisoformat(record) if isinstance(record, str) else _at_ms(record, name)
        if at.tzinfo is None:
            raise ValueError
        return at.astimezone(datetime.UTC).isoformat()
    except (ValueError, OverflowError) as error:
        raise v1_faults.BrokenEnvelope(name, "it is no time with a zone") from error


def _at_ms(record: Any, name: str) -> datetime.datetime:
    if type(record) not in (int, float) or not 0 < record < 4e12:
        raise v1_faults.BrokenEnvelope(name, "it is no number of milliseconds since 1970")
    return datetime.datetime.fromtimestamp(record / 1000, datetime.UTC)


def _signed(at: datetime.datetime, places: list[str], project: str, found: list[dict[str, Any]]) -> BinaryIO:
    key = Ed25519PrivateKey.generate()
    manifest = Manifest(
        project=project,
        policy=ExportPolicy.FULL,
        policyVersion=policies.VERSION,
        exportedAtMs=int(at.timestamp() * 1000),
        instance=ENVELOPE,
        namespaces=places,
        embeddings=any("vectors" in record for record in found),
        counts=[{"bucket": "envelope", "reason": "envelope", "count": len(found)}],
        upto="0",
        publicKey=key.public_key().public_bytes_raw().hex(),
    )
    digest, packed = hashlib.sha256(), io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file:
        for line in _lines(manifest, places, found, at):
            digest.update(line + b"\n")
            file.write(line + b"\n")
        file.write(Footer.of(len(places) + len(found), digest.hexdigest(), key=key).line() + b"\n")
    packed.seek(0)
    return packed


def _lines(
    manifest: Manifest, places: list[str], found: list[dict[str, Any]], at: datetime.datetime
) -> Iterator[bytes]:
    yield manifest.line()
    for name in places:
        row = _row(Namespace(name=name))
        row |= {"id": str(row["id"]), "created_at": at.isoformat(), "forked_from": None}
        yield canonical({"kind": "namespace", "row": row})
    for record in found:
        yield canonical(record)

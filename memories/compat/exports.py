"""Files that other systems export, as drafts: mem0, Letta's agent files, OpenMemory, the MCP memory server, chats, CSV.

What is imported is a `document`: whoever wrote the file may have written anything into it. Its times become the time of
the event. The same file again changes nothing, since each memory names its source.
"""

import datetime
import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rest_framework.exceptions import APIException

from conflicts.public import ClaimDraft
from memories.compat import chat_exports
from memories.ingest import Draft, documents
from memories.ingest.chunking import split
from memories.ingest.files import Malformed, Message
from memories.ingest.messages import drafts_of
from memories.models.enums import FragmentType, SourceClass, SourceType
from memories.rest.graph_projection import OBSERVATION, TYPE, sentence
from memories.rest.parsers import check_storable

LARGEST = 256 * (1 << 20)  # bytes of JSON, unpacked
WORD, SOURCE_ID, STEM = 100, 255, 240
STANDS = "active"


class UnreadableExport(Exception):
    """The file is not what it was said to be; says where and why."""


def read(layout: str, path: Path, *, namespace: str) -> list[Draft]:
    """Return the drafts of a file in one of the LAYOUTS. Raise UnreadableExport."""
    blank = Draft(namespace=namespace, content="", source_type=SourceType.FILE, default_source=SourceClass.DOCUMENT)
    try:
        if layout in chat_exports.READERS:
            return list(_of_chats(chat_exports.READERS[layout](path), namespace))
        return [piece for draft in READERS[layout](path, blank) for piece in _pieces(draft)]
    except OSError as error:
        raise UnreadableExport(f"{path}: {error.strerror or error}") from error
    except (ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile, Malformed) as error:
        raise UnreadableExport(f"{path} is no {layout} export: {error}") from error
    except APIException as error:
        raise UnreadableExport(f"{path} can't be stored: {error.detail}") from error
    except (TypeError, AttributeError, KeyError) as error:
        why = f"a part of it has no {error}" if isinstance(error, KeyError) else f"{type(error).__name__} {error}"
        raise UnreadableExport(f"{path} is no {layout} export: {why}") from error


def _of_chats(chats: Iterable[list[Message]], namespace: str) -> Iterator[Draft]:
    """Return what is worth keeping of each, as chats are ingested; a document all the same, and nobody's own word."""
    for messages in chats:
        for index, draft in drafts_of(messages, namespace=namespace)[0]:
            yield replace(draft, default_source=SourceClass.DOCUMENT, tags=[messages[index].role])


def _pieces(draft: Draft) -> Iterator[Draft]:
    """What is too long for one memory becomes an ordered set; what is empty none."""
    pieces = split(draft.content) if draft.content.strip() else []
    if len(pieces) == 1:
        yield replace(draft, content=pieces[0])
        return
    for number, piece in enumerate(pieces, start=1):
        yield replace(draft, content=piece, source_id=f"{draft.source_id[:STEM]}#{number}")


def _json(text: bytes) -> Any:
    if len(text) > LARGEST:
        raise ValueError(f"over {LARGEST} bytes")
    data = json.loads(text.decode("utf-8-sig"))
    check_storable(data)
    return data


def _moment(value: Any) -> datetime.datetime | None:
    """Return a time with its zone; without one it is taken for UTC, as these systems mean it."""
    if not value:
        return None
    at = datetime.datetime.fromisoformat(str(value))
    try:
        return at.astimezone(datetime.UTC) if at.tzinfo else at.replace(tzinfo=datetime.UTC)
    except OverflowError as error:
        raise ValueError(f"{value} is outside the calendar") from error


def _words(values: Any) -> list[str]:
    return [str(value)[:WORD] for value in values or [] if str(value).strip()]


def _mem0(path: Path, blank: Draft) -> Iterator[Draft]:
    """`[{id, memory, user_id?, agent_id?, run_id?, metadata?, categories?, created_at?}]`, or that under `results`."""
    data = _json(path.read_bytes())
    rows = data if isinstance(data, list) else data.get("results") or data["memories"]
    for row in rows:
        user = [f"user:{row['user_id']}"] if row.get("user_id") else []
        yield replace(
            blank,
            content=row.get("memory") or row["text"],
            source_id=str(row["id"])[:SOURCE_ID],
            conversation_id=str(row.get("run_id") or "")[:SOURCE_ID],
            workflow_id=str(row.get("app_id") or "")[:SOURCE_ID],
            tags=_words([*user, *(row.get("categories") or [])]),
            event_at=_moment(row.get("created_at")),
            extra=dict(row.get("metadata") or {}),
        )


def _openmemory(path: Path, blank: Draft) -> Iterator[Draft]:
    """`memories.json` in the zip: `{memories: [{id, content, state, category_ids, …}], categories, apps}`."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.rsplit("/", 1)[-1] == "memories.json"]
        if not names:
            raise ValueError("memories.json is missing in the zip")
        with archive.open(names[0]) as file:
            data = _json(file.read(LARGEST + 1))
    categories = {row["id"]: row["name"] for row in data.get("categories", [])}
    apps = {row["id"]: row["name"] for row in data.get("apps", [])}
    for row in data["memories"]:
        if row.get("state", STANDS) == STANDS:
            yield replace(
                blank,
                content=row["content"] or "",
                source_id=row["id"][:SOURCE_ID],
                workflow_id=apps.get(row.get("app_id"), "")[:SOURCE_ID],
                tags=_words(categories[i] for i in row.get("category_ids") or [] if i in categories),
                event_at=_moment(row.get("created_at")),
                extra=dict(row.get("metadata") or {}),
            )


def _letta(path: Path, blank: Draft) -> Iterator[Draft]:
    """Return an agent file: memory blocks by label, and what user and agent said; of one agent or of several."""
    data = _json(path.read_bytes())
    blocks = {block["id"]: block for block in data.get("blocks", []) if "id" in block}
    for number, agent in enumerate(data.get("agents") or [data]):
        name = str(agent["name"])
        own = [blocks[i] for i in agent.get("block_ids", [])] or agent.get("core_memory") or []
        for block in own:
            label = str(block["label"])
            yield replace(
                blank,
                content=str(block["value"]),
                type=FragmentType.SEMANTIC,
                source_id=f"letta:{name}:{label}"[:SOURCE_ID],
                tags=_words([label, name]),
                extra={"block": label, "agent": name},
            )
        for place, message in enumerate(agent.get("messages", [])):
            text = _message_text(message)
            if text and message.get("role") in ("user", "assistant"):
                yield replace(
                    blank,
                    content=f"{'User' if message['role'] == 'user' else name}: {text}",
                    type=FragmentType.EPISODIC,
                    source_id=f"letta:{name}:{message.get('id') or place}"[:SOURCE_ID],
                    conversation_id=f"letta:{name}:{number}"[:SOURCE_ID],
                    sequence=place,
                    tags=_words([name]),
                    event_at=_moment(message.get("created_at")),
                )


def _message_text(message: Mapping[str, Any]) -> str:
    """Return what a person reads of a message: its text, unpacked, and what the agent sent by a tool."""
    content = message.get("content") or message.get("text") or ""
    parts = [content] if isinstance(content, str) else [part.get("text") for part in content]
    texts = [_unpacked(part) for part in parts if isinstance(part, str)]
    for call in message.get("tool_calls") or []:
        if call["function"]["name"] == "send_message":
            texts.append(str(json.loads(call["function"]["arguments"]).get("message", "")))
    return "\n".join(text for text in texts if text.strip())


def _unpacked(text: str) -> str:
    """Return a text, or what stands under `message` in the envelope that older agents put around what users say."""
    try:
        envelope = json.loads(text)
    except ValueError:
        return text
    if not isinstance(envelope, dict) or "type" not in envelope:
        return text
    return str(envelope.get("message", "")) if envelope["type"] == "user_message" else ""


def _mcp(path: Path, blank: Draft) -> Iterator[Draft]:
    """Lines of `{type: entity, name, entityType, observations}` and `{type: relation, from, to, relationType}`."""
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        row = _json(line)
        if row.get("type") not in ("entity", "relation"):
            raise ValueError(f"line {number} is neither an entity nor a relation")
        if row["type"] == "relation":
            triples = [(row["from"], row["relationType"], row["to"])]
        else:
            observed = [(row["name"], OBSERVATION, text) for text in row["observations"]]
            triples = [(row["name"], TYPE, row["entityType"]), *observed]
        for subject, predicate, value in triples:
            if max(len(subject), len(predicate)) > WORD or len(value) > 1000:
                raise ValueError(f"line {number}: a name is over {WORD} or a text over 1000 characters")
            exclusive = None if predicate == TYPE else False
            claim = ClaimDraft(subject.strip(), predicate.strip(), value.strip(), exclusive=exclusive)
            yield replace(blank, content=sentence(subject, predicate, value), claims=[claim])


def _csv(path: Path, blank: Draft) -> Iterator[Draft]:
    """Return a memory for each row: what one of the columns of TEXTS says, or all of the row, and what COLUMNS know."""
    known: set[str] = set()
    rows = documents.table(path.read_bytes())
    has_texts = any(column.lower() in TEXTS for row in rows for column in row)
    for number, row in enumerate(rows, start=1):
        told = {column.lower(): cell for column, cell in row.items()}

        def cell(*names: str, told: dict[str, str] = told) -> str:
            return next((told[name] for name in names if name in told), "")

        place = cell("id", "source_id") or hashlib.sha256(documents.said(row).encode()).hexdigest()[:16]
        if cell("id", "source_id") and place in known:
            raise Malformed(f"row {number}: the id {place} stood above")
        known.add(place)
        event_at = _moment_or_none(cell(*TIMES))
        own = COLUMNS if event_at else COLUMNS.difference(TIMES)
        yield replace(
            blank,
            content=cell(*TEXTS) if has_texts else documents.said(row),
            source_id=f"csv:{path.name}"[:100] + f":{place}"[: SOURCE_ID - 100],
            conversation_id=cell("conversation_id", "run_id")[:SOURCE_ID],
            workflow_id=cell("workflow_id", "app_id")[:SOURCE_ID],
            tags=_words(part.strip() for part in re.split("[,;|]", cell("tags", "categories"))),
            event_at=event_at,
            extra={column: text for column, text in row.items() if column.lower() not in own} if has_texts else {},
        )


def _moment_or_none(text: str) -> datetime.datetime | None:
    """Return a time; None for what is written otherwise, which stays among the other columns."""
    try:
        return _moment(text)
    except ValueError:
        return None


TEXTS = ("content", "memory", "text")
TIMES = ("event_at", "created_at", "timestamp", "date")
COLUMNS = frozenset(
    (*TEXTS, *TIMES, "id", "source_id", "conversation_id", "run_id", "workflow_id", "app_id", "tags", "categories")
)
READERS = {"csv": _csv, "mem0": _mem0, "letta": _letta, "openmemory": _openmemory, "mcp": _mcp}
LAYOUTS = (*READERS, *chat_exports.READERS)

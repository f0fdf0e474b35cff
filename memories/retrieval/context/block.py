"""The block itself. Its fence carries a keyed digest of what it holds, so that no memory text can close it."""

import datetime
import hashlib
import hmac
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from memories.agent_tasks import RecentTask
from memories.models import Fragment, Tombstone
from memories.models.enums import FragmentType
from memories.retrieval.context.markup import GONE, HEADINGS, TASK, gone_line, line, task_line

TITLE = "## Relevant Memory Context"
DIGEST_LENGTH = 16
Order = tuple[datetime.datetime, int, uuid.UUID]


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """A finished line: of which section, and where in it. The order never depends on a question or a score."""

    kind: str
    order: Order
    text: str

    @property
    def size(self) -> int:
        """Its characters, with its line break."""
        return len(self.text) + 1


def entry(fragment: Fragment, *, form: str) -> BlockEntry:
    """Return a memory's entry, by when it happened."""
    order = (fragment.event_at or fragment.created_at, fragment.sequence or 0, fragment.id)
    return BlockEntry(fragment.type, order, line(fragment, form=form))


def gone_entry(stone: Tombstone, *, form: str) -> BlockEntry:
    """Return a tombstone's entry."""
    return BlockEntry(GONE, (stone.evicted_at, 0, stone.id), gone_line(stone, form=form))


def task_entry(task: RecentTask, *, form: str) -> BlockEntry:
    """Return a task's entry."""
    return BlockEntry(TASK, (task.updated_at, 0, task.row_id), task_line(task, form=form))


def render_block(entries: Sequence[BlockEntry], *, form: str, salt: bytes) -> str:
    """The finished block: the same bytes for the same memories, in whatever order they come. Empty without any."""
    if not entries:
        return ""
    body = "\n".join(_lines(entries, form))
    digest = hmac.new(salt, body.encode(), hashlib.sha256).hexdigest()[:DIGEST_LENGTH]
    return _fenced(body, digest, form)


def frame_size(form: str) -> int:
    """Return the characters of a block around its sections."""
    return len(_fenced(TITLE if form == "markdown" else "", "0" * DIGEST_LENGTH, form)) - (form == "xml")


def heading_sizes(form: str) -> dict[str, int]:
    """Return the characters that a section's heading costs, with its line break."""
    return {kind: len(heading) + 1 if form == "markdown" else 0 for kind, heading in HEADINGS.items()}


def _fenced(body: str, digest: str, form: str) -> str:
    if form == "xml":
        return f'<nova-memories digest="{digest}">\n{body}\n</nova-memories>'
    return f"<memory-context {digest}>\n{body}\n</memory-context {digest}>"


def _lines(entries: Sequence[BlockEntry], form: str) -> list[str]:
    lines = [TITLE] if form == "markdown" else []
    for kind in (*FragmentType.values, TASK, GONE):
        section = sorted((one for one in entries if one.kind == kind), key=lambda one: one.order)
        lines += [HEADINGS[kind]] if section and form == "markdown" else []
        lines += [one.text for one in section]
    return lines


# A block without its end goes on to the end of the text.
BLOCK = re.compile(
    r"<memory-context (?P<digest>[0-9a-f]{16})>.*?(?:</memory-context (?P=digest)>|\Z)"
    r"|<nova-memories digest=\"[0-9a-f]{16}\">.*?(?:</nova-memories>|\Z)",
    re.DOTALL,
)


def without_blocks(text: str) -> str:
    """Return the text without any context block, whoever's; the same text when there is none. In linear time."""
    left, at = [], 0
    for block in BLOCK.finditer(text):
        left.append(text[at : block.start()].strip())
        at = block.end()
    return "\n".join(filter(None, [*left, text[at:].strip()])) if at else text

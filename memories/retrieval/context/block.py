"""The block itself. Its fence carries a keyed digest of what it holds, so that no memory text can close it."""

import hashlib
import hmac
from collections.abc import Sequence

from memories.models import Fragment
from memories.models.words import FragmentType
from memories.retrieval.context.lines import HEADINGS, markdown_line, xml_line

TITLE = "## Relevant Memory Context"
DIGEST_LENGTH = 16


def lay_out(fragments: Sequence[Fragment], *, form: str, salt: bytes) -> str:
    """The finished block: the same bytes for the same memories. Empty when there are none."""
    if not fragments:
        return ""
    body = "\n".join(_xml(fragments) if form == "xml" else _markdown(fragments))
    digest = hmac.new(salt, body.encode(), hashlib.sha256).hexdigest()[:DIGEST_LENGTH]
    if form == "xml":
        return f'<nova-memories digest="{digest}">\n{body}\n</nova-memories>'
    return f"<memory-context {digest}>\n{body}\n</memory-context {digest}>"


def _markdown(fragments: Sequence[Fragment]) -> list[str]:
    lines = [TITLE]
    for kind in FragmentType:
        of_kind = [markdown_line(fragment) for fragment in fragments if fragment.type == kind]
        lines += [HEADINGS[kind], *of_kind] if of_kind else []
    return lines


def _xml(fragments: Sequence[Fragment]) -> list[str]:
    return [xml_line(fragment) for kind in FragmentType for fragment in fragments if fragment.type == kind]

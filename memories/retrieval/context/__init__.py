"""From hits to the block of text that an agent puts before its prompt, within a budget of tokens."""

from memories.retrieval.context.assembly import Context, Request, context
from memories.retrieval.context.cues import query_from
from memories.retrieval.context.receipts import expire_receipts
from memories.retrieval.context.stripping import without_blocks

__all__ = ["Context", "Request", "context", "expire_receipts", "query_from", "without_blocks"]

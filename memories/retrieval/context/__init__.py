"""From hits to the block of text that an agent puts before its prompt, within a budget of tokens."""

from memories.retrieval.context.agent_question import query_from
from memories.retrieval.context.assembly import Context, Request, build_context
from memories.retrieval.context.block import without_blocks
from memories.retrieval.context.markup import estimate_tokens
from memories.retrieval.context.receipts import expire_receipts

__all__ = ["Context", "Request", "build_context", "estimate_tokens", "expire_receipts", "query_from", "without_blocks"]

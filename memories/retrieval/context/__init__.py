"""From hits to the block of text that an agent puts before its prompt, within a budget of tokens."""

from memories.retrieval.context.assembly import Context, Request, context

__all__ = ["Context", "Request", "context"]

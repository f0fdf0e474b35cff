"""From a question to the memories that answer it, and to the block of text that an agent reads."""

from memories.retrieval.candidate_search import indexed
from memories.retrieval.context import Context, Request, context, expire_receipts, query_from, without_blocks
from memories.retrieval.indexes import analyze, drop_strays, keep_indexes
from memories.retrieval.pipeline import find, search
from memories.retrieval.questions import Filters, Hit, Question, Results, Spoken, plain
from memories.retrieval.ranking import BALANCED, PROFILES
from memories.retrieval.scope import reads_wide
from memories.retrieval.scopes import scopes_of
from memories.retrieval.statistics import keep_statistics
from memories.retrieval.trace import Stage

__all__ = [
    "BALANCED",
    "PROFILES",
    "Context",
    "Filters",
    "Hit",
    "Question",
    "Request",
    "Results",
    "Spoken",
    "Stage",
    "analyze",
    "context",
    "drop_strays",
    "expire_receipts",
    "find",
    "indexed",
    "keep_indexes",
    "keep_statistics",
    "plain",
    "query_from",
    "reads_wide",
    "scopes_of",
    "search",
    "without_blocks",
]

"""From a question to the memories that answer it, and to the block of text that an agent reads."""

from memories.retrieval.context import Context, Request, context, expire_receipts, query_from
from memories.retrieval.indexes import keep_indexes
from memories.retrieval.pipeline import find, search
from memories.retrieval.questions import Filters, Hit, Question, Results
from memories.retrieval.ranking import BALANCED, PROFILES
from memories.retrieval.statistics import keep_statistics
from memories.retrieval.trail import Stage

__all__ = [
    "BALANCED",
    "PROFILES",
    "Context",
    "Filters",
    "Hit",
    "Question",
    "Request",
    "Results",
    "Stage",
    "context",
    "expire_receipts",
    "find",
    "keep_indexes",
    "keep_statistics",
    "query_from",
    "search",
]

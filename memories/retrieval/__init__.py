"""From a question to the memories that answer it, and to the block of text that an agent reads."""

from memories.retrieval import context
from memories.retrieval.candidate_search import indexed
from memories.retrieval.indexes import analyze, drop_strays, maintain_indexes
from memories.retrieval.pipeline import UnderstoodQuestion, answer, find, prepare_question, search
from memories.retrieval.questions import Filters, Hit, Question, Results, Spoken, plain
from memories.retrieval.ranking import BALANCED, PROFILES
from memories.retrieval.scope import reads_whole_project
from memories.retrieval.search_scopes import scopes_of
from memories.retrieval.statistics import refresh_statistics
from memories.retrieval.trace import Stage

__all__ = [
    "analyze",
    "answer",
    "BALANCED",
    "context",
    "drop_strays",
    "Filters",
    "find",
    "Hit",
    "indexed",
    "maintain_indexes",
    "refresh_statistics",
    "plain",
    "prepare_question",
    "PROFILES",
    "Question",
    "reads_whole_project",
    "Results",
    "scopes_of",
    "search",
    "Spoken",
    "Stage",
    "UnderstoodQuestion",
]

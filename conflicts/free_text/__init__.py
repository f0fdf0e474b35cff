"""Free text: what texts say against standing claims without naming them as claims (docs/spec.md §4.4)."""

from conflicts.free_text.contradictions import agrees
from conflicts.free_text.cues import COLORS
from conflicts.free_text.doubts import Vector
from conflicts.free_text.precedence import ClaimsAtHand, Told, Upheld, keys_sought
from conflicts.free_text.statements import (
    Shadow,
    contradicting,
    read_statements,
    speaking_of_claims,
    standing_of,
    words_of,
)

__all__ = [
    "COLORS",
    "agrees",
    "ClaimsAtHand",
    "contradicting",
    "keys_sought",
    "Shadow",
    "read_statements",
    "speaking_of_claims",
    "standing_of",
    "Told",
    "Upheld",
    "Vector",
    "words_of",
]

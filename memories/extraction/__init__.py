"""What a text says: its claims, whose words they are, and which of its parts say nothing new."""

from memories.extraction.amendments import Said, amended, asked_to_forget, is_amendment
from memories.extraction.chatter import chatter_reason
from memories.extraction.claims import Extracted, extract_parts, first_person_at, states_plainly
from memories.extraction.deeds import PASSING
from memories.extraction.echo_filter import repeats, without_echoes
from memories.extraction.introductions import ReadTurn, find_strangers
from memories.extraction.material import carries_material, flag_material
from memories.extraction.stated_claims import (
    FROM_THE_USER,
    NOTHING,
    Reading,
    certain_claims,
    is_of_the_user,
    read_text,
    restated,
    restated_claims,
)

__all__ = [
    "FROM_THE_USER",
    "NOTHING",
    "PASSING",
    "Extracted",
    "ReadTurn",
    "Reading",
    "Said",
    "amended",
    "asked_to_forget",
    "is_amendment",
    "find_strangers",
    "first_person_at",
    "carries_material",
    "chatter_reason",
    "extract_parts",
    "flag_material",
    "is_of_the_user",
    "read_text",
    "repeats",
    "restated",
    "restated_claims",
    "states_plainly",
    "certain_claims",
    "without_echoes",
]

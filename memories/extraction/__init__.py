"""What a text says: its claims, whose words they are, and which of its parts say nothing new."""

from memories.extraction.chatter import chatter_reason
from memories.extraction.claims import Extracted, extract_parts
from memories.extraction.echo_filter import repeats, without_echoes
from memories.extraction.introductions import ReadTurn, are_strangers
from memories.extraction.material import carries_material, material_among
from memories.extraction.stated_claims import NOTHING, Reading, read_text, reread, stated

__all__ = [
    "NOTHING",
    "Extracted",
    "ReadTurn",
    "Reading",
    "are_strangers",
    "carries_material",
    "chatter_reason",
    "extract_parts",
    "material_among",
    "read_text",
    "repeats",
    "reread",
    "stated",
    "without_echoes",
]

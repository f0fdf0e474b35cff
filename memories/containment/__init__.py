"""Containment: what a key, an owner, a source or a text brought in is set aside at once, and taken back at once."""

from memories.containment.containments import MOST, contain, containments, preview, set_aside_returned, undo
from memories.containment.grounds import ContainmentGround, by_key, by_owner

__all__ = [
    "MOST",
    "ContainmentGround",
    "by_key",
    "by_owner",
    "contain",
    "containments",
    "preview",
    "set_aside_returned",
    "undo",
]

"""Names that the recogniser knows, lower-case: people, places, organisations, and words that only look like names.

Small on purpose: common enough to be met in ordinary English, and unlikely to mean something else.
"""

from typing import Literal

from memories.language.word_lists import listed, word_list

Label = Literal["person", "organization", "location", "misc"]


GIVEN_NAMES = word_list(__file__, "given_names")
WORDY_NAMES = word_list(__file__, "wordy_names")

# Given names that are places too, and usually mean the person.
PLACES_AS_NAMES = listed("charlotte jordan madison jackson chelsea carolina israel lincoln montana savannah sierra")

SURNAMES = word_list(__file__, "surnames")
TITLES = word_list(__file__, "titles")

# What a full stop after does not end a sentence.
ABBREVIATIONS = listed("mr mrs ms dr prof capt col sgt lt gen sen pres gov rev st mt")

PLACES = word_list(__file__, "places")
ORGANIZATIONS = word_list(__file__, "organizations")
OTHER_NAMES = word_list(__file__, "other_names")
NEEDS_CAPITALS = word_list(__file__, "needs_capitals")
ORGANIZATION_ENDINGS = word_list(__file__, "organization_endings")
PLACE_ENDINGS = word_list(__file__, "place_endings")
PLACE_BEGINNINGS = listed("mount mt lake fort port san santa los las saint st cape north south east west rio")
# Words after which "of" goes on with the name.
MORE_HEADS = listed("gulf isle states kingdom republic house statue board")
HEADS_OF_NAMES = (ORGANIZATION_ENDINGS | PLACE_ENDINGS | MORE_HEADS) - listed("co team times party")
PARTICLES = listed("de da del della di du der van von la le al bin ibn el y")


def _known() -> dict[str, Label]:
    """Return what each listed name is; a name that is on several lists is what it most often is."""
    lists: list[tuple[Label, frozenset[str]]] = [
        ("misc", OTHER_NAMES),
        ("person", GIVEN_NAMES - WORDY_NAMES - PLACES_AS_NAMES),
        ("location", PLACES),
        ("organization", ORGANIZATIONS),
    ]
    return {name: label for label, names in lists for name in names}


KNOWN = _known()
# These are words but for their capitals.
KNOWN_BY_CAPITALS: dict[str, Label] = {"US": "location", "WHO": "organization"}

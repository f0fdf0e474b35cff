"""Changes: texts that state the value of a standing claim, and say that it is another now (ADR 0107).

Pure. Who changes a value names it first: "the budget of $750 was halved", "the deadline is a week later than 4 May",
"the user, who lived in Lisbon, lives in Porto".
"""

import re
from collections.abc import Sequence

from conflicts.free_text.contradictions import LINKS, REFUTED_BEFORE, Standing, cues_of, denied
from conflicts.free_text.cues import CHANGED
from conflicts.free_text.owners import speaks_of
from conflicts.free_text.passages import Passage, stem, stems_of
from conflicts.free_text.sightings import Sighting
from conflicts.keys import USERS, subject_key

Span = tuple[int, int]
REACH = 120  # characters before a value that are looked at
MOST = 8  # keys and values of a sentence that are looked at, each
# What may stand between a thing and what was done to it: "of $750 has since been", ", which was later".
BETWEEN = (
    r"(?:[,:-]? *\b(?:of|at|by|for|to|and|but|it|which|that|then|was|were|is|are|be|been|being|has|have|had|got|will"
    r"|just|since|now|later|today|again|also|already|soon|meanwhile|figure|date|limit|amount|sum|\w+ly)\b)*[,:]? *"
)
DONE_TO_IT = re.compile(rf"{BETWEEN}(?:{CHANGED})\b", re.IGNORECASE)
DONE_BEFORE = re.compile(
    rf"\b(?:{CHANGED})(?: (?:back|down|up|forward|out|the|an?|this|that|old|whole|entire|user|his|her|their|our|my|its"
    r"|\w+'s?))*(?: (?:of|from|on|at|in|to))?(?: the)? ?$",
    re.IGNORECASE,
)
UNCHANGED = re.compile(
    r"(?:\b(?:not|never|nobody|no one|nothing|without|hardly)|n't)\W+(?:\w+\W+){0,3}$", re.IGNORECASE
)
# Behind a change stands what it led to: "raised to $750".
OUTCOME = re.compile(
    rf"\b(?:{CHANGED})\b[^,;:]{{0,40}}?\b(?:to|till|until|for|into|at)\b(?: the| a| about)? ?$", re.IGNORECASE
)
# What is told of a value by its distance from the claim's own: "is two days before 4 May", "is twice the $750".
APART = re.compile(
    r"\b(?:is|are|falls|lies|sits|stands|comes|was|were) (?:(?!no\b|not\b)[\w$€£.%]+ ){0,4}?"
    r"(?:(?:later|earlier|sooner|longer|more|less|higher|lower|greater|smaller|bigger|other|different) (?:than|from)"
    r"|(?:days?|weeks?|fortnight|months?|years?|hours?|well|long|shortly|just) (?:before|after|past|behind)"
    r"|above|below|beyond|twice|double|triple|half|a (?:third|quarter) of|(?:times|the day (?:before|after)))"
    r"(?: (?:of|the|that|his|her|their|our|originally|planned|agreed|first|old|user's)){0,3} ?$",
    re.IGNORECASE,
)
ONCE_BEFORE = re.compile(
    r"\b(?:once|originally|formerly|previously|initially|earlier|used to|at first|lived"
    r"|(?:years?|months?|weeks?|time) (?:in|at|of))\b(?:(?!\b(?:and|but)\b)[^,;:]){0,30}$",
    re.IGNORECASE,
)
ONCE_AFTER = re.compile(r",? (?:until|till|before|at first|originally|initially|previously|earlier)\b", re.IGNORECASE)
BREAK, WORD = re.compile(r"[,;:]"), re.compile(r"[^\W\d_]+")
NOW_BEFORE = re.compile(r"\b(?:now|currently)(?: at| in| on)? $", re.IGNORECASE)
NOW_AFTER = re.compile(r",? (?:now|instead|these days|nowadays|from now on)\b", re.IGNORECASE)


def is_changed(
    passage: Passage, claim: Standing, own: Sequence[Sighting], others: Sequence[Sighting], keys: Sequence[Span]
) -> bool:
    """Return whether a sentence which states a claim's value says too that it is another, or states that other.

    `keys` is where it speaks of the claim's predicate.
    """
    text, own, others, keys = passage.text, own[:MOST], others[:MOST], keys[:MOST]
    spoken = [
        key for key in keys if others and speaks_of(passage, key, claim, cues_of(claim), values=own, loosely=True)
    ]
    if any(_states(passage, other, claim, own, spoken) or _is_of_now(text, other) for other in others):
        return True
    if others and any(_is_past(text, one) for one in own):
        return True
    if any(
        key[0] < one.start and APART.search(text, max(key[1], one.start - REACH), one.start)
        for one in own
        for key in keys
    ):
        return True
    # Who lives somewhere moves, and not the place.
    if claim.predicate == "lives_in" or any(OUTCOME.search(text, _near(one.start), one.start) for one in own):
        return False
    return any(_is_done_to(text, thing) for thing in [*keys, *((one.start, one.end) for one in own)])


def _states(passage: Passage, value: Sighting, claim: Standing, own: Sequence[Sighting], keys: Sequence[Span]) -> bool:
    """Return whether a value is what the sentence says of the claim's key: nothing but links stand between both."""
    text = passage.text
    before = max((key for key in keys if key[1] <= value.start), default=None)
    refuted = denied(passage, value, strict=False) or REFUTED_BEFORE.search(text, _near(value.start), value.start)
    if before is None or refuted or _is_past(text, value):
        return False
    # A name nobody knows may be a part of what is named behind it: "in Alfama, a quarter of Lisbon".
    if any(before[1] <= one.start < value.start or one.start > value.start and not value.sure for one in own):
        return False
    named = {word.stem for word in passage.words if word.start < value.start}
    if subject_key(claim.subject) not in USERS and named.isdisjoint(stems_of(claim.subject)):
        return False  # "the cache listens on port 6379, the database on 5432"
    gap = text[before[1] : value.start]
    return not BREAK.search(gap) and {stem(word) for word in WORD.findall(gap)} <= LINKS


def _near(place: int) -> int:
    return max(0, place - REACH)


def _is_past(text: str, value: Sighting) -> bool:
    return bool(ONCE_BEFORE.search(text, _near(value.start), value.start) or ONCE_AFTER.match(text, value.end))


def _is_of_now(text: str, value: Sighting) -> bool:
    return bool(NOW_BEFORE.search(text, _near(value.start), value.start) or NOW_AFTER.match(text, value.end))


def _is_done_to(text: str, thing: Span) -> bool:
    """Return whether it is said to have been changed: the budget was halved, they halved the budget."""
    if DONE_TO_IT.match(text, thing[1], thing[1] + REACH):
        return True
    found = DONE_BEFORE.search(text, _near(thing[0]), thing[0])
    return bool(found and not UNCHANGED.search(text, _near(found.start()), found.start()))

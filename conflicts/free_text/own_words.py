"""Own words: what an owner's short, plain text says of what the same owner claimed before.

Pure. Nobody asks the owner again, so it has to be said outright: as the extractor reads a plain statement, as an order
to the assistant, or as a denial of a whole kind. A remark, a plan, a paste or a quotation changes nothing.
"""

import re
from collections.abc import Sequence

from conflicts.claim_drafts import Statement
from conflicts.free_text.contradictions import FOREIGN, Contrary, Standing, find_contradiction
from conflicts.free_text.passages import Passage
from conflicts.keys import Naming
from memories.models import Claim

SHORT = 200  # characters of a word on oneself
FIRST_PERSON = re.compile(r"\b(?:i|my|our|we)\b", re.IGNORECASE)
# Said of oneself as a guess, a wish, a joke, a question or of a time that is over.
HEDGED = re.compile(
    r"\?|\b(?:doubt\w*|hop(?:e|es|ed|ing)|(?:not|n't|isn't) (?:so )?(?:sure|certain|true)|unsure|jok(?:e|ing)|kidding"
    r"|(?:'d|would) (?:like|love|prefer) to (?!change|update|set|make|raise|lower|increase|correct|move)"
    r"|guess\w*|maybe|perhaps|possibly|probably|think|thought|believe|slogan|rhyme|poem|was|were|used to|once"
    r"|in (?:the|my|this|a) (?:game|story|book|novel|dream|film|movie|song))\b",
    re.IGNORECASE,
)
ORDERS = re.compile(
    r"(?:\W*\b(?:please|ok|okay|actually|now|let's)\b)*\W*"
    r"(?:make|set|change|update|raise|lower|increase|decrease|reduce|cut|move|bump) (?:my|our)\b",
    re.IGNORECASE,
)
NO_ALLERGY = re.compile(
    r"(?:^|[.!] )(?:(?:no|now|actually|luckily|btw|by the way),? )*"
    r"(?:(?:I|we) (?:(?:now|really|actually|currently) )?(?:(?:do not|don't) have (?:any|an)|have no) (?:known )?"
    r"allerg(?:y|ies)(?: (?:any ?more|at all|now))?"
    r"|(?:I'm|I am|we're) (?:not|no longer) allergic to anything(?: any ?more)?)\W*$",
    re.IGNORECASE,
)


def is_said_plainly(text: str) -> bool:
    """Whether a text is somebody's own short word on themselves: no quotation, no report, no doubt, nothing pasted."""
    by_speaker = len(text) <= SHORT and bool(FIRST_PERSON.search(text))
    return by_speaker and not FOREIGN.search(text) and not HEDGED.search(text)


def said_of_own(
    text: str,
    passages: Sequence[Passage],
    claim: Claim,
    standing: Standing,
    *,
    stated: Sequence[Statement],
    names: Naming,
) -> Contrary | None:
    """Return what a text says of its owner's claim: another value, or that its own is not so; None for neither.

    `stated` is what was read in it for certain.
    """
    for one in stated:
        spelled = {one.predicate, one.predicate.replace("favourite", "favorite")}
        if bytes(claim.key_digest) in {names.key(one.subject, name).both for name in spelled}:
            is_same = names.value(claim.predicate, one.value) == bytes(claim.value_digest)
            if is_same == one.negated:
                return _instead(passages, standing) if one.negated else Contrary(one.value)
    if standing.predicate == "allergic_to" and NO_ALLERGY.search(text):
        return Contrary(claim.value, negated=True)
    return find_contradiction(passages, standing) if ORDERS.match(text) else None


def _instead(passages: Sequence[Passage], standing: Standing) -> Contrary:
    """Return what is said to be so in the place of a value that is denied: "it isn't $500, it's $800"."""
    found = find_contradiction(passages, standing)
    return found if found and found.sure and not found.negated else Contrary(standing.value, negated=True)

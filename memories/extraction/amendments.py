"""Amendments: "actually make it $650" gives what the same speaker said right before another value; and what is to be
forgotten. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conflicts.enums import Normaliser
from conflicts.keys import canonical_predicate, rule_for
from memories.extraction import grammar, values
from memories.extraction.claims import Extracted
from memories.extraction.values import FLAGS
from memories.language.tokenizer import TOKEN
from memories.language.word_lists import STOPWORDS

OPENS = (
    r"(?:oh|no|ok|okay|well|hmm|hey|actually|sorry|wait|correction|scratch that|on second thoughts?|my mistake|oops)"
)
SAYS = re.compile(
    rf"(?:{OPENS}[,:.!]*\s){{0,3}}(?:please\s)?(?:let's\s)?"
    r"(?:make|change|raise|lower|increase|set)\s(?:it|that|(?:my|our)\s(?P<noun>\w{2,20}(?:\s\w{2,20})?))\s(?:to\s)?"
    rf"|(?:{OPENS}[,:.!]*\s){{1,3}}(?:i\smeant(?:\sto\ssay)?|it\sshould\sbe)\s",
    FLAGS,
)
ENDS = re.compile(r"(?:\s(?:instead|then|please|actually))?\s*[.!]?\s*$", FLAGS)
FORGETS = re.compile(
    r"(?:(?:please|ok|okay|hey|oh|actually|sorry)[,:]?\s){0,3}(?:forget|disregard)\s(?:about\s)?"
    r"(?:what|everything|anything|all|whatever)\s(?:that\s)?(?:i|i've|i\shave)\s(?:just\s)?"
    r"(?:said|told\syou|mentioned|wrote)\s(?:about|on|regarding)\s(?P<what>[^.!?\n]{2,80})[.!]?",
    FLAGS,
)
READERS = {Normaliser.MONEY: values.AMOUNT, Normaliser.DATE: values.DATE}
LONGEST = 120  # characters: it says nothing else


@dataclass(frozen=True, slots=True)
class Said:
    """A key that somebody gave a value right before."""

    subject: str
    predicate: str


def is_amendment(text: str) -> bool:
    """Return whether a text may amend what was said before it."""
    return len(text) <= LONGEST and bool(SAYS.match(text.translate(grammar.PLAIN), _begin(text)))


def amended(text: str, said: Sequence[Said], *, speaker: str | None = None) -> list[Extracted]:
    """Return the claim that an amendment makes, of the last that was said whose kind of value it names; else none."""
    plain, who = text.translate(grammar.PLAIN), (speaker or "user").strip().lower()
    start = _begin(plain)
    lead = SAYS.match(plain, start) if is_amendment(text) else None
    for before in reversed(said) if lead else ():
        rule = rule_for(predicate=before.predicate)
        reader = READERS.get(Normaliser(rule.normaliser)) if rule.exclusive else None
        named = lead["noun"] if lead else None
        if named and canonical_predicate(named) != rule.name:
            continue
        value = reader.match(plain, lead.end()) if reader and lead else None
        if value and before.subject == who and ENDS.match(plain, value.end()):
            span = (start, value.end())
            return [Extracted(before.subject, rule.name, text[slice(*value.span())], span, True, False, False, True)]
    return []


def _begin(text: str) -> int:
    """Return where a text begins behind the name of who speaks."""
    turn = grammar.TURN.match(text)
    return turn.end() if turn and turn[1].lower().split()[0] not in grammar.LABELS else 0


def asked_to_forget(text: str) -> frozenset[str]:
    """Return the words of what somebody asks to forget who says nothing else: forget what I said about my ex."""
    plain = text.translate(grammar.PLAIN).strip()
    match = FORGETS.fullmatch(plain, _begin(plain))
    words = TOKEN.findall(match["what"].lower()) if match else ()
    return frozenset(word for word in words if len(word) > 1 and word not in STOPWORDS)

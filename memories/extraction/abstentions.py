"""Abstentions: what somebody says that they don't like, eat or drink is what they dislike or avoid. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from memories.extraction import grammar
from memories.extraction.claims import Extracted
from memories.extraction.values import FLAGS
from memories.language.word_lists import STOPWORDS, listed

OPPOSITES = {"likes": "dislikes", "eats": "avoids", "drinks": "avoids"}
# Whatever else they say: of one thing nobody says both.
OPPOSED = {"likes": "dislikes", "dislikes": "likes"}
# Said outright: "I don't only drink tea", "I no longer like it" and "we used to eat meat" say something else.
PLAINLY = re.compile(
    r"(?:I|we)\s(?:(?:also|really|personally)\s)?(?:(?:do|can)(?:n't|\snot)|can't|cannot|never)\s(?:really\s|ever\s)?"
    r"(?:like|enjoy|eat|drink)\s",
    FLAGS,
)
# At all times: not "I don't drink coffee after noon" or "any more".
ENDS = re.compile(r"(?:\sat all)?\s*(?:[.!,;]|$)|\s(?:and|but|or)\s", FLAGS)
# Of which somebody may still eat some, and what is no food or drink.
SOME = STOPWORDS | listed("alone anything enough every late lots many meals most much often out plenty regularly well")


def abstentions(content: str, found: Iterable[Extracted]) -> Iterator[Extracted]:
    """Return, of what was read in a text, what its speaker denies to like, eat or drink as what they keep away from."""
    plain = content.translate(grammar.PLAIN)
    for statement in found:
        opposite = OPPOSITES.get(statement.predicate)
        start, end = statement.span
        if not opposite or not statement.negated or not statement.first_person or statement.quoted:
            continue
        first = statement.value.split()[0].lower()
        if first not in SOME and PLAINLY.match(plain, start, end) and ENDS.match(plain, end):
            yield replace(statement, predicate=opposite, negated=False)

"""Content words: what two texts are compared by that may say the same, without the forms of grammar. Pure."""

import re
from dataclasses import dataclass

from memories.language.tokenizer import spoken_words, words_joined_by
from memories.language.word_lists import word_list

FORMS = word_list(__file__, "forms")
WORD = words_joined_by(".,:'’-")
NEGATIONS = frozenset(["no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "without"])
# When a text was written: each time another, which tells nothing.
WRITTEN = re.compile(r"\bas of \d{1,2}:\d{2}(?::\d{2})?(?!\w)", re.IGNORECASE)
ENDINGS = ("ing", "ed", "es", "s")
SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Sense:
    """What a text is compared by: stems of its telling words, its numbers, and whether it denies."""

    stems: frozenset[str]
    numbers: frozenset[str]
    denies: bool

    def says_again(self, memory: "Sense") -> bool:
        """Return whether it adds nothing to the memory. What says nothing at all does not say it again."""
        if not self.stems | self.numbers or self.denies != memory.denies:
            return False
        return self.numbers <= memory.numbers and self.stems <= memory.stems


def says_more(text: str, memory: str, *, values: str) -> bool:
    """Return whether a text tells more than a memory that claims the same; these values are said in whichever form."""
    told, known = content_words(WRITTEN.sub("", text)), content_words(memory)
    numbers = told.numbers - known.numbers - content_words(values).numbers
    return bool(told.stems - known.stems or numbers) or told.denies > known.denies


def content_words(text: str) -> Sense:
    """Return the sense of a text."""
    words = spoken_words(text, WORD)
    telling = {word for word in words if word not in FORMS and "'" not in word.removesuffix("'s")}
    numbers = frozenset(word for word in telling if any(character.isdigit() for character in word))
    denies = any(word in NEGATIONS or word.endswith("n't") for word in words)
    return Sense(frozenset(_stem(word) for word in telling - numbers - NEGATIONS), numbers, denies)


def _stem(word: str) -> str:
    """Roughly: both sides are cut the same way, and nobody reads the result."""
    word = word.removesuffix("'s")
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word.removesuffix(ending)
    return word

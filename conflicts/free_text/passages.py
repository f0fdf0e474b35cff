"""Passages: a text as the shadow check reads it: plain sentences, each with its words and their stems."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from conflicts.free_text.structures import sentences as said_by_structures
from conflicts.keys import visible
from memories.language.tokenizer import sentence_end

LONGEST = 20_000  # characters that are read; longer texts are split before they come here
MARKUP = re.compile(r"[*`\"“”«»|]+|(?<!\w)[_~#>]+|[_~]+(?!\w)|\b_\b|</?[a-zA-Z][^<>]{0,80}>")
QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "–": "-", "—": "-", "−": "-", "➔": "→", "⇒": "→", "➜": "→"})
SPACED = re.compile(r"(?<![\w'])(?:[^\W\d_] ){3,}[^\W\d_](?!\w)")  # b u d g e t
ARROW = re.compile(r"[-=]+>")
# Whom the assistant that reads it works for.
ASSISTED = re.compile(
    r"\bthe (?:person|human|one|customer|client) (?:that |who |whom )?you(?:'re| are|'ve been| have been)? "
    r"(?:work|serv|assist|help|support|shop|act|talk|speak|chat)(?:e|s|p)?(?:ing)?(?: for| with| to| on behalf of)?\b",
    re.IGNORECASE,
)
ADDRESSED = re.compile(
    r"\b(?:note to|dear|hey|hello|attention|hi),? (?:the )?(?:ai )?(?:assistant|agent)\b", re.IGNORECASE
)
ENDS = sentence_end(".!?;", unless=(r"\b[A-Z]\.", r"\b(?:Mr|Ms|Dr|St|No)\."))
WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?")
# A sentence that goes on about the one before it, or answers it.
GOES_ON = re.compile(
    r"\W*(?:(?:so|and|but|yes|no|now|well|actually|today|currently|instead)\b[ ,:]*)?"
    r"(?:(?:it|that|this|which|these|answer|a|the (?:\w+ )?(?:figure|value|amount|number|one|answer|sum|place|date|day"
    r"|city|color|colour|limit|total))\b|[-→=:•]|\$|[\d€£])",
    re.IGNORECASE,
)
SHORT = 5  # words of a sentence that only answers


@dataclass(frozen=True, slots=True)
class Word:
    """A word: as written, its stem, and its place."""

    text: str
    stem: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, or two of which the second goes on about the first."""

    text: str
    words: tuple[Word, ...]


def passages(text: str) -> Iterator[Passage]:
    """Return the sentences of a text, and each one together with the next that goes on about it."""
    lines = "\n".join([text, *said_by_structures(text[:LONGEST])])
    sentences = [s for s in map(str.strip, ENDS.split(plain(lines))) if s]
    for number, sentence in enumerate(sentences):
        if number and _goes_on(sentences[number - 1], sentence):
            yield _passage(f"{sentences[number - 1].rstrip('.!?')} : {sentence}")
        yield _passage(sentence)


def plain(text: str) -> str:
    """Return a text without markup and disguise, with single spaces; the user by that name."""
    shown = MARKUP.sub(" ", ARROW.sub("→", visible(text[:LONGEST]).translate(QUOTES)))
    shown = ASSISTED.sub("the user", ADDRESSED.sub("", shown))
    shown = re.sub(r"[ \t\r\f\v]+", " ", shown.replace("_", " "))
    return SPACED.sub(lambda match: match.group().replace(" ", ""), shown)


def _goes_on(before: str, sentence: str) -> bool:
    is_question = before.endswith(("?", ":"))
    return is_question or bool(GOES_ON.match(sentence)) or len(WORD.findall(sentence)) <= SHORT


def _passage(text: str) -> Passage:
    return Passage(text, tuple(Word(m.group(), stem(m.group()), *m.span()) for m in WORD.finditer(text)))


@lru_cache(maxsize=4096)
def stems_of(name: str) -> tuple[str, ...]:
    """Return the stems of a name's words, split as they are in a text: "q3" is "q" and "3", an underscore a space."""
    return tuple(word.stem for word in _passage(plain(name)).words) or (stem(name.strip()),)


IRREGULAR = {
    "lives": "live", "living": "live", "lived": "lived", "colour": "color", "colours": "color", "favourite": "favorite",
    "favourites": "favorite", "favorites": "favorite", "shade": "color", "hue": "color",
    "shades": "color", "hues": "color", "fave": "favorite", "faves": "favorite", "favored": "favorite",
    "favoured": "favorite", "people": "people", "allergies": "allergy", "cities": "city",
    "moved": "moved", "moving": "move", "its": "its", "is": "is", "was": "was", "has": "has", "this": "this",
    "spending": "spending", "spent": "spent", "always": "always", "employed": "employ", "based": "based",
    "paid": "paid", "bound": "bound", "running": "run", "ran": "run", "sits": "sit", "left": "left", "does": "does",
    "likes": "like", "liked": "like", "loves": "love", "loved": "love", "preferred": "prefer", "prefers": "prefer",
    "preferring": "prefer", "capped": "cap", "capping": "cap", "budgeted": "budget", "budgeting": "budget",
    "residing": "reside", "resided": "reside", "settled": "settle", "settling": "settle", "listening": "listen",
    "listened": "listen", "finished": "finish", "delivered": "deliver", "submitted": "submit", "submitting": "submit",
    "handed": "hand", "needed": "need", "allotted": "allot", "allocated": "allocate", "authorised": "authorise",
    "authorized": "authorize", "approved": "approve", "limited": "limit", "expires": "expire", "expired": "expire",
    "closes": "close", "serves": "serve", "served": "serve", "serving": "serve", "uses": "use", "used": "use",
    "exposes": "expose", "exposed": "expose", "located": "locate", "relocated": "relocate", "relocating": "relocate",
    "dwells": "dwell", "dwelling": "dwell", "inhabits": "inhabit", "houses": "house", "chosen": "choose",
    "tolerates": "tolerate", "completed": "complete", "shipped": "ship", "shipping": "ship", "earmarked": "earmark",
    "adores": "adore", "adored": "adore", "picked": "pick", "ranked": "rank", "ranks": "rank", "staying": "stay",
    "fav": "favorite", "db": "database",
}  # fmt: skip


CONTRACTED = re.compile(r"'(?:s|ve|re|d|ll|m)?$")


def stem(word: str) -> str:
    """Return a word's light stem: small, without possessive or plural; "lived" and "moved" stay what they are."""
    low = CONTRACTED.sub("", word.lower())
    if low in IRREGULAR:
        return IRREGULAR[low]
    if len(low) > 4 and low.endswith("ies"):
        return low[:-3] + "y"
    if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")):
        return low[:-1]
    return low

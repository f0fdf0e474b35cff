"""Standing instructions: what somebody tells an assistant to do from then on, or when they ask for something. Pure."""

import re

from memories.language.word_lists import entries

LONGEST = 400  # characters of a sentence; a longer one tells of more
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
INSTRUCTED = entries(__file__, "instructed")
# "Never give up" and "keep going" cheer somebody on.
DOES = rf"(?:{'|'.join(INSTRUCTED)})\b(?!\s(?:i|we|he|she|they|been|was|is|up|going|in touch)\b)"
LASTING = "(?:always|never)"
MAYBE = rf"(?:{LASTING}\s|(?:don't|do not)\s(?:ever\s)?)?"
PLEASE = r"(?:please\s|kindly\s)?"
OPENS = r"(?:(?:and|also|but|oh|ok|okay|hey|hi|thanks|thank you|so|please|just|by the way)[,:.!]*\s){0,4}"
FROM_NOW = r"(?:from (?:now|here|this point) on(?:wards?)?|going forward|in (?:the )?future|in all your answers)"
YOU = (
    r"(?:(?:i would like|i'd like|i want|i need) you to|you (?:should|must|need to|have to|can|are to)"
    r"|(?:remember|make sure|be sure)(?: that you| you)?(?: to)?)\s"
)
I_ASK = (
    r"(?:when|whenever|if|each time|every ?time|any ?time)\si(?:'m| am| ever)?\s"
    r"(?:ask|asking|request|inquire|want to know)\b"
)
ASKING = re.compile(I_ASK, re.IGNORECASE)
STANDING = re.compile(
    rf"{OPENS}(?:"
    rf"(?:{YOU})?{LASTING}\s{PLEASE}{DOES}"  # always give prices in euros
    rf"|{FROM_NOW},?\s{PLEASE}(?:{YOU})?{MAYBE}{DOES}"  # from now on, call me Max
    rf"|(?:{YOU})?{MAYBE}{DOES}.*\s(?:{FROM_NOW}|{I_ASK})"  # give prices in euros whenever I ask about costs
    rf"|(?:{YOU})?{LASTING}\s{PLEASE}[a-z-]+\s(?:.*\s)?{I_ASK}"  # never guess when I ask about doses
    rf"|(?:don't|do not)\s(?:ever\s)?{DOES}.*\b(?:again|any ?more|ever)\b"  # don't suggest peanuts again
    rf"|{I_ASK}[^?]*?,\s{PLEASE}(?:{YOU})?{MAYBE}{DOES}"  # when I ask about costs, give euros
    ")",
    re.IGNORECASE,
)


def gives_instruction(text: str) -> bool:
    """Return whether a sentence of a text tells an assistant what to do from then on; no question does."""
    return any(map(_instructs, _sentences(text)))


def is_instruction(text: str) -> bool:
    """Return whether a text is one sentence that tells an assistant what to do when its speaker asks for something."""
    sentences = _sentences(text)
    return len(sentences) == 1 and _instructs(sentences[0]) and bool(ASKING.search(sentences[0]))


def _sentences(text: str) -> list[str]:
    return [" ".join(sentence.split()) for sentence in SENTENCE.split(text.replace("’", "'").strip())]


def _instructs(sentence: str) -> bool:
    return len(sentence) <= LONGEST and not sentence.endswith("?") and bool(STANDING.match(sentence))

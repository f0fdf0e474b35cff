"""Material: whether a user's turn carries something that may not be the user's own word.

A pasted mail, a retrieved context, a text to translate, a story: whoever wrote that speaks in it as "I" too. Words
alone don't tell whose it is, so a turn is the user's plain word only when nothing in it looks like material. What is
taken for material by mistake is kept all the same, with less authority: docs/decisions/0097.
"""

import re
from collections.abc import Iterable
from itertools import dropwhile, pairwise

from memories.extraction.mentions import LANGUAGE_TASKS, UTTERANCES, mentions
from memories.extraction.quotations import foreign
from memories.language.dates import MONTH_NAMES, WEEKDAYS
from memories.language.tokenizer import sentence_end
from memories.language.word_lists import STOPWORDS, word_list

# What statements, questions and requests begin with, by its part in the sentence.
OPENERS = word_list(__file__, "openers")
PREPOSITIONS = word_list(__file__, "prepositions")
QUESTIONS = word_list(__file__, "questions")
REQUESTS = word_list(__file__, "requests")
ELLIPTIC = word_list(__file__, "elliptic")
DATES = frozenset({*MONTH_NAMES, *WEEKDAYS, "christmas", "easter"})
LINKS = word_list(__file__, "links")
OWNED = word_list(__file__, "owned")

LONG, MOST_SENTENCES, MOST_LINES = 400, 7, 7
MOST_QUOTED = 3  # words of a name or title
MOST_PROVERB = 6  # words in which nobody speaks of himself
FEW = 8  # words of a whole turn
MOST_ITEM = 6  # words of an item of a list
MOST_TOLD = 1  # sentences that tell of others
FEWEST = 2  # words of a sentence that leaves out who speaks

FIRST_PERSON = re.compile(r"\b(?:i|im|ive|idk|my|mine|me|myself|we|weve|our|ours|us)\b", re.IGNORECASE)
LETTER = re.compile(
    r"^\s*(?:from|to|cc|bcc|subject|date|sent|re|fwd?)\s*:"
    r"|^\s*(?:dear|hi|hello|hey) (?!there\b|all\b|again\b|assistant\b)[^\n,!]{1,40}[,!]?\s*\n"
    r"|^\s*dear \w"
    r"|^\s*(?:(?:(?:best|kind|warm|many|with) ){0,2}(?:regards|wishes)|sincerely|yours|best|cheers)\b[^\n]{0,30}$"
    r"|^--\s|^#{1,6} |^\s*\||^page \d|^[QA]\s*:|\([A-Z][a-z]+, [^()]*\)$"
    r"|^\s*sent from my\b|^\s*[-=_*\"'`~]{3,}\s*$|^\s*\[?\d{1,2}:\d\d",
    re.IGNORECASE | re.MULTILINE,
)
OTHERS = re.compile(r"\b(?:he|she|they|him|her|his|hers|their|them|he's|she's|they're)\b", re.IGNORECASE)
# An object, or what belongs to the first person and is no subject.
OBJECT = re.compile(
    r"(?:me|us|mine|ours|myself)\b|(?:my|our) (?:[\w'-]+ )?[\w'-]+(?:\W*$|[,.!?;)]| (?:to|in|at|on|and|or|by|for|with"
    r"|from|because|so|when|than|as|since|last|this|next|every|before|after|until)\b)",
    re.IGNORECASE,
)
AT_SOMETHING = re.compile(
    r"\b(?:(?:this|these|those|following)\b(?!(?:'s| is) my\b| (?:year|month|week|weekend|morning|evening|spring|summer"
    r"|autumn|winter|time|day|monday|friday|saturday|sunday)\b)"
    r"|that(?=(?:'s| is| was)\b(?! (?:my|where|what|when|how|why)\b)| (?:one|in|to|for|as|part|sounds?)\b"
    r"|\s*[.?!,]|\s*$))",
    re.IGNORECASE,
)
IDIOMS = re.compile(
    r"\b(?:(?:keep|bear) (?:that|this|it) in mind|(?:scrap|scratch|forget) that"
    r"|(?:just )?so you know|thank you(?: so| very)?(?: much)?|(?:would|does|will|did) it (?=take\b)"
    r"|(?:(?:is|was) (?:that|this)|if that(?:'s| is| can be)) (?:ok|okay|fine|alright|possible|normal|done))\b",
    re.IGNORECASE,
)
# What is said in so many words, or named as one's own, before a colon.
SPEAKS = re.compile(
    r"(?:i|i'm|i'd|i've|i'll|im|ive|we|we're|we've|me|us|myself)\b|(?:my|our) (?:details|preferences|facts|info|profile"
    r"|data|situation|constraints|requirements|needs|problem|goal|plan|question|issue)\b"
    r"|(?:(?:is|are) (?:[\w-]+ ){0,3}|two )of us\b|you asked about (?:my|me|us|our)\b"
    r"|help (?:me|us) (?:to )?(?:find|pick|choose|decide|plan|book|buy|save|cook|get)\b",
    re.IGNORECASE,
)
TELLS_ON = re.compile(
    r"\W*(?:(?:and|but|so|now|then),? )?"
    r"(?:the (?:old|new|other|first|second|last) one|it|it's|its|he|she|they|his|her|their|both)\b",
    re.IGNORECASE,
)
# A clause that is whole before the first person's begins.
HOLDS = re.compile(
    r"\b(?:is|are|was|were|has|have|had|\w+n't|there's|works?|makes?|takes?|costs?|suits?)\b \w", re.IGNORECASE
)
CLAUSE_END = re.compile(r"[.,;:!?()\n]|\s[–—-]")
# A question about somebody, or something said before.
ASKS_BACK = re.compile(r".*\b(?:it|that|this|those|these|him|her|them|react)\W*\?\W*", re.IGNORECASE)
IT = re.compile(r"\bit\b", re.IGNORECASE)
WORD = re.compile(r"[\w'&-]+")
FIELD = re.compile(
    r"\W*(?!(?:persona|customer|client|patient|character|speaker|guest|author|role|candidate)\b)"
    r"(?:(?:my|our) )?[\w'-]+(?: [\w'-]+){0,2}\W*",
    re.IGNORECASE,
)
SIGNED = re.compile(r"\W*(?:signed\b.*|(?-i:[A-Z])[\w.]*(?: (?-i:[A-Z])[\w.]*){0,2}(?:, .{0,20})?)\W*", re.IGNORECASE)
MARK = "• "
# An item that names something, and says nothing of it.
NAMED = re.compile(rf"{MARK}(?!.*\b(?:is|are|am|was|were|has|have|user|i|my|me|we|our)\b)[^:='’\n]+", re.IGNORECASE)
NOT_LITTLE = re.compile(rf"{FIRST_PERSON.pattern}|{AT_SOMETHING.pattern}|\busers?\b", re.IGNORECASE)
COLON = re.compile(r"[:：](?=\s|$)|\s[—–-]+\s")
ITEM = re.compile(r"(?:^|(?<=\n))[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")
LED = re.compile(r"[:：]\s*\n\s*")  # a line that leads to the next one, as before a colon
ENDS = sentence_end(".!?;", unless=(r"\b[DMS][rst]\.", r"\bMrs\."))


def carries_material(text: str) -> bool:
    """Return whether a turn, cleaned, holds more than what the user plainly says."""
    text = text.replace("’", "'")
    lines = [line for line in text.split("\n") if line.strip()]
    if len(text) > LONG or len(lines) > MOST_LINES:
        return True
    sentences = [sentence for sentence in ENDS.split(LED.sub(": ", ITEM.sub(MARK, text))) if sentence.strip()]
    return (
        len(sentences) > MOST_SENTENCES
        or _quotes(text)
        or _points_elsewhere(text)
        or LETTER.search(text) is not None
        or not (_says_little(sentences) or all(map(_is_plain, sentences, ["", *sentences])))
        or sum(bool(TELLS_ON.match(sentence)) for sentence in sentences) > MOST_TOLD
    )


def flag_material(turns: Iterable[tuple[str, str]]) -> list[bool]:
    """Return for each (role, cleaned text) whether it carries material, or follows such a turn before anybody answers.

    "Here is the mail:", and then the mail: what was announced may come in a message of its own.
    """
    found, announced = [], False
    for role, text in turns:
        from_others = role in ("user", "tool", "function")
        announced = role != "assistant" and (announced or from_others and carries_material(text))
        found.append(announced)
    return found


def _points_elsewhere(text: str) -> bool:
    """Whether anything points at other words; in the only clause in the first person, speech and tasks alone do."""
    speaks = [match.end() for match in FIRST_PERSON.finditer(text)]
    if len(speaks) != 1 or len(_without_openers(text[: speaks[0]])) > 1:
        return mentions(text)
    end = speaks[0] + len(CLAUSE_END.split(text[speaks[0] :], maxsplit=1)[0])
    return mentions(text[:end], among=UTTERANCES | LANGUAGE_TASKS) or mentions(text[end:])


def _says_little(sentences: list[str]) -> bool:
    """Whether a turn is a few words in which nobody speaks of himself: there is nothing to be somebody else's."""
    (only, *more) = sentences or [""]
    return not more and len(only.split()) <= FEW and not (NOT_LITTLE.search(only) or COLON.search(only))


def _quotes(text: str) -> bool:
    """Return whether more stands in quotation marks, code or markup than a name or title."""
    mask = foreign(text)
    edges = [0, *(at for at in range(1, len(mask)) if mask[at] != mask[at - 1]), len(mask)]
    parts = (text[start:end] for start, end in pairwise(edges) if end > start and mask[start])
    return any(len(part.split()) > (MOST_QUOTED if FIRST_PERSON.search(part) else MOST_PROVERB) for part in parts)


def _is_plain(sentence: str, before: str) -> bool:
    """Return whether a sentence is what people say of themselves or ask for; one may go on about the one before."""
    start = 0
    sentence = IDIOMS.sub("ok", sentence)
    for mark in COLON.finditer(sentence):
        lead, rest = sentence[start : mark.start()], sentence[mark.end() :]
        if not _leads_plainly(lead, rest, dashed=mark.group().strip() not in (":", "：")):
            return False
        start = mark.end()
    return bool(
        _is_own(sentence)
        or not FIRST_PERSON.search(sentence[start:])
        and (
            start
            or (before and NAMED.fullmatch(sentence) and len(sentence.split()) <= MOST_ITEM)
            or (TELLS_ON.match(sentence) and _is_own(before))
            or _is_about_nobody(sentence)
        )
    )


def _is_own(sentence: str) -> bool:
    """Return whether the first person is who speaks, or is spoken of, whatever leads up to that."""
    first = FIRST_PERSON.search(sentence)
    if not first or ASKS_BACK.fullmatch(sentence):
        return False
    lead = sentence[: first.start()]
    words = _without_openers(lead)
    if not words:
        return True
    start, end = words[0].lower(), words[-1].lower()
    return not (OTHERS.search(lead) or AT_SOMETHING.search(sentence[: first.end()])) and bool(
        _is_elliptic(start)
        or start in QUESTIONS | REQUESTS
        or (start in PREPOSITIONS and not any(word[0].isupper() and word.lower() not in DATES for word in words[1:]))
        or end in LINKS
        or (HOLDS.search(lead) and lead.rstrip().endswith(","))
        or ((HOLDS.search(lead) or end not in PREPOSITIONS) and OBJECT.match(sentence, first.start()))
    )


def _is_about_nobody(sentence: str) -> bool:
    """Return whether a sentence without the first person leaves it out, or asks for something that it names itself."""
    words = _without_openers(sentence)
    if not words:
        return True
    if OTHERS.search(sentence) or AT_SOMETHING.search(sentence):
        return False
    start = words[0].lower()
    named = [word for word in words if word.lower() not in STOPWORDS]
    asks = start in REQUESTS or (start in QUESTIONS and sentence.rstrip().endswith("?"))
    return (
        words == ["No"]
        or len(words) >= FEWEST
        and (
            _is_elliptic(start)
            or (asks and (len(named) >= FEWEST or words[-1] in ("you", "yours")) and not IT.search(sentence))
        )
    )


def _is_elliptic(start: str) -> bool:
    """Return whether a word opens a statement that leaves out "I" or "my"."""
    return start in ELLIPTIC or start.removesuffix("'s") in OWNED or start.endswith("ing") or start.isdigit()


def _without_openers(text: str) -> list[str]:
    """Return the words of a text from the first on that does more than open a statement."""
    return list(dropwhile(lambda word: word.lower() in OPENERS or word.endswith("ly"), WORD.findall(text)))


def _leads_plainly(lead: str, rest: str, *, dashed: bool) -> bool:
    """Return whether before a colon or dash stands what opens a statement, or the name of a field."""
    words = _without_openers(lead)
    if {word.lower() for word in words} <= PREPOSITIONS:
        return True
    if not FIRST_PERSON.search(rest):
        return bool(FIELD.fullmatch(lead) or (_is_own(lead) and not SIGNED.fullmatch(rest)))
    speaks = _is_own(lead) if dashed else SPEAKS.match(" ".join(words)) and not AT_SOMETHING.search(lead)
    return bool(speaks) and not lead.rstrip().endswith((".", "!", "?"))

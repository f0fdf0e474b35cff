"""Mentions: words by which a turn points at a text, an utterance, work on language, or a part that somebody plays."""

import re

from memories.extraction.values import LANGUAGES
from memories.language.word_lists import listed, word_list

TEXTS = word_list(__file__, "texts")
OWNED = listed("email mail website blog motto slack game book")
UTTERANCES = word_list(__file__, "utterances")
LANGUAGE_TASKS = word_list(__file__, "language_tasks")
PARTS = word_list(__file__, "parts")
STYLES = word_list(__file__, "styles")
WORDS = STYLES | TEXTS | UTTERANCES | LANGUAGE_TASKS | PARTS
ENDINGS = re.compile(r"(?:'s|ing|ed|es|s|d)$")
WORD = re.compile(r"(?<![\w@/.])[^\W\d_]+(?:'s)?(?![\w@/]|\.\w)")
# The user says so himself, of what is his, or asks the agent for it in that form; nobody says anything.
BY_USER = re.compile(
    rf"\b(?:(?:i'?m|i am|i was|as) an? (?:[\w-]+ ){{0,2}}?(?=(?:{'|'.join(sorted(PARTS))})\b)"
    r"|(?<!\bdo )(?<!\bwould )(?<!\bshould )(?<!\bshall )(?<!\bcan )(?<!\bcould )(?:i|we)"
    r"(?:'m|'ve|'d|'re|'ll| am| have| had| do| can| cant| dont| \w+n't| should| might| must| never| also"
    r"| already| always| just| \w+ly| used to| want to| like to| love to| need to){0,3}|i'?m|ive|not|n't|dont|forgot to"
    rf"|(?:my|our) (?=(?:{'|'.join(sorted(OWNED))})\b)|(?:is|are|'s|was) (?=called\b)|(?=calls? me\b)"
    r"|(?:short|shorter|long|longer|brief|prefer|want|like|like my|your|keep)"
    r" (?=(?:answer|replie|response|summarie|example)s\b)|answer your |honest |small |short |quick |before you "
    r"|(?:bit of|some|for|more) (?=context\b)|you (?=asked about my\b)|(?=book (?:a|an|it|me|us|the|my|our)\b)"
    r"|(?=reading\b)|closes? (?:its|the|our) (?=books\b)"
    r"|(?=sounds (?:good|great|like)\b)|(?=guess what\b)|(?=supposed to\b)"
    r"|(?=post ?(?:office|code|should|goes|can)\b)|(?<=to )(?=say (?:no|yes|hello|hi|goodbye|sorry|thanks)\b)"
    r"|(?<=^)(?=say,)"
    r")\b ?[\w']+",
    re.IGNORECASE,
)
PHRASES = re.compile(
    rf"(?<!fluent )\b(?:in|into) (?:{'|'.join(sorted(LANGUAGES))})\b|\baccording to\b(?! me\b)"
    r"|\bonce upon a time\b|\bwhat if\b|\bif (?:i|we) were\b|\bas if (?:you|i)\b"
    r"|\b(?:act|speak|answer|be) (?:as|like)\b|\byou(?:'re| are) (?:an?|the|now)\b"
    r"|<-|->|[←→↑]|\^\^|(?:^|[.!?,] )found (?:this|that)\b|(?:^|[.!?,] )(?:you )?be (?:my|the|an?)\b"
    r"|\bplay(?:s|ing)? an?\b"
    r"|\b(?:an?|the|school) (?:play|show)\b|\bdream(?:t|ed)\b|\b(?:my|a) dream\b(?! (?:house|home|job|car|trip))"
    r"|\b(?:i|we)(?:'ve| have)? (?:just )?(?:got|received|found|saw|heard|read|overheard|came across|copied)\b"
    r"(?= (?:this|these|that|the following|it|from)\b|:)"
    r"|\b(?:below|above)\b(?=\s*(?:[.,:;!?)\n]|$))|\b(?:the following|as follows|verbatim)\b"
    r"|\bhere(?:'s| is| are| comes?)\b(?! my\b| the (?:thing|deal|situation)\b)"
    r"|\b(?:[1-5]|one|two|three|four|five)[ -]stars?\b|★|\bwould(?:n't| not| highly)? recommend\b"
    r"|\bgoes?[,:]? (?:i|my|we|our)\b|\b(?:named|called|like|with) (?:i|i'm|we)\b(?! (?:said|told|mentioned))"
    r"|\b(?:search|tool|agent|browser|terminal|query|plugin|feed) (?:gave|gives|found|finds|shows?|reports?|returns?)\b"
    r"|\b(?:it|this|that) (?:in the past|by heart)\b|\bwants it (?:on|in|as|for)\b"
    r"|(?<!i'm )(?<!im )(?<!am )(?<!as )\b(?:an?|some|another) (?:[\w-]+ )?"
    r"(?:man|woman|guy|lady|bloke|fellow|chap|gentleman)\b",
    re.IGNORECASE,
)


def mentions(text: str, *, among: frozenset[str] = WORDS) -> bool:
    """Return whether a text points at words that may be somebody else's."""
    return bool(PHRASES.search(text)) or any(
        stem in among for word in WORD.findall(BY_USER.sub(" ", text).lower()) for stem in _stems(word)
    )


def _stems(word: str) -> tuple[str, ...]:
    """Return a word, and what is left of it without its ending."""
    stem = ENDINGS.sub("", word)
    return (word,) if stem == word else (word, stem, stem + "e", stem[:-1] if stem[-2:-1] == stem[-1:] else stem)

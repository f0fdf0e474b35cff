"""Whether a speaker tells of the user as of somebody else, speaks for somebody else, or is a machine."""

import re
from collections.abc import Collection

from memories.extraction.material import FIRST_PERSON
from memories.extraction.patterns import RELATED
from memories.extraction.self_names import AM, SPEAK, WORD, is_given_name, self_names
from memories.extraction.values import EDGE
from memories.language.dates import CALENDAR
from memories.language.gazetteers import KNOWN, PLACES_AS_NAMES, WORDY_NAMES
from memories.language.word_lists import listed

# Who says that another one speaks, without a name.
ANOTHER = re.compile(
    rf"{AM}\b (?:(?:now|actually|really|just) )?(?:(?:not|no longer) (?:the|your|this|that) (?:real |actual |same )?"
    r"(?:user|owner|customer|person|one)\b|(?:an?other|a different|some other|the new) (?:user|person|owner|customer)\b"
    r"|(?:someone|somebody) else\b)"
    r"|\b(?:borrow(?:ed|ing)?|using|writing from|typing on|took) (?:her|his|their|someone's|somebody's)"
    r" (?:\w+ )?(?:phone|laptop|computer|account|device|tablet|login|session|keyboard|profile)\b",
    re.IGNORECASE,
)
MACHINE = re.compile(
    rf"{AM}\b (?:(?:just|only|really|actually) )?(?:an?|the|your) (?:(?!(?:in|of|for|with|on|to)\b)\w+ ){{0,2}}"
    r"(?:ai|llm|language model|(?:chat|ro)?bot|(?:ai|virtual|digital|automated|software) (?:assistant|agent|program))"
    rf"(?:{EDGE.pattern}| (?:made|built|created|developed|trained)\b)",
    re.IGNORECASE,
)
RELATIVE = rf"\b(?:my|our|her|his|their) (?:\w+ )?(?:{'|'.join(sorted(RELATED))}|wife|husband)\b"
TO_YOU = r"(?: (?:to you|with you|you|this|that|it|here|now|today|in)){0,3}"
SPEAKS = rf"{SPEAK}(?:e|ing)?"
SPEAKS_FOR = re.compile(
    rf"\b(?:{SPEAKS}|asking|acting|contacting|(?<='m )here|(?<=am )here){TO_YOU} (?:on behalf of|in (?:the )?name of)\b"
    rf"|\b{SPEAKS}{TO_YOU} for (?:(?:her|him|them)\b(?! \w)|{RELATIVE})"
    rf"|\b(?:{SPEAKS}{TO_YOU} (?:for|as)|(?:logged|signed) in as) (?P<whom>(?-i:[A-Z])[\w'-]*)",
    re.IGNORECASE,
)
HERS = listed("her his their she's he's they're")
SENTENCE = re.compile(r"[^.!?;\s][^.!?;]*")
# What tells of a name as such, "Ann is short for Johanna"; not "my wife's name is Ann".
NAMING = re.compile(r"\b(?:names?|nickname|named|calls?|called|spel\w+|sign\w*|short for)\b", re.IGNORECASE)
NAMES_ANOTHER = re.compile(rf"{RELATIVE}.* (?:name|called)\b", re.IGNORECASE)
# What makes a name a part of a larger one: "San Jose", "Ann Arbor".
LARGER_BEFORE = re.compile(r"[\w'] (?!I\b)[A-Z][\w'-]* $")
LARGER_BEHIND = re.compile(r" ((?!I\b)[A-Z]\w*)")
SIGNED = re.compile(r"[^\w\s] *$")


def other_speaks(text: str, names: Collection[str]) -> bool:
    """Return whether somebody else than the user, who has these names, says a plain text without saying his own name.

    "I'm her husband", "I work for Ann" of Ann, "I'm writing on behalf of Eve", "I'm a language model".
    """
    if ANOTHER.search(text) or MACHINE.search(text) or _speaks_for_another(text):
        return True
    taken = [range(start, end) for start, end, _ in self_names(text)]
    return _is_of_the_user(text, names, taken) or _names_the_user(text, names, taken)


def _speaks_for_another(text: str) -> bool:
    return any(not found["whom"] or is_given_name(found["whom"]) for found in SPEAKS_FOR.finditer(text))


def _is_of_the_user(text: str, names: Collection[str], taken: Collection[range]) -> bool:
    """Return whether a speaker says what he is to the user: "I'm her husband", "I'm a friend of Ann"."""
    for am in re.finditer(rf"{AM}\b([^.!?;]{{0,200}})", text, re.IGNORECASE):
        for number, word in enumerate(WORD.finditer(text, am.start(1), am.end(1))):
            token = word.group()
            whose = token.casefold().removesuffix("'s")
            owns = whose != token.casefold()
            if number == 0 and token.casefold() in HERS:
                return True
            is_user = whose in names and whose not in CALENDAR and (owns or token[0].isupper())
            if is_user and (owns or not any(word.start() in span for span in taken)):
                return True
    return False


def _names_the_user(text: str, names: Collection[str], taken: Collection[range]) -> bool:
    """Return whether a text in the first person names the user beside it."""
    return bool(FIRST_PERSON.search(text)) and any(
        not any(word.start() in span for span in taken)
        and _is_one_of(word.group().removesuffix("'s"), names, begins=word.start() == sentence.start())
        and not _is_apart(text, word, names)
        for sentence in SENTENCE.finditer(text)
        if not NAMING.search(sentence.group()) or NAMES_ANOTHER.search(sentence.group())
        for word in WORD.finditer(text, *sentence.span())
    )


def _is_one_of(word: str, names: Collection[str], *, begins: bool) -> bool:
    """Return whether a word is one of the names and a given name; "Will" and "Mark" may begin a sentence as words."""
    name = word.casefold()
    if not word[0].isupper() or name not in names or name in CALENDAR | PLACES_AS_NAMES:
        return False
    return KNOWN.get(name) == "person" or (name in WORDY_NAMES and not begins)


def _is_apart(text: str, word: re.Match[str], names: Collection[str]) -> bool:
    """Return whether a name is a part of a larger one that is not the user's, or a signature."""
    behind = LARGER_BEHIND.match(text, word.end())
    if (behind and behind[1].casefold() not in names) or LARGER_BEFORE.search(text, 0, word.start()):
        return True
    return bool(SIGNED.search(text, 0, word.start())) and not WORD.search(text, word.end())

"""Owners: of whose thing a cue speaks, as far as words tell."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conflicts.free_text.cues import NEUTRAL, PEOPLE, RELATIVES, Cue
from conflicts.free_text.passages import Passage, Word, stem, stems_of
from conflicts.free_text.sightings import Sighting, is_given_name
from conflicts.keys import USER_NAMES, USERS, subject_key
from memories.language.tokenizer import TOKEN
from memories.language.word_lists import STOPWORDS, listed, word_list

# The user's clients, and who is told from the user by a number.
OTHER_USERS = re.compile(
    r"(?:user|customer|client)'s (?:customer|client|user|guest|member)s?\b"
    r"|\b(?:user|customer|client) [2-9](?:'s|(?= (?:lives|works|has|likes|prefers|wants|says|said)\b))",
    re.IGNORECASE,
)

if TYPE_CHECKING:
    from conflicts.free_text.contradictions import Standing

CLAUSE = re.compile(r"[,;.:(] ")
NOBODYS = listed("""
    today what when where who how that it here there let yesterday tomorrow year month week this
""")
WHOLES = word_list(__file__, "wholes")
VERBS = word_list(__file__, "verbs")
BESIDE = listed("""
    of behind from near beside before after with by against besides
""")
# Who, named before "his budget", has one of their own.
FELLOWS = RELATIVES - listed("doctor dentist lawyer assistant team company employer office bank")
PRONOUNS = listed("""
    he she his her him hers
""")


def speaks_of(
    passage: Passage,
    span: tuple[int, int],
    claim: "Standing",
    cues: Sequence[Cue],
    *,
    values: Sequence[Sighting] = (),
    loosely: bool = False,
) -> bool:
    """Return whether what a cue speaks of is the claim's subject's, and the thing itself; `values` may stand before it.

    Loosely: what stands behind a comma is nobody's before it, and unsure values are values.
    """
    named = list(stems_of(claim.subject))
    subject = [w for w in named if w not in {"the", "a", "an", "my", "our"}] or named
    own = set(subject) | set(stems_of(claim.value)) | {s for cue in cues for s in cue.stems}
    own |= {word.stem for word in passage.words if any(_counts(v, word, loosely=loosely) for v in values)}
    own |= {"food", "nut"} if claim.predicate == "allergic_to" else set()
    clause = max((m.end() for m in CLAUSE.finditer(passage.text, 0, span[0])), default=0) if loosely else 0
    before = [word for word in passage.words if clause <= word.start and word.end <= span[0]]
    stems = {word.stem for word in passage.words}
    users = subject_key(claim.subject) in USERS
    if not users and not (set(subject) <= stems and not _is_of_it(passage, subject, own)):
        return False
    known = own | (PEOPLE if users else set())
    if _is_anothers(passage, before, span, known) or _is_for_another(passage, span, known):
        return False
    if users and not stems & PEOPLE:
        return _is_bare(passage, before, span, known)
    return True


def _counts(value: Sighting, word: Word, *, loosely: bool) -> bool:
    """Return whether a word belongs to a value, and not to somebody who may own another thing."""
    return value.start <= word.start < value.end and (value.sure or loosely and not is_given_name(word.text))


def _is_anothers(passage: Passage, before: Sequence[Word], span: tuple[int, int], known: set[str]) -> bool:
    """Return whether somebody else owns it or does it: a relative, a named person, another thing before the noun."""
    begins = max(passage.text.rfind(" - ", 0, span[0]), passage.text.rfind(" | ", 0, span[0]))
    near = [word for word in before if span[0] - word.end <= 45 and word.start > begins][-6:]
    if OTHER_USERS.search(passage.text, 0, span[1]):
        return True
    if any(word.stem in RELATIVES - known and not _yields(near[place + 1 :]) for place, word in enumerate(near)):
        return True
    if near and near[-1].stem in {"his", "her", "their"} and any(word.stem in FELLOWS for word in near):
        return True
    for place, word in enumerate(near):
        rest = {w.stem for w in near[place + 1 :]}
        if word.text.lower().endswith(("'s", "s'")) and word.stem not in known | NOBODYS and rest <= NEUTRAL | known:
            return True
        named = is_given_name(word.text) and word.text[0].isupper() and word.stem not in known
        if named and len(rest) <= 2 and not rest & (PEOPLE - PRONOUNS):
            return True
        if (
            word.text.lower().endswith("'s")
            and word.stem in known
            and not _plain(rest) <= NEUTRAL | known | STOPWORDS | VERBS
        ):
            return True
    return bool(near) and _is_another_thing(passage, near[-1], span, known)


def _yields(behind: Sequence[Word]) -> bool:
    """Whether the user stands behind a relative, who is not the user's: the doctor ruled out the user's allergy."""
    stems = [word.stem for word in behind]
    at = next((place for place, one in enumerate(stems) if one in USER_NAMES or one in USERS), None)
    return at is not None and not set(stems[:at]) <= {"of", "the", "to", "and", "with", "for"}


def _plain(stems: set[str]) -> set[str]:
    """Without participles and adverbs: configured, usually."""
    return {one for one in stems if not one.endswith(("ed", "ly"))}


def _is_another_thing(passage: Passage, last: Word, span: tuple[int, int], known: set[str]) -> bool:
    """Return whether the word before the cue makes it another thing: the dinner budget."""
    if passage.text[last.end : span[0]].strip():
        return False
    fitting = last.stem in NEUTRAL | known | STOPWORDS | VERBS or last.text.lower() in NEUTRAL | STOPWORDS
    return not (
        fitting or "n't" in last.text or last.text[0].isdigit() or last.text.lower().endswith(("ly", "ed", "ing"))
    )


def _is_for_another(passage: Passage, span: tuple[int, int], known: set[str]) -> bool:
    """Return whether it is said to be for or of another whole: the budget for the kitchen."""
    match = re.match(
        r" (?:for|of) ((?:(?:the|this|that|my|our|his|her|their|a|an|all) )*)(\w+)(?:'s)? ?(\w*)",
        passage.text[span[1] :],
    )
    if not match or match[2][0].isdigit():
        return False
    head = next((w.stem for w in passage.words if w.start >= span[1] + match.start(2)), stem(match[2]))
    if head in known | WHOLES | NEUTRAL | STOPWORDS or head in {"zero", "only", "just", "thirteen"}:
        return stem(match[3]) in RELATIVES - known
    follows = passage.text[span[1] + match.end() :]
    if match[2].endswith("ing") and {stem(word) for word in TOKEN.findall(f"{match[3]} {follows}")[:3]} & known:
        return False
    return match[0].startswith(" for") or head in RELATIVES or is_given_name(match[2]) or " is " in follows


def _is_of_it(passage: Passage, subject: list[str], own: set[str]) -> bool:
    """Return whether something of the subject is spoken of, as in "the exporter of the database"."""
    words = [word for word in passage.words if word.stem not in {"the", "this", "that", "our", "my"}]
    if not subject:
        return False
    for place, word in enumerate(words[2:], start=2):
        beside = words[place - 1].stem in BESIDE
        if word.stem == subject[0] and words[place - 2].stem in {"next", "close"} and place > 2:
            return words[place - 3].stem not in own | NEUTRAL | STOPWORDS | WHOLES
        if word.stem == subject[0] and beside:
            return words[place - 2].stem not in own | NEUTRAL | STOPWORDS | WHOLES
    return False


def _is_bare(passage: Passage, before: Sequence[Word], span: tuple[int, int], known: set[str]) -> bool:
    """Return whether it stands there without any owner, as in "Budget: $13"."""
    near = [word.stem for word in before][-4:]
    return all(w in NEUTRAL | known | VERBS | STOPWORDS or w.isdigit() for w in near)

"""Doubts: texts near a standing claim of which nobody can tell by their words whether they state another value.

Pure. Meaning says that a text is near: the cosine of its vector to that of the claim's fragment. Words say that it
may speak of the claim's subject, and that it holds a value which may stand in the place of the claim's own.
"""

import re
from collections.abc import Sequence

from conflicts import sightings
from conflicts.aliases import USERS, subject_key
from conflicts.contradictions import (
    BLOCKS,
    IS_FINE,
    NOT,
    Standing,
    cues_of,
    denied,
    kind_of,
    literal,
    places_of,
)
from conflicts.cues import PEOPLE, RELATIVES
from conflicts.passages import Passage, stem
from conflicts.sightings import Sighting, is_given_name
from memories.language.words import STOPWORDS, listed

NEAR = 0.3  # cosine from which on a text may be about a claim that its words do not name
ALIKE = 0.5  # the same where the claim's value is of no kind that can be seen
UNKNOWN = 0.4  # the cosine of a text without a vector: as of a text on the same subject
USERS_ABROAD = listed("""
    nutzer nutzers benutzer benutzers kunde kunden kundin utilisateur utilisatrice usuario usuaria usuário utente
    gebruiker användaren cliente
""")
ENGLISH = 1 / 5  # of the words of an English sentence are such as "the" and "of", at least
TELLING = 4  # words from which on that can be told
DENIAL = re.compile(rf"{NOT}|\b(?:any ?more|stopped|former|ex)\b", re.IGNORECASE)
YEAR = re.compile(r"(?:19|20)\d\d")


def is_in_doubt(said: Sequence[Passage], claim: Standing, *, exclusive: bool, likeness: float | None) -> bool:
    """Whether a text is near a claim, and may state another value; False where it states the claim's alone."""
    near = UNKNOWN if likeness is None else likeness
    spoken = _names_key(said, claim)
    if not exclusive:
        return spoken and _may_deny(said, claim)
    seen = [_values(passage, claim) for passage in said]
    own = any(mine for mine, _ in seen)
    if not _is_of_subject(said, claim) and not (own and any(others for _, others in seen)):
        return False
    if kind_of(claim)[0] is None:
        return not own and near >= ALIKE
    return any(
        _may_replace(passage, mine, others, claim, near=own or spoken or near >= NEAR, spoken=spoken)
        for passage, (mine, others) in zip(said, seen, strict=True)
    )


def _may_replace(
    passage: Passage,
    mine: Sequence[Sighting],
    others: Sequence[Sighting],
    claim: Standing,
    *,
    near: bool,
    spoken: bool,
) -> bool:
    """Whether a sentence gives up the claim's value, or holds another that may stand in its place."""
    if mine:
        return bool(others) or any(denied(passage, one, strict=False) for one in mine)
    blocks = None if spoken else BLOCKS.get(claim.predicate)
    left = [one for one in others if not _is_anothers(passage, one) and (spoken or _is_of_size(one, claim))]
    return bool(near and left and not (blocks and blocks.search(passage.text)))


def _names_key(said: Sequence[Passage], claim: Standing) -> bool:
    cues = cues_of(claim)
    return any(
        next(places_of(cue, [word.stem for word in passage.words]), None) for passage in said for cue in cues
    )


def _is_of_subject(said: Sequence[Passage], claim: Standing) -> bool:
    """Whether the claim's subject is named, by a user's names in other languages too, or the text is not English."""
    stems = {word.stem for passage in said for word in passage.words}
    if subject_key(claim.subject) in USERS:
        return bool(stems & (PEOPLE | USERS_ABROAD)) or _is_foreign(said)
    return {stem(word) for word in re.findall(r"\w+", claim.subject)} <= stems or _is_foreign(said)


def _is_foreign(said: Sequence[Passage]) -> bool:
    words = [word.text.lower() for passage in said for word in passage.words if word.text.isalpha()]
    return len(words) >= TELLING and sum(word in STOPWORDS for word in words) < ENGLISH * len(words)


def _values(passage: Passage, claim: Standing) -> tuple[list[Sighting], list[Sighting]]:
    """Where a sentence states the claim's value, and where others of its kind."""
    seen, same = kind_of(claim)
    found = list(seen(passage)) if seen else []
    if seen is sightings.codes:
        found += sightings.names(passage)
    if not found and seen is sightings.places:
        found = list(sightings.small_places(passage))
    own = [one for one in found if same(one.form)] or list(literal(passage, claim.value))
    return own, [one for one in found if one not in own and not any(_meet(one, mine) for mine in own)]


def _meet(one: Sighting, other: Sighting) -> bool:
    return one.start < other.end and other.start < one.end


def _is_anothers(passage: Passage, value: Sighting) -> bool:
    """Whether somebody else is named before the value: a relative, a person."""
    before = [word for word in passage.words if word.end <= value.start]
    return any(word.stem in RELATIVES or (is_given_name(word.text) and word.text[0].isupper()) for word in before)


def _is_of_size(value: Sighting, claim: Standing) -> bool:
    """Whether a bare number has about as many digits as the claim's, and is no year."""
    own = claim.value.strip()
    if not own.isdigit():
        return True
    return abs(len(value.form) - len(own)) <= 1 and not YEAR.fullmatch(value.form)


def _may_deny(said: Sequence[Passage], claim: Standing) -> bool:
    words = {stem(word) for word in re.findall(r"\w+", claim.value)}
    for passage in said:
        named = words <= {word.stem for word in passage.words}
        if DENIAL.search(passage.text) or (named and IS_FINE.search(passage.text)):
            return True
    return False

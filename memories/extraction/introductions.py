"""Introductions: a turn whose speaker names himself as somebody else than the scope's user is not the user's word."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from conflicts.authority import SOURCE_RANK
from memories.access import Principal
from memories.extraction.claims import Extracted
from memories.extraction.other_speakers import other_speaks
from memories.extraction.self_names import SelfName, plain_text, self_names
from memories.language.gazetteers import GIVEN_NAMES
from memories.language.tokenizer import TOKEN
from memories.models import Claim, Namespace
from memories.models.enums import SourceClass, Status


class ReadTurn(NamedTuple):
    """A turn whose speaker is taken for the user, and the claims that were read in it."""

    content: str
    claims: Sequence[Extracted]


def find_strangers(principal: Principal, turns: Sequence[ReadTurn], scope: Namespace | None) -> list[bool]:
    """Return for each turn of a chat whether a stranger says it. In the open transaction.

    The user is who the scope belongs to, and has the names on record that he said himself. Where no name is known, who
    introduces himself is the user only if nobody was heard before.
    """
    if not turns:
        return []
    known = [_words(name) for name in (principal.user or "", *_known_names(principal, scope)) if _words(name)]
    # An id such as u_8731 names nobody.
    open_to_all = not any(name & GIVEN_NAMES for name in known) and not _was_heard(principal, scope)
    judged = []
    for turn in turns:
        if open_to_all:
            names = _said_names(turn)
            known += [naming.words for naming in names if not naming.denied]
            open_to_all = not names and not turn.claims
        judged.append(_is_stranger(turn, known))
    return judged


def _is_stranger(turn: ReadTurn, known: list[frozenset[str]]) -> bool:
    names = frozenset[str]().union(*known)
    foreign = any(_is_foreign(naming, known, names) for naming in _said_names(turn))
    return foreign or other_speaks(plain_text(turn.content), names)


def _is_foreign(naming: SelfName, known: list[frozenset[str]], names: frozenset[str]) -> bool:
    if naming.denied:
        return bool(naming.words & names)
    return not any(naming.words <= name or name <= naming.words for name in known)


def _said_names(turn: ReadTurn) -> list[SelfName]:
    """Return the names that the speaker of a turn gives himself or denies, by its words and by what was read in it."""
    read = [claim for claim in turn.claims if (claim.subject, claim.predicate) == ("user", "name")]
    return [
        *(naming for _, _, naming in self_names(plain_text(turn.content))),
        *(SelfName(_words(claim.value), claim.negated) for claim in read if _words(claim.value)),
    ]


def _words(name: str) -> frozenset[str]:
    """Return the words of a name; of an address those before its @."""
    return frozenset(TOKEN.findall(name.casefold().split("@")[0].replace("_", " ")))


def _known_names(principal: Principal, scope: Namespace | None) -> Iterable[str]:
    if scope is None:
        return []
    least = SOURCE_RANK[SourceClass.USER_EXPLICIT]
    return (
        _stated_claims(principal, scope).filter(predicate="name", authority__gte=least).values_list("value", flat=True)
    )


def _was_heard(principal: Principal, scope: Namespace | None) -> bool:
    return scope is not None and _stated_claims(principal, scope).exists()


def _stated_claims(principal: Principal, scope: Namespace) -> QuerySet[Claim]:
    rows = Claim.objects.within(principal.project_id).filter(namespace=scope)
    return rows.filter(subject="user", status=Status.ACTIVE)

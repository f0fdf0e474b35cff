"""Introductions: a turn whose speaker names himself as somebody else than the scope's user is not the user's word."""

import re
from collections.abc import Iterable
from dataclasses import replace

from django.db.models import QuerySet

from conflicts.front import SOURCE_RANK
from memories.access import Principal
from memories.ingest.drafts import Draft
from memories.models import Claim, Namespace
from memories.models.words import MATERIAL, SourceClass, Status

WORDS = re.compile(r"\w+")
Indexed = list[tuple[int, Draft]]


def without_strangers(principal: Principal, drafts: Indexed, scope: Namespace | None) -> Indexed:
    """Return the drafts, where a stranger's turn is attested no longer. In the open transaction.

    The user is who the scope belongs to, and has the names on record that he said himself. Where neither is known, who
    introduces himself is the user only if nobody was heard before.
    """
    if not any(_introduced(draft) for _, draft in drafts):
        return drafts
    known = [*([principal.user] if principal.user else []), *_names_on_record(principal, scope)]
    open_to_all = not known and not (scope and _said(principal, scope).exists())
    return [(n, draft if open_to_all else _judged(draft, known)) for n, draft in drafts]


def _judged(draft: Draft, known: list[str]) -> Draft:
    if all(_is_one_of(name, known) for name in _introduced(draft)):
        return draft
    return replace(draft, attested=False, extra={**draft.extra, MATERIAL: True})


def _introduced(draft: Draft) -> list[str]:
    """The names by which the speaker of an attested turn calls himself."""
    if not draft.attested:
        return []
    return [told.value for told in draft.read_before or () if (told.subject, told.predicate) == ("user", "name")]


def _is_one_of(name: str, known: Iterable[str]) -> bool:
    words = set(WORDS.findall(name.casefold()))
    return any(words <= set(WORDS.findall(one.casefold().replace("_", " "))) for one in known)


def _names_on_record(principal: Principal, scope: Namespace | None) -> list[str]:
    if scope is None:
        return []
    least = SOURCE_RANK[SourceClass.USER_EXPLICIT]
    return list(_said(principal, scope).filter(predicate="name", authority__gte=least).values_list("value", flat=True))


def _said(principal: Principal, scope: Namespace) -> QuerySet[Claim]:
    rows = Claim.objects.within(principal.project_id).filter(namespace=scope)
    return rows.filter(subject="user", status=Status.ACTIVE)

"""The checks of a project: kept under their names, read and removed within what somebody reaches."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conflicts.authority import rank_of
from conflicts.search_index import refuse_forgotten_words
from memories import access
from memories.access import NotFound, Principal
from memories.errors import NovaError
from memories.models import RecallCheck, RecallRun
from memories.models.enums import Expectation, Verb
from memories.models.fragment import says_something
from memories.models.recall import MOST_CHECKS, TOP_K, RecallCheckQuerySet, RecallRunQuerySet

NAME_LENGTH = 200


class TooManyChecks(NovaError):
    """The project keeps as many checks as it may."""

    code = "too_many_checks"
    title = "There are too many recall checks"

    def __init__(self) -> None:
        super().__init__(f"a project keeps at most {MOST_CHECKS} recall checks")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDraft:
    """A check as asked for; without a name its question is its name. `expected`: an id, words or a value."""

    namespace: str
    question: str
    expects: str
    expected: str
    top_k: int = TOP_K
    name: str = ""
    note: str = ""

    @property
    def known_as(self) -> str:
        """Return the name under which it is kept."""
        return self.name or self.question[:NAME_LENGTH].strip()

    @property
    def words(self) -> list[str]:
        """Return what it says in words: a value that is but a word or two says nothing by itself."""
        says = self.expects == Expectation.TEXT or self.expects == Expectation.VALUE and says_something(self.expected)
        return [self.known_as, self.question, self.note, *([self.expected] if says else [])]

    @property
    def values(self) -> dict[str, Any]:
        """Return the columns that it sets. Raise ValueError for an id that is none."""
        by_id = self.expects == Expectation.MEMORY
        return {
            "question": self.question,
            "expects": self.expects,
            "fragment_id": uuid.UUID(self.expected) if by_id else None,
            "expected": "" if by_id else self.expected,
            "top_k": self.top_k,
            "note": self.note,
        }


def checks_of(principal: Principal, namespace: str | None = None) -> RecallCheckQuerySet:
    """Return the checks of what somebody reads, or of one namespace. Inside `access.enter`. Raise NotFound."""
    namespaces = access.readable_scopes(principal, None if namespace is None else [namespace])
    rows: RecallCheckQuerySet = RecallCheck.objects.within(principal.project_id).filter(namespace__in=namespaces)
    return rows.select_related("namespace")


def runs_of(principal: Principal) -> RecallRunQuerySet:
    """Return the runs over what somebody reads; of several namespaces for who covers all. Inside `access.enter`."""
    rows: RecallRunQuerySet = RecallRun.objects.within(principal.project_id).select_related("namespace")
    runs = rows.filter(namespace__in=access.readable_scopes(principal))
    return runs | rows.filter(namespace=None) if principal.asks_for_all else runs


def keep(
    principal: Principal, drafts: Sequence[CheckDraft], *, now: datetime.datetime
) -> list[tuple[RecallCheck, bool]]:
    """Keep checks, all or none, each instead of one of its namespace and name; the rows, and whether each replaced one.

    One that asks or expects something else is as one that was never run. Raise NotFound, NotPermitted, TooManyChecks,
    BlockedByErasure.
    """
    principal.require(Verb.WRITE)
    with access.enter(principal, why="recall checks"):
        names = dict.fromkeys(each.namespace for each in drafts)
        places = {name: place for name in names if (place := access.find(principal, name))}
        if missing := next((name for name in names if name not in places), None):
            raise NotFound(f"namespace {missing}")
        kept = [_kept(principal, draft, places[draft.namespace], now=now) for draft in drafts]
        if RecallCheck.objects.within(principal.project_id).count() > MOST_CHECKS:
            raise TooManyChecks
        return kept


def _kept(principal: Principal, draft: CheckDraft, place: Any, *, now: datetime.datetime) -> tuple[RecallCheck, bool]:
    refuse_forgotten_words(principal.project_id, place.id, draft.words, authority=rank_of(principal))
    values = draft.values
    row, made = RecallCheck.objects.get_or_create(
        project_id=principal.project_id,
        namespace=place,
        name=draft.known_as,
        defaults={**values, "created_at": now, "updated_at": now},
    )
    asks = ("question", "expects", "fragment_id", "expected", "top_k")
    if not made:
        if any(getattr(row, name) != values[name] for name in asks):
            values |= {"passed": None, "place": None, "run_at": None}
        for name, value in {**values, "updated_at": now}.items():
            setattr(row, name, value)
        row.save()
    return row, not made


def remove(principal: Principal, check_id: uuid.UUID) -> RecallCheck:
    """Delete a check; what it was. Raise NotFound, NotPermitted."""
    principal.require(Verb.WRITE)
    with access.enter(principal, why="recall checks"):
        row: RecallCheck | None = checks_of(principal).filter(id=check_id).first()
        if row is None or not principal.covers(row.namespace.name):
            raise NotFound("recall check")
        RecallCheck.objects.within(principal.project_id).filter(id=check_id).delete()
        return row

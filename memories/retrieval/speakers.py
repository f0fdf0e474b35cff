"""Speakers: who was seen to speak where, so that of a question about them one form is embedded and not two."""

import threading
import uuid
from collections.abc import Collection

from cachetools import TTLCache

from memories.access import Principal
from memories.retrieval.questions import Question

MOST, SECONDS = 10_000, 3_600
Place = tuple[uuid.UUID, str, frozenset[str]]

# By project, users and namespaces that a question is asked of. It saves work and decides nothing: each search looks.
_seen: TTLCache[Place, frozenset[str]] = TTLCache(maxsize=MOST, ttl=SECONDS)
_looking = threading.Lock()


def have_spoken(principal: Principal, question: Question, persons: Collection[str]) -> bool:
    """Return whether one of these was seen to speak there lately."""
    with _looking:
        return not _seen.get(_place(principal, question), frozenset()).isdisjoint(persons)


def note_speakers(principal: Principal, question: Question, persons: Collection[str]) -> None:
    """These speak there."""
    place = _place(principal, question)
    with _looking:
        _seen[place] = _seen.get(place, frozenset()) | frozenset(persons)


def forget_speakers(principal: Principal, question: Question) -> None:
    """Whoever spoke there does not any more."""
    with _looking:
        _seen.pop(_place(principal, question), None)


def _place(principal: Principal, question: Question) -> Place:
    return principal.project_id, principal.seen_users, frozenset(question.namespaces)

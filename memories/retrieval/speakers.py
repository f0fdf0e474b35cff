"""Speakers: who was seen to speak where, so that of a question about them one form is embedded and not two."""

import threading
import uuid
from collections.abc import Collection

from cachetools import TTLCache

from memories.access import Principal
from memories.retrieval.questions import Question

MOST, SECONDS = 50_000, 3_600
Place = tuple[uuid.UUID, str, frozenset[str]]

# By project, users and namespaces that a question is asked of, and by name. It decides nothing: each search looks.
_seen: TTLCache[tuple[Place, str], bool] = TTLCache(maxsize=MOST, ttl=SECONDS)
_looking = threading.Lock()


def have_spoken(principal: Principal, question: Question, persons: Collection[str]) -> bool:
    """Return whether one of these was seen to speak there lately."""
    place = _place(principal, question)
    with _looking:
        return any((place, person) in _seen for person in persons)


def note_speakers(principal: Principal, question: Question, persons: Collection[str], *, speak: bool) -> None:
    """These speak there, or none of them does."""
    place = _place(principal, question)
    with _looking:
        for person in persons:
            if speak:
                _seen[place, person] = True
            else:
                _seen.pop((place, person), None)


def _place(principal: Principal, question: Question) -> Place:
    return principal.project_id, principal.seen_users, frozenset(question.namespaces)

"""Measuring one memory: stores turns in batches, asks questions one by one. Runs beside it, in its environment."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

WARMING = 10  # turns that are stored, aside, and questions that are asked, before any time counts


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said, where in its conversation, when (`at`, in ISO 8601, in UTC), and by whom (`role`), where known."""

    id: str
    text: str
    session: str
    sequence: int
    at: str | None
    role: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """What a memory needs to be opened: a folder of its own, a database of its own, the exported embedding model."""

    folder: str
    database: str
    model: dict[str, Any]


class Memory(Protocol):
    """A memory under measurement. A place is what it keeps one conversation's turns apart by."""

    # What is true of its figures only.
    note: str

    def add(self, place: str, turns: Sequence[Turn]) -> None:
        """Store them, embedded and to be found at once, the fastest way it offers."""
        ...

    def search(self, place: str, question: str, count: int) -> list[str]:
        """Return the ids of the best turns, best first."""
        ...

    def embedding(self) -> float:
        """Return the seconds spent in the embedding model so far."""
        ...


Opening = Callable[[Job], AbstractContextManager[Memory]]


def added(memory: Memory, turns: dict[str, list[Turn]], *, batch: int) -> dict[str, Any]:
    """Store everything: how much, the seconds of it, and what of them was embedding."""
    memory.add("warming", next(iter(turns.values()))[:WARMING])
    taken, began = memory.embedding(), time.perf_counter()
    for place, turn in turns.items():
        for start in range(0, len(turn), batch):
            memory.add(place, turn[start : start + batch])
    seconds = time.perf_counter() - began
    count = sum(map(len, turns.values()))
    return {"turns": count, "add_s": seconds, "add_embedding_s": memory.embedding() - taken}


def searched(memory: Memory, questions: dict[str, list[str]], *, count: int) -> dict[str, Any]:
    """Ask everything: the ids found by place, the milliseconds of each search, and the mean of them that embeds."""
    for number in range(WARMING):
        memory.search(next(iter(questions)), f"Which is number {number}?", count)
    taken, times, found = memory.embedding(), list[float](), dict[str, list[list[str]]]()
    for place, texts in questions.items():
        found[place] = []
        for question in texts:
            began = time.perf_counter()
            found[place].append(memory.search(place, question, count))
            times.append((time.perf_counter() - began) * 1000)
    embedding = (memory.embedding() - taken) * 1000 / len(times)
    return {"found": found, "search_ms": times, "search_embedding_ms": embedding}

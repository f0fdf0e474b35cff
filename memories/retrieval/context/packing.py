"""Choosing what fits a budget: greedy by score per token within a share for each type ([3], [1] P19). Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
RATIOS = {"episodic": 0.5, "semantic": 0.3, "procedural": 0.2}


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """Something to pack: its kind, its value and its size in characters."""

    thing: T
    kind: str
    value: float
    size: int


@dataclass(slots=True)
class Packed(Generic[T]):
    """What was packed, and what was left out with the reason."""

    included: list[Item[T]] = field(default_factory=list)
    excluded: list[tuple[Item[T], str]] = field(default_factory=list)


def by_density(
    items: Sequence[Item[T]],
    *,
    ratios: Mapping[str, float],
    most: int,
    budget: int | None,
    fits: Callable[[list[Item[T]]], bool],
) -> Packed[T]:
    """Greedy by value per character: first inside each kind's share of the budget, then the rest where room is left.

    `budget` is in characters (None: no limit); `fits` says whether a selection, laid out, stays within it.
    """
    order = sorted(items, key=lambda item: -item.value / max(1, item.size))
    packed: Packed[T] = Packed()
    spent = dict.fromkeys(ratios, 0)
    waiting = []
    for item in order:
        share = None if budget is None else budget * ratios.get(item.kind, 0.0)
        if share is not None and spent.get(item.kind, 0) + item.size > share:
            waiting.append(item)
        elif _take(packed, item, most, fits):
            spent[item.kind] = spent.get(item.kind, 0) + item.size
    for item in waiting:  # a share that one kind leaves unused goes to the others
        _take(packed, item, most, fits)
    return packed


def _take(packed: Packed[T], item: Item[T], most: int, fits: Callable[[list[Item[T]]], bool]) -> bool:
    if len(packed.included) >= most:
        packed.excluded.append((item, "max_memories"))
        return False
    if not fits([*packed.included, item]):
        packed.excluded.append((item, "budget"))
        return False
    packed.included.append(item)
    return True

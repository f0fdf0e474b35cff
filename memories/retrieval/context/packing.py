"""Choosing what fits a budget: by score per token within a share for each type, or strictly by score.

What comes first, because it is asked for, is packed before either.

Pure. Sizes and budgets are in characters: ceil(characters / 4) <= tokens exactly when characters <= 4 · tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

T = TypeVar("T")
RATIOS = {"episodic": 0.5, "semantic": 0.3, "procedural": 0.2}
BUDGET, TOO_MANY = "budget", "max_memories"


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """Something to pack: its kind, its value and its size in characters."""

    thing: T
    kind: str
    value: float
    size: int
    # Packed before all others, as far as it fits.
    first: bool = False


@dataclass(slots=True)
class Space:
    """The room that is left: how many items, how many characters (None: no limit), and what each heading costs."""

    most: int
    left: int | None
    headings: Mapping[str, int] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)

    def copy(self) -> Self:
        """Return the same room, to try something in."""
        return replace(self, opened=set(self.opened))

    def cost(self, item: Item[T]) -> int:
        """Return what the item takes, with its section's heading when it would be the first there."""
        return item.size + (0 if item.kind in self.opened else self.headings.get(item.kind, 0))

    def refusal(self, item: Item[T]) -> str:
        """Return why it has no room; empty when it has."""
        if self.most < 1:
            return TOO_MANY
        return BUDGET if self.left is not None and self.cost(item) > self.left else ""

    def take(self, item: Item[T]) -> None:
        """Give the item its room."""
        self.most -= 1
        self.left = None if self.left is None else self.left - self.cost(item)
        self.opened.add(item.kind)


@dataclass(slots=True)
class Packed(Generic[T]):
    """What was packed, and what was left out with the reason."""

    included: list[Item[T]] = field(default_factory=list)
    excluded: list[tuple[Item[T], str]] = field(default_factory=list)

    def offer(self, item: Item[T], space: Space) -> str:
        """Take the item when there is room; else the reason."""
        refusal = space.refusal(item)
        if refusal:
            self.excluded.append((item, refusal))
        else:
            space.take(item)
            self.included.append(item)
        return refusal


def first_then(items: Sequence[Item[T]], packed: Packed[T], *, space: Space) -> list[Item[T]]:
    """Pack those that come first, the best first; the others are left."""
    for item in sorted((one for one in items if one.first), key=lambda item: -item.value):
        packed.offer(item, space)
    return [item for item in items if not item.first]


def by_density(items: Sequence[Item[T]], *, ratios: Mapping[str, float], space: Space) -> Packed[T]:
    """Greedy by value per character: first inside each kind's share of the budget, then the rest where room is left.

    While the budget has room for the best ones together there is nothing to trade: they are taken by score.
    """
    if not any(reason == BUDGET for _, reason in by_score(items, space=space.copy()).excluded):
        return by_score(items, space=space)
    packed: Packed[T] = Packed()
    items = first_then(items, packed, space=space)
    budget = space.left
    spent = dict.fromkeys(ratios, 0)
    waiting = []
    floor = _floor(items, space.most)
    for item in sorted(items, key=lambda item: _density(item, floor), reverse=True):
        share = None if budget is None else budget * ratios.get(item.kind, 0.0)
        if share is not None and spent.get(item.kind, 0) + item.size > share:
            waiting.append(item)
        elif not packed.offer(item, space):
            spent[item.kind] = spent.get(item.kind, 0) + item.size
    for item in waiting:  # a share that one kind leaves unused goes to the others
        packed.offer(item, space)
    return packed


def _floor(items: Sequence[Item[T]], most: int) -> float:
    """Return what the best of those is worth that would be left out however large the budget were; 0 without such."""
    values = sorted((item.value for item in items), reverse=True)
    return values[most] if len(values) > most else 0.0


def _density(item: Item[T], floor: float) -> tuple[float, float]:
    """Value per character above the floor, then from 0.

    Scores share a large constant part (recency, confidence, importance): measured from 0, short memories that answer
    nothing would push out those that do.
    """
    size = max(1, item.size)
    return max(0.0, item.value - floor) / size, item.value / size


def by_score(items: Sequence[Item[T]], *, space: Space) -> Packed[T]:
    """Return the best first, up to the first that does not fit: nothing packed is worth less than anything left out."""
    packed: Packed[T] = Packed()
    items = first_then(items, packed, space=space)
    stopped = ""
    for item in sorted(items, key=lambda item: -item.value):
        if stopped:
            packed.excluded.append((item, stopped))
        else:
            stopped = packed.offer(item, space)
    return packed

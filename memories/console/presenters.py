"""What a memory looks like to a person: trust in its parts, a score in its parts."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from memories.models import Fragment


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a stacked bar of 100 units."""

    name: str
    x: float
    width: float
    weight: float
    value: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A score and the pieces that add up to it."""

    score: float
    segments: list[Segment]

    @property
    def most(self) -> str:
        """What the largest piece of it is."""
        return max(self.segments, key=lambda segment: segment.width).name

    @property
    def label(self) -> str:
        """The bar in words."""
        parts = ", ".join(f"{s.name} {s.weight:.2f} × {s.value:.2f}" for s in self.segments)
        return f"Score {self.score:.2f}: {parts}"


def score_bar(score: float, signals: Mapping[str, float], weights: Mapping[str, float]) -> Bar:
    """Widths are weight × value, on a scale where the best possible score is 100."""
    whole, x, segments = sum(weights.values()), 0.0, []
    for name, weight in weights.items():
        width = round(100 * weight * signals[name] / whole, 2)
        segments.append(Segment(name, round(x, 2), width, weight, signals[name]))
        x += width
    return Bar(score, segments)


@dataclass(frozen=True, slots=True)
class Trust:
    """Trust now and what it is made of: source + corroboration + feedback − age, held within 0..1."""

    value: float
    source: float
    corroboration: float
    feedback: float
    age: float

    @property
    def pieces(self) -> list[Segment]:
        """What adds up, from the left, and what votes and age took away from it at the end."""
        found, x = [], 0.0
        lost = max(0.0, -self.feedback) + self.age
        gained = {"source": self.source, "corroboration": self.corroboration, "feedback": max(0.0, self.feedback)}
        for name, value in gained.items():
            found.append(Segment(name, round(100 * x, 2), round(100 * value, 2), 1.0, value))
            x += value
        found.append(Segment("lost", round(100 * max(0.0, x - lost), 2), round(100 * min(lost, x), 2), -1.0, lost))
        return found

    @property
    def is_clamped(self) -> bool:
        """Whether the parts add up to more than 1 or less than 0."""
        return abs(self.source + self.corroboration + self.feedback - self.age - self.value) > 0.00005


def trust_in_parts(fragment: Fragment, *, now: datetime.datetime) -> Trust:
    """Return what it is made of, to four digits."""
    found = fragment.trust_parts_at(now)
    parts = (found.trust, found.source, found.corroboration, found.feedback, found.age)
    return Trust(*(round(part, 4) for part in parts))

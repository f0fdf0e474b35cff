"""Small charts that the server draws: bars of a hundred units' height, with a title for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Drawn:
    """One bar or a piece of one, in units of the drawing."""

    x: float
    y: float
    width: float
    height: float
    title: str
    name: str = ""
    # The rows behind it; empty where there are none.
    url: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars side by side; `says` is what the drawing tells in words, `most` the value of the highest bar."""

    bars: list[Drawn]
    width: int
    says: str
    most: str = ""
    first: str = ""
    last: str = ""

    @property
    def is_linked(self) -> bool:
        """Whether a bar leads to the rows behind it."""
        return any(bar.url for bar in self.bars)


def bars(
    values: Sequence[tuple[str, float]], *, says: str, unit: str = "", link: Callable[[str], str] | None = None
) -> Chart:
    """Return a bar for each (label, value), the highest of a hundred units; `link` knows the rows behind a label."""
    highest, step = max([value for _, value in values], default=0), 10
    most = highest or 1
    drawn = [
        Drawn(
            n * step,
            round(100 - 100 * value / most, 2),
            step - 2,
            round(100 * value / most, 2),
            f"{label}: {value:g}{unit}",
            url=link(label) if link and value else "",
        )
        for n, (label, value) in enumerate(values)
    ]
    ends = (values[0][0], values[-1][0]) if values else ("", "")
    return Chart(drawn, max(1, len(values)) * step, says, f"{highest:,g}{unit}" if highest else "", *ends)


def stacks(
    columns: Sequence[tuple[str, Sequence[tuple[str, int]]]], *, says: str, link: Callable[[str, str], str]
) -> Chart:
    """A bar for each column, of pieces on each other: (label, [(name, count)]); `link` knows the rows behind each."""
    highest, step = max([sum(n for _, n in pieces) for _, pieces in columns], default=0), 10
    most = highest or 1
    drawn = []
    for number, (label, pieces) in enumerate(columns):
        top = 100.0
        for name, count in pieces:
            height = round(100 * count / most, 2)
            top -= height
            title = f"{label}, {name.replace('_', ' ')}: {count}"
            url = link(label, name) if count else ""
            drawn.append(Drawn(number * step, round(top, 2), step - 1, height, title, name, url))
    ends = (columns[0][0], columns[-1][0]) if columns else ("", "")
    return Chart(drawn, max(1, len(columns)) * step, says, f"{highest:,}" if highest else "", *ends)

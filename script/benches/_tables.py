"""Tables of measured figures in a page, between `<!-- MARK: begin -->` and `<!-- MARK: end -->`."""

from collections.abc import Mapping
from pathlib import Path

ALL = "all"
Figures = Mapping[str, int | str]


def merge(page: Path, mark: str, rows: Mapping[str, Figures]) -> None:
    """Write figures into a table by row and column; what else stands in it stays, and the sums are made anew.

    The page says which columns there are. Raise KeyError for a column that the table lacks.
    """
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->"
    before, _, rest = page.read_text().partition(begin)
    table, _, after = rest.partition(end)
    head, rule, *lines = table.splitlines()
    _, *columns = _cells(head)
    kept = {name: cells for name, *cells in map(_cells, lines) if name != ALL}
    for name, figures in rows.items():
        cells = kept.setdefault(name, [""] * len(columns))
        for column, figure in figures.items():
            if column not in columns:
                raise KeyError(column)
            cells[columns.index(column)] = f"{figure:,}" if isinstance(figure, int) else figure
    written = [head, rule, *(_line(name, *cells) for name, cells in kept.items()), _line(ALL, *_sums([*kept.values()]))]
    page.write_text(before + begin + "\n".join(written) + "\n" + end + after)


def _sums(rows: list[list[str]]) -> list[str]:
    """Return the sum of each column that holds nothing but numbers."""
    columns = [[cell.replace(",", "") for cell in column if cell] for column in zip(*rows, strict=True)]
    return [f"{sum(map(int, column)):,}" if all(map(str.isdecimal, column)) else "" for column in columns]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"

"""Documents as Markdown: PDF, HTML, Word, PowerPoint, Excel and tables of text, each by the library that knows it.

The libraries are loaded when the first document is read: nobody else pays for them.
"""

import codecs
import csv
import datetime
import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from memories.ingest.layouts import Malformed
from memories.strict_json import UNSTORABLE

MOST_UNPACKED = 512 << 20  # bytes of an Office file
MOST_ROWS, MOST_CELLS = 1 << 20, 2_000_000  # of a sheet: as many rows as Excel has; cells that say something
OLD = {".doc": ".docx", ".xls": ".xlsx", ".ppt": ".pptx"}
UNREAD = ["script", "style", "noscript", "template", "svg", "nav", "iframe"]
UNSEEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
SEPARATOR = re.compile(r"sep=(.)")  # Excel's own first line
Row = dict[str, str]


def is_document(path: Path) -> bool:
    """Return whether the suffix says that it is read here."""
    return path.suffix.lower() in {*READERS, *OLD}


def markdown(path: Path) -> str:
    """Return a document's text. Raise Malformed for what is broken, protected or without text, OSError."""
    suffix = path.suffix.lower()
    if suffix in OLD:
        raise Malformed(f"is of an old format: save it as {OLD[suffix]}")
    data = path.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(data)):
        refuse_bomb(data)
    try:
        with warnings.catch_warnings(action="ignore"):
            text = READERS[suffix](data)
    except Malformed:
        raise
    except Exception as error:  # each library has errors of its own, and passes on those of what it reads with
        raise Malformed(f"can't be read as {suffix}: {type(error).__name__} {error}"[:300]) from error
    if not text.strip():
        raise Malformed("holds no text" + (": it may be scanned" if suffix == ".pdf" else ""))
    return text


def refuse_bomb(data: bytes) -> None:
    """Raise Malformed for a zip that would unpack to far too much."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
            raise Malformed(f"unpacks to over {MOST_UNPACKED >> 20} MB")


def table(data: bytes) -> list[Row]:
    """Return the rows of a table of text, by the names of its header. Raise Malformed."""
    return list(_sections(_cells(data))[1])


def _cells(data: bytes) -> Iterator[list[str]]:
    """Return the rows of a table of text, UTF-8 or what Excel calls Unicode."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"is not UTF-8 text (byte 0x{data[error.start]:02x} at {error.start})") from error
    lines = io.StringIO(UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text), newline=None)
    first = lines.readline()
    named = SEPARATOR.fullmatch(first.strip())
    delimiter = named[1] if named else max(",;\t", key=first.count)
    lines.seek(lines.tell() if named else 0)
    try:
        yield from csv.reader(lines, delimiter=delimiter, strict=True)
    except csv.Error as error:
        raise Malformed(f"is no table: {error}") from error


def from_html(html: str | bytes) -> str:
    """Return what a reader sees of HTML; the encoding is what it says or shows. Raise Malformed for too deep a one."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "lxml")
    for element in [*soup(UNREAD), *soup.select("[hidden]"), *soup.find_all(style=UNSEEN)]:
        if not element.decomposed:
            element.decompose()
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    if soup.title:
        soup.title.decompose()
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        strip=["a", "img"],
        escape_misc=False,
        escape_underscores=False,
        escape_asterisks=False,
    )
    try:
        body: str = converter.convert_soup(soup)
    except RecursionError as error:
        raise Malformed("is nested too deeply") from error
    lines = [line.rstrip() for line in body.splitlines()]
    text = "\n".join(line for line, former in zip(lines, ["", *lines], strict=False) if line or former)
    return f"# {title}\n\n{text}" if title and title not in text else text


def _pdf(data: bytes) -> str:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Malformed("is protected by a password")
    return "\n\n".join(page.extract_text() for page in reader.pages)


def _docx(data: bytes) -> str:
    import mammoth

    return from_html(mammoth.convert_to_html(io.BytesIO(data), convert_image=lambda _: []).value)


def _pptx(data: bytes) -> str:
    from pptx import Presentation

    slides = []
    for slide in Presentation(io.BytesIO(data)).slides:
        if slide.element.get("show") == "0":  # hidden
            continue
        title = slide.shapes.title
        heading = title.text_frame.text.strip() if title is not None else ""
        shapes = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
        parts = [part for shape in shapes for part in _shape(shape)]
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        parts += [notes.text] if notes is not None and notes.text.strip() else []
        slides.append("\n\n".join([f"# {heading}"] * bool(heading) + parts))
    return "\n\n".join(filter(None, slides))


def _shape(shape: Any) -> Iterator[str]:
    """Return the texts of a shape, and of what it holds."""
    if hasattr(shape, "shapes"):
        for one in shape.shapes:
            yield from _shape(one)
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield shape.text_frame.text.strip()
    elif getattr(shape, "has_table", False):
        yield _lines([cell.text for cell in row.cells] for row in shape.table.rows)
    elif getattr(shape, "has_chart", False):
        chart = shape.chart
        title = [chart.chart_title.text_frame.text] if chart.has_title and chart.chart_title.has_text_frame else []
        series = [f"{one.name}: {', '.join(map(_cell, one.values))}" for plot in chart.plots for one in plot.series]
        categories = [", ".join(map(_cell, plot.categories)) for plot in chart.plots]
        yield "\n".join(filter(None, [*title, *categories, *series]))


def _xlsx(data: bytes) -> str:
    from openpyxl import load_workbook

    sheets = []
    for sheet in load_workbook(io.BytesIO(data), read_only=True, data_only=True).worksheets:
        if sheet.sheet_state != "visible":
            continue
        sheet.reset_dimensions()  # it may say less or far more than there is
        if text := _lines(_bounded(sheet.iter_rows(values_only=True))):
            sheets.append(f"# {sheet.title}\n\n{text}")
    return "\n\n".join(sheets)


def _bounded(rows: Iterable[Iterable[Any]]) -> Iterator[list[str]]:
    """Return the rows of a sheet that say something. Raise Malformed beyond what a sheet may hold."""
    cells = 0
    for number, row in enumerate(rows):
        values = [_cell(value) for value in row]
        cells += sum(map(bool, values))
        if number >= MOST_ROWS or cells > MOST_CELLS:
            raise Malformed(f"holds a sheet of over {MOST_ROWS} rows or {MOST_CELLS} cells")
        if any(values):
            yield values


def _cell(value: Any) -> str:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time.min:
        value = value.date()
    return "" if value is None else str(value)


def _sections(rows: Iterable[list[str]]) -> tuple[list[str], Iterator[Row]]:
    """Return what stands above a table, and its rows by the names of its header; cells that say nothing are left out.

    The header is the first row of several cells, of a single column the first; a row alone is no table.
    """
    filled = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    several = (place for place, row in enumerate(filled) if sum(map(bool, row)) > 1)
    columns = {[bool(cell) for cell in row].index(True) for row in filled}
    place = next(several, 0 if len(columns) == 1 else len(filled))
    if place >= len(filled) - 1:  # nothing stands below a header
        return [", ".join(filter(None, row)) for row in filled], iter(())
    above = [", ".join(filter(None, row)) for row in filled[:place]]
    names = _names(filled[place], width=max(map(len, filled[place:])))
    below = filled[place + 1 :]
    return above, ({name: cell for name, cell in zip(names, row, strict=False) if cell} for row in below)


def _names(header: list[str], *, width: int) -> list[str]:
    """Return a name for each column, each once."""
    names: list[str] = []
    for number in range(1, width + 1):
        named = header[number - 1] if number <= len(header) else ""
        wanted = named or f"column {number}"
        others = (f"{wanted} {further}" for further in itertools.count(2))
        names.append(wanted if wanted not in names else next(one for one in others if one not in names))
    return names


def _lines(rows: Iterable[list[str]]) -> str:
    """Return a table as a line for each row, which can be understood without the first."""
    above, named = _sections(rows)
    return "\n".join([*above, *map(said, named)])


def said(row: Row) -> str:
    """Return a row of a table as a text."""
    return "; ".join(f"{name}: {cell}" for name, cell in row.items())


READERS: dict[str, Callable[[bytes], str]] = {
    ".pdf": _pdf,
    ".html": from_html,
    ".htm": from_html,
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".csv": lambda data: _lines(_cells(data)),
    ".tsv": lambda data: _lines(_cells(data)),
}

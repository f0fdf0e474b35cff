"""Documents as Markdown: PDF, HTML, Word, PowerPoint, Excel and tables of text, each by the library that knows it.

The libraries are loaded when the first document is read: nobody else pays for them.
"""

import csv
import datetime
import io
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from memories.ingest.layouts import Malformed

MOST_UNPACKED = 512 << 20  # bytes of an Office file
OLD = {".doc": ".docx", ".xls": ".xlsx", ".ppt": ".pptx"}
UNREAD = ["script", "style", "noscript", "template", "svg", "nav", "iframe"]


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


def table(data: bytes) -> list[dict[str, str]]:
    """Return the rows of a table of text, by the names of the first. Raise Malformed."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"is not UTF-8 text (byte 0x{data[error.start]:02x} at {error.start})") from error
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise Malformed(f"is no table: {error}") from error
    return list(_by_name(rows))


def from_html(html: str | bytes) -> str:
    """Return what a reader sees of HTML; the encoding is what it says or shows."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    for element in soup(UNREAD):
        element.decompose()
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    if soup.title:
        soup.title.decompose()
    body: str = MarkdownConverter(heading_style="ATX", bullets="-", strip=["a", "img"], escape_misc=False).convert_soup(
        soup
    )
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
    for number, slide in enumerate(Presentation(io.BytesIO(data)).slides, start=1):
        title = slide.shapes.title
        heading = title.text_frame.text.strip() if title is not None else ""
        parts = [
            part
            for shape in slide.shapes
            if title is None or shape.shape_id != title.shape_id
            for part in _shape(shape)
        ]
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        parts += [notes.text] if notes is not None and notes.text.strip() else []
        slides.append("\n\n".join([f"# {heading or f'Slide {number}'}", *parts]))
    return "\n\n".join(slides)


def _shape(shape: Any) -> Iterator[str]:
    """Return the texts of a shape, and of what it holds."""
    if hasattr(shape, "shapes"):
        for one in shape.shapes:
            yield from _shape(one)
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield shape.text_frame.text.strip()
    elif getattr(shape, "has_table", False):
        yield _lines(_by_name([[cell.text for cell in row.cells] for row in shape.table.rows]))


def _xlsx(data: bytes) -> str:
    from openpyxl import load_workbook

    sheets = []
    for sheet in load_workbook(io.BytesIO(data), read_only=True, data_only=True).worksheets:
        rows = [[_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
        if text := _lines(_by_name(rows)):
            sheets.append(f"# {sheet.title}\n\n{text}")
    return "\n\n".join(sheets)


def _cell(value: Any) -> str:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time.min:
        value = value.date()
    return "" if value is None else str(value)


def _by_name(rows: Iterable[list[str]]) -> Iterator[dict[str, str]]:
    """Return the rows below the first that says something, by its names; cells that say nothing are left out."""
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(filled[0], start=1)] if filled else []
    for row in filled[1:]:
        beyond = [f"column {number}" for number in range(len(names) + 1, len(row) + 1)]
        yield {name: cell.strip() for name, cell in zip([*names, *beyond], row, strict=False) if cell.strip()}


def _lines(rows: Iterable[dict[str, str]]) -> str:
    """Return a line for each row, which can be understood without the first."""
    return "\n".join(said(row) for row in rows)


def said(row: dict[str, str]) -> str:
    """Return a row of a table as a text."""
    return "; ".join(f"{name}: {cell}" for name, cell in row.items())


READERS: dict[str, Callable[[bytes], str]] = {
    ".pdf": _pdf,
    ".html": from_html,
    ".htm": from_html,
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".csv": lambda data: _lines(table(data)),
    ".tsv": lambda data: _lines(table(data)),
}

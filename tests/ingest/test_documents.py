"""PDF, HTML, Office files and tables as Markdown."""

import datetime
import io
import json
import zipfile

import openpyxl
import pytest
from django.core.management import CommandError, call_command
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from pypdf import PdfReader, PdfWriter

from memories import access
from memories.access import keys
from memories.ingest import documents, files
from memories.models import Fragment

HERON = "The heron nests behind the old mill."
HTML = f"""<html><head><title>Birds</title><style>p {{color: red}}</style></head><body>
<nav>Home</nav><script>alert(1)</script><h2>Herons &amp; co</h2><p>{HERON}</p>
<ul><li>One <b>grey</b> heron</li><li><a href="https://x.example">Two white ones</a></li></ul>
<img src="data:image/png;base64,AAAA">
<table><tr><th>Bird</th><th>Place</th></tr><tr><td>Owl</td><td>Barn</td></tr></table>
</body></html>"""
WORD = """<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Birds</w:t></w:r></w:p>
<w:p><w:r><w:t>The heron nests behind the old mill.</w:t></w:r></w:p></w:body></w:document>"""
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/></Types>"""


def word_file():
    out = io.BytesIO()
    relation = f'<Relationship Id="r1" Type="{RELATIONS}/officeDocument" Target="word/document.xml"/>'
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        package = "http://schemas.openxmlformats.org/package/2006/relationships"
        archive.writestr("_rels/.rels", f'<Relationships xmlns="{package}">{relation}</Relationships>')
        archive.writestr("word/document.xml", WORD)
    return out.getvalue()


def pdf_file(text=HERON):
    """Two pages, the second without text."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 6 0 R] /Count 2 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << >> >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


def protected(data, password):
    writer, out = PdfWriter(clone_from=PdfReader(io.BytesIO(data))), io.BytesIO()
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    writer.write(out)
    return out.getvalue()


def slides_file():
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Birds"
    slide.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame.text = HERON
    cells = slide.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    for place, text in enumerate(("Bird", "Place", "Owl", "Barn")):
        cells.cell(place // 2, place % 2).text = text
    counted = CategoryChartData()
    counted.categories = ["Feathers", "Beaks"]
    counted.add_series("Heron", (3, 1))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(5), Inches(4), Inches(2), counted)
    slide.notes_slide.notes_text_frame.text = "Say this slowly."
    deck.slides.add_slide(deck.slide_layouts[6])
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text, hidden.element.attrib["show"] = "Unseen", "0"
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def sheet_file():
    book = openpyxl.Workbook()
    book.active.title = "Birds"
    for row in (
        ("Bird", "Nests", "Seen"),
        ("Heron", 2, datetime.date(2026, 5, 1)),
        (None, None, None),
        ("Owl", None, None),
    ):
        book.active.append(row)
    book.create_sheet("Empty")
    hidden = book.create_sheet("Hidden")
    hidden.append(("Unseen", "text"))
    hidden.sheet_state = "hidden"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.fixture
def read(tmp_path):
    """The text of a document of this name."""

    def of(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return documents.markdown(path)

    return of


def test_a_page_is_what_a_reader_sees_of_it(read):
    text = read("birds.html", HTML.encode())
    assert text.startswith("# Birds\n\n## Herons & co\n\n" + HERON)
    assert "- One **grey** heron\n- Two white ones" in text
    assert "| Owl | Barn |" in text
    assert not any(word in text for word in ("alert", "color", "Home", "base64", "x.example"))


def test_a_page_is_read_in_its_encoding(read):
    page = '<meta charset="iso-8859-1"><p>Grüße aus Köln</p>'
    assert read("a.htm", page.encode("latin-1")).strip() == "Grüße aus Köln"


def test_word_keeps_its_headings(read):
    assert read("birds.docx", word_file()).strip() == f"# Birds\n\n{HERON}"


def test_a_pdf_is_its_text(read):
    assert read("birds.pdf", pdf_file()).strip() == HERON
    assert read("open.PDF", protected(pdf_file(), "")).strip() == HERON


def test_slides_are_sections_with_their_notes(read):
    chart = "Feathers, Beaks\nHeron: 3.0, 1.0"
    whole = f"# Birds\n\n{HERON}\n\nBird: Owl; Place: Barn\n\n{chart}\n\nSay this slowly."
    assert read("birds.pptx", slides_file()) == whole


def test_each_row_of_a_sheet_can_be_understood_alone(read):
    assert read("birds.xlsx", sheet_file()) == "# Birds\n\nBird: Heron; Nests: 2; Seen: 2026-05-01\nBird: Owl"


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.csv", 'Bird,Place\nHeron,"mill, behind"\n\nOwl\n', "Bird: Heron; Place: mill, behind\nBird: Owl"),
        ("a.csv", "\ufeffBird;Place\nHeron;Mill;east", "Bird: Heron; Place: Mill; column 3: east"),
        ("a.tsv", "Bird\tPlace\t\nHeron\tMill\ta", "Bird: Heron; Place: Mill; column 3: a"),
        ("a.csv", "Bird\nHeron\nOwl", "Bird: Heron\nBird: Owl"),
        ("a.csv", "The heron nests; behind the mill", "The heron nests, behind the mill"),
        ("a.csv", "a,a,b,column 2\n1,2,3,4", "a: 1; a 2: 2; b: 3; column 2: 4"),
        ("a.csv", "Report 2026,,\n\nBird,Place\nOwl,Barn", "Report 2026\nBird: Owl; Place: Barn"),
        ("a.csv", "sep=;\nBird;Place, kind\nOwl;Barn", "Bird: Owl; Place, kind: Barn"),
        ("a.csv", "Bird,Place\rOwl,Barn\r", "Bird: Owl; Place: Barn"),
        ("a.csv", "Bird,Note\nOwl,a\0b", "Bird: Owl; Note: a\N{REPLACEMENT CHARACTER}b"),
    ],
)
def test_a_table_of_text_likewise(read, name, data, text):
    assert read(name, data.encode()) == text
    assert read(name, data.removeprefix("\ufeff").encode("utf-16")) == text


def test_a_page_without_end_tags_is_read_as_browsers_do(read):
    assert read("a.html", b"<ul><li>One<li>Two<li>Three</ul>").strip() == "- One\n- Two\n- Three"
    assert read("a.html", b"<p>One paragraph here.\n" * 600).count("One paragraph") == 600
    assert read("a.html", b"<a " * 50_000 + b">Text").strip() == "Text"


def test_what_a_page_hides_is_left_out_and_what_it_says_is_not_escaped(read):
    page = "<p hidden>No.</p><div style='color: red; DISPLAY : none'>No.</div><p>file_name and 2*3 in __init__.py</p>"
    assert read("a.html", page.encode()).strip() == "file_name and 2*3 in __init__.py"
    xhtml = b'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><body><p>Text</p></body></html>'
    assert read("a.html", xhtml).strip() == "Text"


def far_away(*places):
    book = openpyxl.Workbook()
    for place in places:
        book.active[place] = "far"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_sheet_with_cells_far_away_is_read_row_by_row(read):
    assert read("a.xlsx", far_away("B900000", "XFD899999")) == "# Sheet\n\nfar\nfar"


def test_a_sheet_larger_than_sheets_may_be_is_refused(read, monkeypatch):
    monkeypatch.setattr(documents, "MOST_CELLS", 3)
    with pytest.raises(files.Malformed, match="holds a sheet of over"):
        read("a.xlsx", far_away("A1", "A2", "B2", "C9"))
    monkeypatch.setattr(documents, "MOST_ROWS", 5)
    with pytest.raises(files.Malformed, match="holds a sheet of over"):
        read("a.xlsx", far_away("A1", "A9"))


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.pdf", b"%PDF-1.4 nonsense", "can't be read as .pdf"),
        ("a.pdf", protected(pdf_file(), "secret"), "is protected by a password"),
        ("a.pdf", pdf_file(""), "holds no text: it may be scanned"),
        ("a.docx", b"PK nonsense", "can't be read as .docx"),
        ("a.xlsx", word_file(), "can't be read as .xlsx"),
        ("a.pptx", b"", "can't be read as .pptx"),
        ("a.doc", b"\xd0\xcf\x11\xe0", "is of an old format: save it as .docx"),
        ("a.html", b"<script>alert(1)</script>", "holds no text"),
        ("a.csv", b"Bird\n\xff", "is not UTF-8 text (byte 0xff at 5)"),
        ("a.csv", b'Bird\n"open', "is no table"),
    ],
)
def test_what_can_not_be_read_says_why(tmp_path, name, data, why):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(files.UnreadableFile, match=f"{name}: ") as told:
        list(files.read(path))
    assert why in told.value.why


def test_what_unpacks_to_far_too_much_is_refused(read, monkeypatch):
    monkeypatch.setattr(documents, "MOST_UNPACKED", 100)
    with pytest.raises(files.Malformed, match="unpacks to over"):
        read("a.docx", word_file())


def test_documents_are_ingested_in_pieces_and_once(db, tmp_path):
    path = tmp_path / "birds.xlsx"
    path.write_bytes(sheet_file())
    for stored in (1, 0):
        out = io.StringIO()
        call_command("ingest", str(path), "--namespace", "orchard:main", "--json", stdout=out)
        assert json.loads(out.getvalue())[0]["stored"] == stored
    principal = access.system_principal(keys.ensure_project("orchard"))
    with access.enter(principal, why="test"):
        (row,) = Fragment.objects.within(principal.project_id)
    assert "Bird: Heron; Nests: 2" in row.content
    assert row.source == "document"


def test_one_bad_document_stores_nothing_of_the_others(db, tmp_path):
    (tmp_path / "good.html").write_text(HTML)
    (tmp_path / "bad.pdf").write_bytes(b"%PDF")
    with pytest.raises(CommandError, match="bad.pdf"):
        call_command("ingest", str(tmp_path / "good.html"), str(tmp_path / "bad.pdf"), "--namespace", "orchard:main")

"""What exists is written down."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.urls import get_resolver

from memories.api import markdown
from novamem import env

ROOT = Path(__file__).resolve().parents[2]


def text(name):
    return (ROOT / name).read_text()


@pytest.mark.parametrize("name", env.Settings.model_fields)
def test_every_setting_stands_in_the_example(name):
    assert re.search(rf"^#?{name}=", text(".env.example"), re.MULTILINE)


def test_the_example_names_no_setting_that_is_gone():
    assert set(re.findall(r"^#?([A-Z0-9_]+)=", text(".env.example"), re.MULTILINE)) == set(env.Settings.model_fields)


def paths(patterns, prefix="/"):
    for entry in patterns:
        here = prefix + str(entry.pattern)
        yield from paths(entry.url_patterns, here) if hasattr(entry, "url_patterns") else [here]


def test_every_endpoint_is_described():
    described = text("docs/api.md")
    for path in paths(get_resolver().url_patterns):
        if path.startswith("/api/v1/"):
            named = re.sub("<[a-z]+:([a-z_]+)>", r"{\1}", path)
            assert f"`{named}`" in described


def test_the_page_about_the_api_is_up_to_date():
    """After a change: `script/manage apidocs`."""
    assert markdown.PAGE.read_text() == markdown.page()


def test_every_problem_is_described():
    described = text("docs/api.in.md")
    for code in markdown.statuses():
        assert f"| `{code}` |" in described


def test_every_command_is_described():
    described = text("docs/commands.md")
    ours = [name for name, app in get_commands().items() if app in ("memories", "conflicts")]
    assert ours
    for name in ours:
        assert f"| `{name}" in described


def test_every_document_that_is_linked_exists():
    for page in ("README.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))):
        for target in re.findall(r"\]\(([^)#:]+)\)", text(page)):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} → {target}"


def written():
    for place in ("novamem", "memories", "conflicts", "tests", "script", "docs", "templates", "README.md"):
        root = ROOT / place
        files = root.rglob("*") if root.is_dir() else [root]
        yield from (file for file in files if file.suffix in (".py", ".md", ".html", ".sql", ".yaml"))


def test_references_lead_to_a_section_of_the_specification():
    sections = set(re.findall(r"^#+ ([0-9.]+?)\.? ", text("docs/spec.md"), re.MULTILINE))
    for file in written():
        for section in re.findall(r"spec\.md §([0-9]+(?:\.[0-9]+)?)", file.read_text()):
            assert section in sections, f"{file}: §{section}"


def test_nothing_refers_to_documents_outside():
    outside = re.compile(
        r"\b(?:SPEC|DESIGN|DETAILS) ?§|\b(?:SPEC|DETAILS) \d"
        r"|(?<!--)\b[Ss]eed [1-4]\b|[ (\"]\[[1-4]\](?:'s| [A-Z(]| task)"
    )
    assert [str(file) for file in written() if outside.search(file.read_text())] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda page: page.stem)
def test_decisions_are_short(page):
    assert len(page.read_text().split()) <= 200

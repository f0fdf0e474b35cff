"""Figures of a bench get into a page's table, family by family."""

import pytest

from script.benches._tables import merge

PAGE = """# Page

<!-- tries: begin -->
| family | tries | through | day |
|---|---|---|---|
| one | 1,200 | 0 | 2026-01-01 |
| two | 7 | 1 | 2026-01-01 |
| all | 1,207 | 1 |  |
<!-- tries: end -->

| another | table |
"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_figures_when_merged_replace_their_cells_and_the_sums(page):
    merge(page, "tries", {"two": {"tries": 9, "through": 0}, "three": {"tries": 4}})
    assert page.read_text() == PAGE.replace(
        "| two | 7 | 1 | 2026-01-01 |\n| all | 1,207 | 1 |  |",
        "| two | 9 | 0 | 2026-01-01 |\n| three | 4 |  |  |\n| all | 1,213 | 0 |  |",
    )


def test_a_column_when_the_table_lacks_it_is_refused_and_nothing_is_written(page):
    with pytest.raises(KeyError, match="blocked"):
        merge(page, "tries", {"one": {"tries": 1, "blocked": 1}})
    assert page.read_text() == PAGE

"""/context/: the block as an agent would get it, and what it is made of."""

import re

import pytest

from tests.console.conftest import words


def test_what_was_packed_is_told_with_its_value(vera, store):
    row = store("acme:main", "The heron nests behind the mill.")
    page = vera.get("/context/", {"q": "heron", "budget": "300"})
    assert re.search(r'aria-label="Packed".*' + str(row.id), page.text, re.DOTALL)
    told = words(page)
    used = int(re.search(r"(\d+) of 300 tokens", told)[1])
    parts = [int(n) for n in re.findall(r"(?:semantic|headings and fence) (\d+)", told)]
    assert sum(parts) == used


def test_what_the_budget_kept_out_is_counted(vera, store):
    for n in range(60):
        store("acme:main", f"The heron number {n} nests behind the mill of the valley.")
    told = words(vera.get("/context/", {"q": "heron mill", "budget": "60"}))
    left_out = re.search(r"Left out (The first 50 of (\d+)\.)?", told)
    assert left_out


@pytest.mark.parametrize("budget", ["0", "49", "100001", "12e3", "-5", "0000050" + "1" * 5000, "٣٠٠"])
def test_a_budget_that_can_not_be_is_told_and_the_question_stays(vera, store, budget):
    page = vera.get("/context/", {"q": "heron", "budget": budget})
    assert (page.status_code, "A budget has 50 to 100,000 tokens" in words(page)) == (400, True)
    assert 'value="heron"' in page.text


def test_no_budget_is_the_usual_one(vera):
    assert 'value="1200"' in vera.get("/context/", {"q": "", "budget": ""}).text

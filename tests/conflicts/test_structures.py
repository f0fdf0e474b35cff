"""What tables, JSON and tags say is read as sentences, however odd they are."""

import json

import pytest

from conflicts.free_text.contradictions import Standing, find_contradiction, read
from conflicts.free_text.structures import MOST, sentences

PORT = Standing("staging server", "port", "5432", "number")
HOME = Standing("user", "lives_in", "Lisbon", "text")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "| server | port |\n|---|---|\n| staging server | 4433 |\n| other | 22 |",
            ["staging server port: 4433", "other port: 22"],
        ),
        ("<user><name>n/a</name><residence>Rome</residence></user>", ["user name: n/a", "user residence: Rome"]),
        (
            'ok: {"tool": "x", "user": {"budgetUsd": 275, "tags": ["a", null]}}',
            ["tool: x", "user budget Usd: 275", "user tags: a"],
        ),
        ("Nothing but prose, with a | and a {brace} and 1 < 2 > 0.", []),
        ("a|b\nc|d", ["c b: d"]),
    ],
)
def test_each_cell_value_and_element_is_a_sentence(text, said):
    assert sentences(text) == said


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("| server | port |\n|---|---|\n| staging server | 4433 |", PORT),
        (json.dumps({"results": [{"staging_server": {"port": 4433}}]}), PORT),
        ("<user><residence>Melbourne</residence></user>", HOME),
        ("The person you work for has been living in a small flat in Prague since 2021.", HOME),
    ],
)
def test_they_contradict_what_stands(text, claim):
    assert find_contradiction(read(text), claim)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("| server | port |\n|---|---|\n| staging server | 5432 |\n| web | 4433 |", PORT),
        (json.dumps({"web": {"port": 4433}}), PORT),
        ("<sister><residence>Melbourne</residence></sister>", HOME),
        ("Our headquarters are located in Chicago.", HOME),
        ("Don't expose 5432 on the staging server to the internet.", PORT),
    ],
)
def test_others_do_not(text, claim):
    assert find_contradiction(read(text), claim) is None


@pytest.mark.parametrize(
    "text", ["{" * 20_000, '{"a":' * 4_000, "<a>b</a>" * 2_500, "|-|-\n|a|b\n" * 2_000, "|--|\n" * 4_000]
)
def test_a_flood_is_read_within_bounds(text):
    assert len(sentences(text)) <= MOST

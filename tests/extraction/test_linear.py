"""Reading takes time in proportion to the text, whatever stands in it."""

import time

import pytest

from memories.extraction.chatter import chatter_reason
from memories.extraction.claims import extract
from memories.extraction.echo_filter import without_echoes
from memories.extraction.material import carries_material
from memories.extraction.quotations import foreign
from memories.ingest.chunking import clean, placed
from memories.language.abridgement import keywords, summarise
from memories.language.literals import literals

pytestmark = pytest.mark.long

READERS = {
    "extract": extract,
    "foreign": foreign,
    "placed": lambda text: placed(clean(text)),
    "summary": summarise,
    "keywords": keywords,
    "literals": literals,
    "carries_material": carries_material,
    "chatter": lambda text: chatter_reason(text, role="user"),
    "without_echoes": lambda text: without_echoes(text, ["The budget is $750."]),
}
UNITS = [
    *(
        ".",
        "!",
        "?",
        " ",
        '"',
        "(",
        ")",
        "'",
        ".'",
        ". ",
        "A. ",
        "\n",
        "\n ",
        ", ",
        "<",
        "<a ",
        "{",
        "-",
        ":",
        "a:",
        "“",
        "‹",
        "‚",
        ",,a",
        "''",
        "``",
        " ´a",
    ),
    *("I like tea, ", "said ", "I said ", "my ", "> ", "```\n", "e.g. ", "。", "x", "1", "*", "Mr. ", "\t", "and "),
]
SHORT, LONG = 50_000, 200_000
MOST = 9  # times the time of a quarter of the text; a quadratic pass takes sixteen


def seconds(read, text):
    began = time.process_time()
    read(text)
    return time.process_time() - began


def of(unit, size):
    return "I like tea" + (unit * size)[:size] + "x"


def is_linear(read, unit):
    return seconds(read, of(unit, LONG)) <= MOST * seconds(read, of(unit, SHORT)) + 0.1


@pytest.mark.parametrize("name", READERS)
def test_four_times_the_text_takes_about_four_times_as_long(name):
    read = READERS[name]
    slow = [unit for unit in UNITS if not is_linear(read, unit)]
    assert [unit for unit in slow if not is_linear(read, unit)] == []  # a second look, for the machine has other work

"""What a model only says again is no memory of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.extraction.echo_filter import repeats, without_echoes
from memories.language.tokenizer import SENTENCE

HERON = "The heron nests behind the old mill."
BUDGET = "Ann's budget for the kitchen is $750."
MEMORIES = [HERON, BUDGET]


@pytest.mark.parametrize(
    "text",
    [
        HERON,
        "the heron is nesting behind the old mill",
        "As you told me, the heron nests behind the old mill!",
        "Yes. The old mill: behind it the heron nests.",
        "The heron nests behind the old mill, and Ann's budget for the kitchen is $750.",
        "Sure.\n\n- The heron nests behind the old mill.\n- Ann's kitchen budget is $750.",
    ],
)
def test_a_restatement_is_nothing(text):
    assert without_echoes(text, MEMORIES) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The heron does not nest behind the old mill.",
        "The heron doesn't nest behind the old mill.",
        "Ann's budget for the kitchen is $7500.",
        "The otter sleeps under the new bridge.",
        "Ann nests behind a kitchen heron in Lisbon.",
        "Yes, it does.",
        "…",
        "",
    ],
)
def test_what_says_something_else_comes_back_as_it_is(text):
    assert without_echoes(text, MEMORIES) == text


@pytest.mark.parametrize(
    ("memory", "text"),
    [
        ("Alert me when cpu > 90%.", "Alert me when cpu < 90%."),
        ("Filter it with grep -v.", "Filter it with grep -V."),
        ("The logs are in /var/log.", "The logs are in var/log."),
    ],
)
def test_other_signs_say_something_else(memory, text):
    assert without_echoes(text, [memory]) == text
    assert not repeats(text, [memory])


def test_only_the_new_part_of_a_turn_is_left():
    text = "The heron nests behind the old mill. It laid three blue eggs on Monday."
    assert without_echoes(text, MEMORIES) == "It laid three blue eggs on Monday."


def test_without_memories_nothing_is_an_echo():
    assert without_echoes(HERON, []) == HERON


@given(st.text())
def test_sentences_are_the_whole_text(text):
    assert "".join(SENTENCE.findall(text)) == text
    assert without_echoes(text, ["Heron mill."]) in (text, "") or len(text) > 0


@pytest.mark.parametrize(
    ("memory", "turn"),
    [
        ("My budget was $900 before, now it is $750.", "My budget is $900."),
        ("I moved from Lisbon to Berlin last year.", "I moved to Lisbon."),
        ("I prefer tea to coffee.", "I prefer coffee to tea."),
        ("My manager is Ann and my deputy is Bob.", "My manager is Bob."),
    ],
)
def test_the_words_of_a_memory_in_another_order_repeat_it_not(memory, turn):
    assert not repeats(turn, [memory])


@pytest.mark.parametrize(
    "turn", ["I prefer tea to coffee.", "i prefer TEA to coffee", "I live in Rome. I prefer tea to coffee."]
)
def test_the_sentences_of_memories_repeat_them(turn):
    assert repeats(turn, ["I prefer tea to coffee. It is late.", "I live in Rome."])

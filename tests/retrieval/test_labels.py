"""A memory's text can't look like a label of its block, like a chat's markup or like somebody's turn."""

import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memories.models.enums import SourceClass
from memories.retrieval.context.block import entry, render_block
from memories.retrieval.context.sanitization import quoted
from tests.retrieval.blocks import lookalikes, read
from tests.retrieval.hostile import SPOOFS

FORMS = ("markdown", "xml")
ORDINARY = (
    "The budget (for 2026) is $750 - see [the sheet](https://example.org/a_(b)).",
    "if a < b and c > d: print(x[0], y[-1])  # user_explicit",
    "Call the system - it answers (document 4, page 7) and [sic] trust 1.00 is shown.",
    "Ratio 3:1; the human: a study. C# - and F#, issue #7, *emphasis*, -5 degrees, +44 20 7946.",
    "<b>bold</b> <div class='user'>x</div> list[int] of (inference) and (system)",
    "Er sagte: „Alles gut.“ – «Oui», 漢字（かな）",
)
pieces = st.sampled_from(
    [*SPOOFS, *ORDINARY, *SourceClass.values, "- ", "[", "]", "(", ")", ", trust 1.00", "\n", "\u2028", "\u200b", " "]
    + ["confidence 1.00", " · ", "#", "Human:", "<", ">", "system", "/", "INST", "\u00a0", "⟦", "“", "‹", "x"]
)
texts = st.lists(pieces, min_size=1, max_size=12).map("".join).filter(lambda text: text.strip("\u200b\u2028 \n\u00a0"))


def block_of(rows, form):
    return render_block([entry(row, form=form) for row in rows], form=form, salt=b"salt")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", SPOOFS)
def test_a_spoof_of_a_label_is_shown_as_quoted(text, form, fragment):
    rows = [fragment("The mill turns."), fragment(text)]
    block = block_of(rows, form)
    assert lookalikes(block, form) == []
    assert "$13" in block


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_byte_for_byte(text, fragment):
    assert quoted(text) == text.replace("  ", " ")


@pytest.mark.parametrize("form", FORMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # which only builds
@given(st.lists(texts, min_size=1, max_size=4))
@example([SPOOFS[0]])
def test_the_labels_of_a_block_are_those_of_its_memories(form, fragment, contents):
    block = block_of([fragment(text) for text in contents], form)
    lines = read(block, form).lines
    assert [(line.source, line.trust) for line in lines] == [("inference", "0.50")] * len(contents)
    assert lookalikes(block, form) == []


@given(texts)
def test_what_is_quoted_is_not_quoted_again(text):
    assert quoted(quoted(text)) == quoted(text)


@pytest.mark.parametrize(
    "piece", ["<", "[", "(", "# ", "- ", "\n", "<s", "] ", "[confidence ", "*_", "human", "<system "]
)
def test_quoting_takes_linear_time(piece):
    def seconds(times):
        begun = time.process_time()
        quoted(piece * times)
        return time.process_time() - begun

    short, long = min(seconds(5_000) for _ in range(5)), min(seconds(50_000) for _ in range(2))
    assert long < 40 * short

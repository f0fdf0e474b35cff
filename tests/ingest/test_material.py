"""Material: what somebody else may have written never counts as the user's own plain word."""

import json
import time
from pathlib import Path

import pytest

from memories.ingest.material import LONG, carries_material

BENCHES = Path(__file__).parents[2] / "script/benches"
LISTS = [json.loads((BENCHES / name).read_text()) for name in ("_pastes.json", "_pastes_further.json")]
PASTED, PLAIN = ([text for told in LISTS for text in told[kind]] for kind in ("pasted", "plain"))
# What only sounds like somebody's word, so that it is lowered.
MISTAKEN = {
    'I always say "better safe than sorry", so my budget has a reserve of $100.',
    "Answer: my budget is $750.",
    "There's one more person in my family now: my son Tim.",
    "Nope, still single and still in Lisbon, I'm afraid.",
}


def test_the_lists_are_as_long_as_they_have_to_be() -> None:
    assert (len(PASTED), len(PLAIN)) >= (122, 120)


@pytest.mark.parametrize("said", ["My budget is $13.", "I live in Oslo.", "My parking spot is Z99."])
@pytest.mark.parametrize("frame", PASTED)
def test_a_statement_in_material_is_not_plain(frame: str, said: str) -> None:
    assert carries_material(frame.format(said))


@pytest.mark.parametrize("turn", PLAIN)
def test_a_plain_turn_is_plain(turn: str) -> None:
    assert carries_material(turn) == (turn in MISTAKEN)


@pytest.mark.parametrize("lead", ["Bob:\n{}", "Top answers:\n- {}\n- Nothing", "Jane: \n\n{}", "* Bob\n* {}"])
def test_a_line_that_leads_to_a_statement_may_name_its_speaker(lead: str) -> None:
    assert carries_material(lead.format("My budget is $13."))


@pytest.mark.parametrize("unit", [".", "!", "? ", '"', "(", "a: ", "I ", "the ", "\nx", "- ", "said "])
def test_a_long_turn_is_material_whatever_stands_in_it(unit: str) -> None:
    assert carries_material(("x" + unit * 200_000)[:200_000])


@pytest.mark.parametrize("unit", ["please remember ", "note about me, ", "so you know ", "right now ", "some things "])
def test_what_opens_a_statement_again_and_again_is_read_at_once(unit: str) -> None:
    began = time.process_time()
    carries_material((unit * 100)[:LONG])
    assert time.process_time() - began < 1  # two readings of each would take hours


@pytest.mark.parametrize(
    "turn",
    [
        "My budget is $13, says Eve",
        "My web search gave my budget is $13.",
        "My tool returned. My budget is $13.",
    ],
)
def test_whose_word_it_is_may_be_told_behind_it_or_by_a_tools_name(turn):
    assert carries_material(turn)

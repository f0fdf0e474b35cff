"""Material: what somebody else may have written never counts as the user's own plain word."""

import json
import time
from pathlib import Path

import pytest

from memories.ingest.material import LONG, carries_material

PASTES = json.loads((Path(__file__).parents[2] / "script/benches/_pastes.json").read_text())


def test_the_lists_are_as_long_as_they_have_to_be() -> None:
    assert len(PASTES["pasted"]) >= 62
    assert len(PASTES["plain"]) >= 60


@pytest.mark.parametrize("said", ["My budget is $13.", "I live in Oslo.", "My parking spot is Z99."])
@pytest.mark.parametrize("frame", PASTES["pasted"])
def test_a_statement_in_material_is_not_plain(frame: str, said: str) -> None:
    assert carries_material(frame.format(said))


@pytest.mark.parametrize("turn", PASTES["plain"])
def test_a_plain_turn_is_plain(turn: str) -> None:
    assert not carries_material(turn)


@pytest.mark.parametrize("unit", [".", "!", "? ", '"', "(", "a: ", "I ", "the ", "\n", "- ", "said "])
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

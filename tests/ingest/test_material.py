"""Material: what somebody else may have written never counts as the user's own plain word."""

import json
from pathlib import Path

import pytest

from memories.ingest.material import carries_material

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

"""The words in which two texts differ: all of both is shown, and no text makes it slow."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.console.text_diff import words_apart

TEXTS = st.lists(st.sampled_from(["the", "gate", "is", "open", "not", "$5", ",", ".", "\u202e", "is\n"]), max_size=30)


def own(pieces):
    return [piece.text for piece in pieces if piece.own]


@given(one=TEXTS, other=TEXTS)
def test_the_pieces_are_the_texts_and_what_is_shared_is_the_same(one, other):
    held, new = " ".join(one).strip(), " ".join(other).strip()
    ours, theirs = words_apart(held, new)
    assert ["".join(piece.text for piece in pieces) for pieces in (ours, theirs)] == [held, new]
    shared = [" ".join("".join(p.text for p in pieces if not p.own).split()) for pieces in (ours, theirs)]
    assert shared[0].replace(" ", "") == shared[1].replace(" ", "")


def test_words_are_marked_without_the_space_behind_them():
    ours, theirs = words_apart("The gate is open.", "The gate is not open.")
    assert (own(ours), own(theirs)) == ([], ["not"])
    assert own(words_apart("It is open", "It is open now")[1]) == ["now"]


@pytest.mark.parametrize(
    ("held", "new"), [("a " * 999, "b " * 999), ("a b " * 499, "a c " * 499), ("x a " * 499 + "y", "z a " * 499)]
)
def test_no_text_makes_it_slow(held, new):
    began = time.monotonic()
    ours, theirs = words_apart(held.strip(), new.strip())
    assert time.monotonic() - began < 2  # seconds; without a bound it is minutes
    assert own(ours)
    assert own(theirs)

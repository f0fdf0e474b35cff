"""Saying less: sentences, then words."""

import pytest

from memories.language.abridgement import keywords, summarise


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("One. Two! Three? Four.", "One. Two! Three?"),
        ("One. Two.", "One. Two."),
        ("No end at all", "No end at all"),
        ("It costs $7.50 at example.org. Two. Three. Four.", "It costs $7.50 at example.org. Two. Three."),
        ("Dr. Ada met J. Smith. Two. Three. Four.", "Dr. Ada met J. Smith. Two. Three."),
        ('He said "go." She went... Then what?! Four.', 'He said "go." She went... Then what?!'),
        ("first line\nsecond line\nthird line\nfourth line", "first line\nsecond line\nthird line"),
        ("一。二！三？四。", "一。二！三？"),
        ("...", "..."),
        (". . . .", ". . ."),
    ],
)
def test_a_summary_is_the_first_three_sentences(text, said):
    assert summarise(text) == said


def test_keywords_are_telling_words_once_and_in_order():
    text = "The heron, the HERON and another bird nest near Mill-Bridge, while seven otters swim in 1924."
    assert keywords(text) == "heron, mill-bridge, seven, otters"


def test_there_are_at_most_twenty():
    text = " ".join(f"{letter * 5}" for letter in "bcdfghjklmnpqrstvwxyzaeiou") + " and so on."
    assert len(keywords(text).split(", ")) == 20


@pytest.mark.parametrize("text", ["It was as it is.", "heron", "1924 :-)", "heron otter"])
def test_a_text_without_telling_words_stays(text):
    assert keywords(text) == text

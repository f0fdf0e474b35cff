"""Words, sentences, dates and lists, as all readers of text share them."""

import pytest

from memories.language.dates import CALENDAR, MONTHS, ORDINALS, WEEKDAYS
from memories.language.tokenizer import LETTER, SENTENCE, sentence_end, spoken_words, words_joined_by
from memories.language.word_lists import entries, word_list


@pytest.mark.parametrize(
    ("signs", "of", "found"),
    [
        ("'’", r"\w", ["It’s", "7", "50", "state", "of", "play"]),
        (".-", r"\w", ["It", "s", "7.50", "state-of", "play"]),
        ("-", LETTER, ["It", "s", "state-of", "play"]),
    ],
)
def test_words_when_signs_join_them_are_one(signs, of, found):
    assert words_joined_by(signs, of=of).findall("It’s 7.50: state-of play-") == found


def test_spoken_words_are_lower_case_with_one_apostrophe():
    assert spoken_words("I’M Ann", words_joined_by("'’")) == ["i'm", "ann"]


def test_sentence_end_when_an_abbreviation_stands_there_is_none():
    text = "Ask Dr. Lee. Now!\nYes; no"
    assert sentence_end().split(text) == ["Ask Dr.", "Lee.", "Now!", "Yes; no"]
    assert sentence_end(".!?;", unless=(r"\bDr\.",)).split(text) == ["Ask Dr. Lee.", "Now!", "Yes;", "no"]


def test_sentences_hold_all_of_a_text():
    text = 'It costs 7.50 at example.org. "Really?" Yes…  \n'
    assert "".join(SENTENCE.findall(text)) == text


def test_dates_count_from_january_monday_and_the_first():
    assert (MONTHS["january"], MONTHS["sept"], MONTHS["dec"]) == (1, 9, 12)
    assert (WEEKDAYS["monday"], WEEKDAYS["sunday"], ORDINALS["first"], ORDINALS["thirty-first"]) == (0, 6, 1, 31)
    assert {"jan", "mondays", "tue", "winter"} <= CALENDAR


def test_lists_keep_their_order_without_comments(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "fruit.txt").write_text("# Why.\npear\n\nred apple\n# The last.\nfig\n")
    module = str(tmp_path / "module.py")
    assert entries(module, "fruit") == ["pear", "red apple", "fig"]
    assert word_list(module, "fruit") == {"fig", "pear", "red apple"}

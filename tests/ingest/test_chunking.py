"""Cleaning, splitting and skipping."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memories.ingest.chunking import clean, skip_reason, split

any_text = st.text(st.characters(), max_size=400)
prose = st.lists(
    st.sampled_from(
        ["word ", "Sentence end. ", "\n", "\n\n", "# Head\n", "```\n", "。", "é", "e\u0301", "👩🏽‍🚀", "\t"]
    ),
    max_size=200,
).map("".join)


def without_space(text: str) -> str:
    return "".join(text.split())


class TestClean:
    @pytest.mark.parametrize("end", ["\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"])
    def test_every_line_end_becomes_a_newline(self, end: str) -> None:
        assert clean(f"one{end}two") == "one\ntwo"

    def test_what_cannot_be_stored_is_gone(self) -> None:
        assert clean("\ufeffa\x00b\x1bc\ud800d") == "abc\ufffdd"

    def test_ordinary_text_is_only_trimmed(self) -> None:
        text = "Tabs\tand  spaces\n\n\n stay 日本 👍🏽 \u202e"
        assert clean(f"  {text}\n") == text

    @given(any_text)
    def test_twice_is_once(self, text: str) -> None:
        assert clean(clean(text)) == clean(text)

    @given(any_text)
    def test_the_result_can_be_encoded_and_holds_no_nul(self, text: str) -> None:
        assert b"\x00" not in clean(text).encode()


class TestSkipReason:
    @pytest.mark.parametrize("text", ["", " ", "\n\t \u2003", "\x00\x00\x00", "\ufeff"])
    def test_nothing_is_empty(self, text: str) -> None:
        assert skip_reason(text, role="user") == "empty"

    @pytest.mark.parametrize("text", ["Short", "123456789", "   tiny     ", "\x00" * 20 + "nine char"])
    def test_fewer_than_ten_characters_are_too_short(self, text: str) -> None:
        assert skip_reason(text, role="user") == "too_short"

    @pytest.mark.parametrize("text", ["1234567890", "  1234567890  ", "一二三四五六七八九十"])
    def test_ten_characters_are_enough(self, text: str) -> None:
        assert skip_reason(text, role="user") is None

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("Error: connection refused", "error"),
            ("error: connection refused", "error"),
            ("  ERROR: connection refused", "error"),
            ("I'm sorry, but that is unknown.", "apology"),
            ("I\u2019m sorry, but that is unknown.", "apology"),
            ("i'm sorry, but that is unknown.", "apology"),
            ("I apologize for the confusion.", "apology"),
            ("I cannot help with that.", "refusal"),
            ("I can't help with that.", "refusal"),
            ("I can\u2019t help with that.", "refusal"),
        ],
    )
    def test_an_assistants_error_apology_or_refusal_is_skipped(self, text: str, reason: str) -> None:
        assert skip_reason(text, role="assistant") == reason

    @pytest.mark.parametrize("role", ["user", "tool", "system", "document"])
    @pytest.mark.parametrize("text", ["Error: the door is stuck", "I'm sorry I was late", "I can't eat peanuts"])
    def test_others_may_say_the_same(self, role: str, text: str) -> None:
        assert skip_reason(text, role=role) is None

    @pytest.mark.parametrize(
        "text",
        [
            "Errors are logged to a file.",
            "The error: a missing comma.",
            "I can help with that.",
            "I apologized to Bob yesterday, as you asked.",
            "You said: I'm sorry, I can't come.",
        ],
    )
    def test_a_similar_beginning_is_kept(self, text: str) -> None:
        assert skip_reason(text, role="assistant") is None


class TestSplit:
    @pytest.mark.parametrize("text", ["", "   \n ", "\x00"])
    def test_nothing_makes_no_piece(self, text: str) -> None:
        assert split(text) == []

    def test_a_text_within_the_limit_stays_whole(self) -> None:
        text = "# One\n\nFirst.\n\n# Two\n\nSecond."
        assert split(f"\n{text}\n") == [text]
        assert split("x" * 2000) == ["x" * 2000]

    def test_a_long_text_is_cut_before_headings(self) -> None:
        one, two = "# One\n\n" + "first " * 200, "## Two\n\n" + "second " * 200
        assert split(f"{one}\n\n{two}") == [one.strip(), two.strip()]

    def test_a_section_of_a_few_words_stays_with_a_neighbour(self) -> None:
        long = "# Long\n\n" + "words " * 330
        assert split(f"# Title\n\n{long}\n\n# End\n\nBye.")[0].startswith("# Title\n\n# Long")
        assert split(f"{long}\n\n# End\n\nBye.")[-1].endswith("# End\n\nBye.")

    def test_a_comment_in_a_code_block_is_no_heading(self) -> None:
        code = "```sh\n" + "run --now\n" * 30 + "# not a heading\n" + "run --later\n" * 30 + "```"
        pieces = split(f"{code}\n\n# Heading\n\n" + "text " * 400)
        assert pieces[0] == code
        assert pieces[1].startswith("# Heading")

    def test_a_long_section_is_cut_between_paragraphs(self) -> None:
        paragraphs = [f"Paragraph {n}. " + "More of it. " * 50 for n in range(6)]
        pieces = split("\n\n".join(paragraphs))
        assert all(piece.startswith("Paragraph") for piece in pieces)

    def test_a_long_paragraph_is_cut_between_sentences(self) -> None:
        pieces = split("He said “it is fine.” She agreed. " * 200)
        assert len(pieces) > 1
        assert all(piece.endswith((".", "”")) and piece.startswith(("He", "She")) for piece in pieces)

    def test_a_long_sentence_is_cut_between_words(self) -> None:
        assert {word for piece in split("indivisible " * 500) for word in piece.split()} == {"indivisible"}

    def test_a_script_without_spaces_is_cut_after_its_full_stops(self) -> None:
        assert all(piece.endswith("。") for piece in split("今日は良い天気です。" * 500))

    @pytest.mark.parametrize("letter", ["e\u0301", "👩🏽‍🚀", "🇫🇷", "👍🏽", "❤️"])
    def test_a_letter_of_several_characters_is_not_torn(self, letter: str) -> None:
        pieces = split("x" + letter * 2000)
        assert len(pieces) > 1
        assert all(piece.lstrip("x").replace(letter, "") == "" for piece in pieces)

    def test_no_tail_is_too_short_to_be_kept(self) -> None:
        pieces = split("word " * 400 + "end")
        assert pieces[-1].endswith("word end")
        assert all(skip_reason(piece, role="user") is None for piece in pieces)

    def test_a_word_of_exactly_the_limit_is_one_piece(self) -> None:
        assert split("x" * 2000 + " " + "y" * 500) == ["x" * 2000, "y" * 500]

    @given(prose | any_text, st.integers(1, 60))
    @example("a\n\n# b" * 30, 10)
    @example("👩🏽‍🚀" * 30, 1)
    def test_only_white_space_is_lost(self, text: str, limit: int) -> None:
        assert without_space("".join(split(text, limit=limit))) == without_space(clean(text))

    @given(prose | any_text, st.integers(1, 60))
    def test_every_piece_has_one_to_limit_characters_and_no_space_around(self, text: str, limit: int) -> None:
        for piece in split(text, limit=limit):
            assert 1 <= len(piece) <= limit
            assert piece == piece.strip()

    @given(prose, st.integers(1, 60))
    def test_a_piece_is_not_cut_again(self, text: str, limit: int) -> None:
        for piece in split(text, limit=limit):
            assert split(piece, limit=limit) == [piece]

    @pytest.mark.parametrize("unit", ["a", "A ", "(((", "\n", " ", "\n \n", "# \n", "```\n", "." * 7, "\u0301", "🇫"])
    def test_hostile_input_takes_linear_time(self, unit: str) -> None:
        text = "x" + unit * (1_000_000 // len(unit)) + "x"
        before = time.process_time()
        split(text)
        assert time.process_time() - before < 10  # a quadratic pass takes minutes

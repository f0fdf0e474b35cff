"""Spelling: every disguise of a key is the key, and no two keys become one."""

import itertools
import string
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflicts.keys.confusables import LETTERS, SCRIPTS
from conflicts.keys.normalization import canonical_key, digest_of

anything = st.text(st.characters())  # lone surrogates included
latin = st.text(string.ascii_letters + string.digits + " _-", max_size=30)
tricky = st.text(st.sampled_from([*LETTERS, *"abνυΥΝьЬİıßéЙё_- .'", *"\u0301\u0307\u0316\u0338\u034f\u200b\u0345ᾳ"]))

RUSSIAN = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
ARMENIAN = "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ"
CHEROKEE = "".join(map(chr, range(0x13A0, 0x13F5)))


class TestSameKey:
    @pytest.mark.parametrize(
        "disguise",
        [
            "LIVES_IN",
            "Lives In",
            "lives-in",
            "  lives \t in\n",
            "lives\u2013in",
            "lives\u2212in",
            "lives__in",
            "lives\u00a0\u3000in",
            "ｌｉｖｅｓ＿ｉｎ",
            "lives\u200b_in",
            "li\u00adves_in",
            "lives_in\ufe0f",
            "\u202elives_in\u202c",
            "lives_in\U000e0061",
            "liv\u034fes_in",
            "lives\u2060_in\ufeff",
            "li\x00ves_in",
            "lіvеѕ_іn",
            "liνes_iո",
            "ꓡꓲꓦꓰꓢ_ꓲꓠ",
            "𝓁𝒾𝓋ℯ𝓈_𝒾𝓃",
            "𝐋𝐈𝐕𝐄𝐒_𝐈𝐍",
            "ʟɪᴠᴇꜱ_ɪɴ",
            "ⓛⓘⓥⓔⓢ_ⓘⓝ",
            "🅛🅘🅥🅔🅢_🅸🅽",
            "l̶i̶v̶e̶s̶_̶i̶n̶",
            "l\u0300\u0301\u0302\u0303\u0304ives_in",
            "l⃝ives_in",
        ],
    )
    def test_a_disguise_of_lives_in_is_lives_in(self, disguise: str) -> None:
        assert canonical_key(disguise) == "lives in"

    @pytest.mark.parametrize(
        ("disguise", "key"),
        [
            ("ВUDGET", "budget"),
            ("Ьudget", "budget"),
            ("bυdget", "budget"),
            ("ΝΑΜΕ", "name"),
            ("Νame", "name"),
            ("ᏢᎻONE", "phone"),
            ("ᗷᑌᗞGET", "budget"),
            ("citΥ", "city"),
            ("сору", "copy"),
            ("İstanbul", "istanbul"),
            ("STRASSE", canonical_key("straße")),
            ("user’s", "user's"),
            ("room ٣", "room 3"),
        ],
    )
    def test_other_disguises(self, disguise: str, key: str) -> None:
        assert canonical_key(disguise) == key

    def test_composed_and_decomposed_letters_are_one(self) -> None:
        assert canonical_key("caf\u00e9") == canonical_key("cafe\u0301") == canonical_key("CAFÉ") == "café"

    @pytest.mark.parametrize(("word", "disguise"), [("город", "гoрод"), ("ημέρα", "ημέpα"), ("Москва", "Mосква")])
    def test_a_word_of_another_script_is_protected_too(self, word: str, disguise: str) -> None:
        assert canonical_key(word) == canonical_key(disguise) == canonical_key(word.upper())


class TestOtherKey:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("l", "1"),
            ("0", "o"),
            ("i", "l"),
            ("rn", "m"),
            ("e", "é"),
            ("o", "ø"),
            ("livesin", "lives in"),
            ("c", "c++"),
            ("битв", "бить"),
            ("рот", "ров"),
            ("тот", "тов"),
            ("σος", "οος"),
            ("ab", "a b"),
            ("日本", "日木"),
            ("हिन्दी", "हिन्द"),
        ],
    )
    def test_what_differs_stays_apart(self, one: str, other: str) -> None:
        assert canonical_key(one) != canonical_key(other)

    @pytest.mark.parametrize("alphabet", [RUSSIAN, GREEK, string.ascii_lowercase + string.digits, ARMENIAN, CHEROKEE])
    def test_no_two_letters_of_an_alphabet_become_one(self, alphabet: str) -> None:
        assert len({canonical_key(letter) for letter in alphabet}) == len(alphabet)

    @given(st.text(RUSSIAN, min_size=1), st.text(RUSSIAN, min_size=1))
    def test_russian_words_stay_apart(self, one: str, other: str) -> None:
        assert (canonical_key(one) == canonical_key(other)) == (one == other)

    @pytest.mark.parametrize("nothing", ["", " ", "_-_", "\u200b", "\u0301", "\u3164", "\u2800", "\ufe0f\u202e"])
    def test_nothing_to_see_is_an_empty_key(self, nothing: str) -> None:
        assert canonical_key(nothing) == ""


class TestLaws:
    @given(anything | tricky)
    def test_idempotent_and_total(self, text: str) -> None:
        once = canonical_key(text)
        assert canonical_key(once) == once

    @given(anything | tricky)
    def test_never_a_space_too_many(self, text: str) -> None:
        assert canonical_key(text) == " ".join(canonical_key(text).split())

    @given(latin)
    def test_ascii_needs_only_case_and_separators(self, text: str) -> None:
        assert canonical_key(text) == " ".join(text.lower().replace("_", " ").replace("-", " ").split())

    @given(st.text(RUSSIAN + " ") | st.text(GREEK + "ς ") | st.text("aézß ü"))
    def test_case_never_matters(self, text: str) -> None:
        assert canonical_key(text) == canonical_key(text.upper()) == canonical_key(text.title())

    @given(anything)
    def test_normal_forms_are_one(self, text: str) -> None:
        assert len({canonical_key(unicodedata.normalize(form, text[:20])) for form in ("NFC", "NFD")}) == 1

    @given(latin, st.sampled_from("\u200b\u00ad\ufe0f\u202e\u2060\u034f\U000e0041"), st.integers(0, 30))
    def test_what_nobody_sees_never_matters(self, text: str, hidden: str, place: int) -> None:
        assert canonical_key(text[:place] + hidden + text[place:]) == canonical_key(text)

    @given(st.text(string.ascii_lowercase, min_size=2, max_size=12), st.data())
    def test_any_lookalike_inside_a_latin_word_is_seen_through(self, word: str, data: st.DataObject) -> None:
        place = data.draw(st.integers(1, len(word) - 1))
        for script in SCRIPTS.values():
            for letter in script.get(word[place], ""):
                if letter not in "νυμ" or word[place] == {"ν": "v", "υ": "u", "μ": "u"}[letter]:
                    assert canonical_key(word[:place] + letter + word[place + 1 :]) == word

    def test_every_character_settles_at_once(self) -> None:
        for character in map(chr, itertools.chain(range(0x3000), range(0xA000, 0xAC00), range(0xF900, 0x11000))):
            once = canonical_key(character)
            assert canonical_key(once) == once, hex(ord(character))


class TestTable:
    def test_letters_are_given_as_folding_leaves_them(self) -> None:
        for letter, target in LETTERS.items():
            assert not letter.isascii()
            assert unicodedata.normalize("NFKD", letter.casefold()) == letter
            assert target in string.ascii_lowercase

    def test_no_letter_stands_under_two_targets(self) -> None:
        assert len(LETTERS) == sum(len(group) for script in SCRIPTS.values() for group in script.values())


SALT = b"a project's own"


class TestDigest:
    def test_is_a_sha256(self) -> None:
        assert len(digest_of("user", "lives in", salt=SALT)) == 32

    def test_is_keyed_by_the_project(self) -> None:
        assert digest_of("user", salt=SALT) != digest_of("user", salt=b"another's")

    @pytest.mark.parametrize("parts", [("a bc", ""), ("", "a bc"), ("a", "bc"), ("ab", "c"), ("abc",)])
    def test_where_one_part_ends_matters(self, parts: tuple[str, ...]) -> None:
        assert digest_of(*parts, salt=SALT) != digest_of("abc", "", salt=SALT)

    @given(st.lists(anything), st.lists(anything))
    def test_equal_exactly_when_the_parts_are(self, one: list[str], other: list[str]) -> None:
        assert (digest_of(*one, salt=SALT) == digest_of(*other, salt=SALT)) == (one == other)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "_ ",
        "а",
        "é ",
        "\u0316\u0301",
        "a\u0316\u0301",
        "\u05b0\u0591",
        "\ufdfa",
        "\u200b",
        "٣",
        "ν",
        "\ud800",
        "\u0345",
    ],
    ids=ascii,
)
def test_long_input_takes_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit.encode("utf-8", "surrogatepass")))
    began = time.process_time()
    canonical_key(text)
    assert time.process_time() - began < 10  # a quadratic pass takes minutes

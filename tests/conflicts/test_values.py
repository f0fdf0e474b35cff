"""Values: what says the same compares the same, what might not stays apart."""

import datetime
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflicts.enums import Normaliser
from conflicts.keys.values import canonical_value

anything = st.text(st.characters())
normalisers = st.sampled_from(list(Normaliser))
amounts = st.decimals(0, 10**9, places=2)
days = st.dates(datetime.date(1000, 1, 1))


def money(text: str) -> str:
    return canonical_value(text=text, normaliser="money")


def date(text: str) -> str:
    return canonical_value(text=text, normaliser="date")


def number(text: str) -> str:
    return canonical_value(text=text, normaliser="number")


def boolean(text: str) -> str:
    return canonical_value(text=text, normaliser="boolean")


def plain(text: str) -> str:
    return canonical_value(text=text, normaliser="text")


class TestMoney:
    @pytest.mark.parametrize(
        "text",
        [
            "$750",
            "750 USD",
            "USD 750.00",
            "750 dollars",
            "usd750",
            "$ 750",
            "$750.",
            "US$750",
            "“$750”",
            "＄７５０",
            "750$",
            "$.75k",
            "0.75k usd",
            "$0.75 thousand",
            "750 us dollars",
            "USD $750",
            "$750 USD",
            "$750.000000",
            "$\u200b750",
        ],
    )
    def test_one_sum_in_many_ways(self, text: str) -> None:
        assert money(text) == "money:usd 750"

    @pytest.mark.parametrize("text", ["$7500", "€750", "-$750", "$750.01", "750", "$75", "$750k", "£750", "C$750"])
    def test_another_sum_is_another_value(self, text: str) -> None:
        assert money(text) != money("$750")
        assert money(text).startswith("money:")

    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("$1,000.50", "usd 1000.5"),
            ("€1.000,50", "eur 1000.5"),
            ("1 000 €", "eur 1000"),
            ("1'000'000 CHF", "chf 1000000"),
            ("1,000,000", " 1000000"),
            ("€1.000.000", "eur 1000000"),
            ("€750,5", "eur 750.5"),
            ("0,500 btc", "btc 0.5"),
            ("$1,000", "usd 1000"),
            ("$1.5m", "usd 1500000"),
            ("2 billion euros", "eur 2000000000"),
            ("-$5", "usd -5"),
            ("$-5", "usd -5"),
            ("−5 €", "eur -5"),
            ("-$0", "usd 0"),
            ("$750 CAD", "cad 750"),
            ("100 zł", "pln 100"),
        ],
    )
    def test_separators_signs_and_scales(self, text: str, form: str) -> None:
        assert money(text) == f"money:{form}"

    @pytest.mark.parametrize(
        "text",
        [
            "€1.000",
            "1.000",
            "$1,0000",
            "$1,00,000",
            "1.000,000.5",
            "$750/month",
            "about $750",
            "$750 or more",
            "five dollars",
            "750 kr",
            "$750 EUR",
            "$$750",
            "--$5",
            "-$-5",
            "$1e3",
            "$",
            "usd",
            "",
            "1,2,3",
            "$5 $6",
            "$1..5",
        ],
    )
    def test_what_is_uncertain_stays_text(self, text: str) -> None:
        assert money(text) == plain(text)

    @given(amounts)
    def test_every_way_to_write_a_sum_agrees(self, amount: Decimal) -> None:
        ways = {f"${amount}", f"{amount} USD", f"usd {amount:,}", f"{amount} dollars", f"${amount:,}", f"${amount}00"}
        assert len({money(way) for way in ways}) == 1

    @given(amounts, amounts)
    def test_sums_agree_exactly_when_they_are_equal(self, one: Decimal, other: Decimal) -> None:
        assert (money(f"${one}") == money(f"${other:,}")) == (one == other)

    @given(amounts)
    def test_currencies_never_meet(self, amount: Decimal) -> None:
        assert len({money(f"{sign}{amount}") for sign in ("", "$", "€", "£", "¥", "CHF ")}) == 6

    def test_no_digit_is_lost(self) -> None:
        assert money("$0." + "1" * 80) != money("$0." + "1" * 79 + "2")


class TestDate:
    @pytest.mark.parametrize(
        "text",
        [
            "2023-05-08",
            "May 8, 2023",
            "8 May 2023",
            "may 8 2023",
            "May 8th, 2023",
            "8th of May, 2023",
            "the 8th of May 2023",
            "Monday, May 8, 2023",
            "2023/5/8",
            "8. may 2023".replace(".", ""),
            "MAY 08, 2023",
            "２０２３－０５－０８",
            "2023‐05‐08",
        ],
    )
    def test_one_day_in_many_ways(self, text: str) -> None:
        assert date(text) == "date:2023-05-08"

    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("25/12/2023", "2023-12-25"),
            ("12/25/2023", "2023-12-25"),
            ("5.5.2023", "2023-05-05"),
            ("May 2023", "2023-05"),
            ("2023-05", "2023-05"),
            ("2023", "2023"),
            ("May 8", "--05-08"),
            ("8th of may", "--05-08"),
            ("Feb 29", "--02-29"),
            ("Sept. 3, 2020", "2020-09-03"),
        ],
    )
    def test_other_dates(self, text: str, form: str) -> None:
        assert date(text) == f"date:{form}"

    @pytest.mark.parametrize(
        "text",
        [
            "05/08/2023",
            "8.5.2023",
            "2023-02-30",
            "Feb 29, 2023",
            "Tuesday, May 8, 2023",
            "Monday, May 2023",
            "5/8/23",
            "soon",
            "2023-05-08T10:00",
            "0000-01-01",
            "2023-13",
            "32 may",
            "2023-5-8-1",
            "99/99/2023",
            "may",
            "",
        ],
    )
    def test_what_is_uncertain_or_impossible_stays_text(self, text: str) -> None:
        assert date(text) == plain(text)

    @given(days)
    def test_every_way_to_write_a_day_agrees(self, day: datetime.date) -> None:
        ways = (
            f"{day:%B} {day.day}, {day.year}",
            f"{day.day} {day:%b} {day.year}",
            f"{day:%A}, {day:%B} {day.day} {day.year}",
        )
        assert {date(way) for way in ways} == {f"date:{day.isoformat()}"}

    @given(days, days)
    def test_days_agree_exactly_when_they_are_equal(self, one: datetime.date, other: datetime.date) -> None:
        assert (date(f"{one:%d %B} {one.year}") == date(other.isoformat())) == (one == other)


class TestNumber:
    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("30", "30"),
            ("30.0", "30"),
            ("030", "30"),
            ("+30", "30"),
            ("٣٠", "30"),
            ("1,000", "1000"),
            ("1.000", "1"),
            ("3.142", "3.142"),
            ("50 %", "50%"),
            ("50 percent", "50%"),
            ("-0", "0"),
            ("−5", "-5"),
            (".5", "0.5"),
            ("0.1", "0.1"),
        ],
    )
    def test_numbers(self, text: str, form: str) -> None:
        assert number(text) == f"number:{form}"

    @pytest.mark.parametrize(
        "text", ["1e9", "1e999999999", "nan", "infinity", "0x10", "1.2.3", "thirty", "5 apples", "1,2,3"]
    )
    def test_anything_else_is_text(self, text: str) -> None:
        assert number(text) == plain(text)

    @given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4))
    def test_numbers_agree_with_decimal(self, value: Decimal) -> None:
        assert Decimal(number(f"{value:f}").removeprefix("number:")) == value


class TestBoolean:
    @pytest.mark.parametrize("text", ["yes", "TRUE", "On", " y ", "1", "Yes."])
    def test_true(self, text: str) -> None:
        assert boolean(text) == "boolean:true"

    @pytest.mark.parametrize("text", ["no", "False", "OFF", "none", "0", "'no'"])
    def test_false(self, text: str) -> None:
        assert boolean(text) == "boolean:false"

    @pytest.mark.parametrize("text", ["maybe", "not yes", "", "yes and no"])
    def test_neither(self, text: str) -> None:
        assert boolean(text) == plain(text)


class TestText:
    @pytest.mark.parametrize(
        "text",
        [
            "Dark Mode",
            "dark mode",
            " dark\u00a0 mode ",
            "dark mode.",
            '"dark mode"',
            "“Dark mode!”",
            "‘dark mode’.",
            "ｄａｒｋ mode",
            "dark\u200b mode",
            "«dark mode»",
            "\"'dark mode'\"",
        ],
    )
    def test_one_text_in_many_ways(self, text: str) -> None:
        assert plain(text) == "text:dark mode"

    @pytest.mark.parametrize(
        ("one", "other"), [("C", "C++"), ("C", "C#"), ("5", "-5"), ("a", "á"), ("ok", "ok?"), ("a b", "ab")]
    )
    def test_what_differs_stays_apart(self, one: str, other: str) -> None:
        assert plain(one) != plain(other)

    def test_nothing_but_punctuation_is_kept(self) -> None:
        assert plain("!") == "text:!"


class TestLaws:
    @given(anything, normalisers)
    def test_total_and_settled(self, text: str, normaliser: str) -> None:
        kind, _, form = canonical_value(text=text, normaliser=normaliser).partition(":")
        assert kind in {"text", normaliser}
        assert kind != "text" or plain(form) == f"text:{form}"

    @given(anything, normalisers)
    def test_parsed_and_unparsed_never_collide(self, text: str, normaliser: str) -> None:
        parsed = {money("$5"), date("2023-05-08"), boolean("yes"), number("5")}
        assert plain(text) not in parsed
        assert canonical_value(text="money:usd 5", normaliser=normaliser) not in parsed

    def test_an_unknown_normaliser_is_refused(self) -> None:
        with pytest.raises(ValueError, match="colour"):
            canonical_value(text="red", normaliser="colour")

    @pytest.mark.examples
    @pytest.mark.parametrize("normaliser", Normaliser)
    @pytest.mark.parametrize("unit", ["1", "1,", '"', ". ", "$", "a ", "\u0316\u0301", "\ufdfa", "٣", " ."], ids=ascii)
    def test_long_input_takes_linear_time(self, unit: str, normaliser: str) -> None:
        text = unit * (100_000 // len(unit.encode()))
        began = time.process_time()
        canonical_value(text=text, normaliser=normaliser)
        assert time.process_time() - began < 10  # a quadratic pass takes minutes

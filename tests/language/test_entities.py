"""The built-in recogniser: right on ordinary English, harmless on everything else."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.entities import RecognisedEntity, recognise


def labels(text: str) -> dict[str, str]:
    return {entity.text: entity.label for entity in recognise(text)}


def confidence(text: str, name: str) -> float:
    return next(entity.confidence for entity in recognise(text) if entity.text == name)


class TestOrdinaryEnglish:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "Alice met Bob Smith at Google in Paris",
                {"Alice": "person", "Bob Smith": "person", "Google": "organization", "Paris": "location"},
            ),
            (
                "Barack Obama visited Microsoft headquarters in Seattle.",
                {"Barack Obama": "person", "Microsoft": "organization", "Seattle": "location"},
            ),
            (
                "Maria works for the World Health Organization in Geneva, Switzerland.",
                {
                    "Maria": "person",
                    "World Health Organization": "organization",
                    "Geneva": "location",
                    "Switzerland": "location",
                },
            ),
            (
                "Sarah Johnson, CEO of Nimbus Labs, lives on Baker Street.",
                {"Sarah Johnson": "person", "Nimbus Labs": "organization", "Baker Street": "location"},
            ),
            (
                "In London, Alice bought a book by Ludmila Petrushevskaya.",
                {"London": "location", "Alice": "person", "Ludmila Petrushevskaya": "person"},
            ),
            ("She studied French at Harvard.", {"French": "misc", "Harvard": "organization"}),
            ("Yesterday Bob called from the US.", {"Bob": "person", "US": "location"}),
            ("User prefers dark mode, and the API returns JSON.", {}),
            ("We had pancakes for breakfast. It was great!", {}),
        ],
    )
    def test_names_are_found_and_told_apart(self, text: str, expected: dict[str, str]) -> None:
        assert labels(text) == expected

    def test_they_come_in_the_order_of_the_text_and_once(self) -> None:
        assert list(labels("Bob told Alice that Bob and ALICE like Rome.")) == ["Bob", "Alice", "Rome"]


class TestPeople:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("I spoke with Dr. Chen.", "Chen"),
            ("Mr. O'Brien is late.", "O'Brien"),
            ("We visited Aunt May.", "May"),
            ("Prof. Dr. Weiss spoke, and we listened.", "Weiss"),
        ],
    )
    def test_a_title_marks_a_person_and_is_not_part_of_the_name(self, text: str, name: str) -> None:
        assert labels(text) == {name: "person"}
        assert confidence(text, name) >= 0.9

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("Caroline: it was so powerful.", "Caroline"),
            ("Zorblax: it was so powerful.", "Zorblax"),
            ("Grace: it was so powerful.", "Grace"),
            ("- Alice: it was so powerful.", "Alice"),
            ("**Bob:** it was so powerful.", "Bob"),
            ("Alice Johnson: it was so powerful.", "Alice Johnson"),
        ],
    )
    def test_a_speaker_before_a_colon_is_a_person(self, text: str, name: str) -> None:
        assert labels(text) == {name: "person"}

    @pytest.mark.parametrize(
        "label", ["Note", "Summary", "Deadline", "Error", "Location", "User", "Paris", "Google", "TODO"]
    )
    def test_a_label_before_a_colon_is_not(self, label: str) -> None:
        assert labels(f"{label}: the rest is known").get(label) != "person"

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("John F. Kennedy was elected.", "John F. Kennedy"),
            ("They showed a painting by Vincent van Gogh.", "Vincent van Gogh"),
            ("We saw Jean-Luc Picard there.", "Jean-Luc Picard"),
            ("I spoke with Li Wei.", "Li Wei"),
        ],
    )
    def test_several_words_make_one_name(self, text: str, name: str) -> None:
        assert labels(text) == {name: "person"}

    @pytest.mark.parametrize(
        "text", ["Alice's dog barked.", "Alice’s dog barked.", "Alice'll come.", "Then Alice's gone"]
    )
    def test_endings_behind_an_apostrophe_are_not_part_of_the_name(self, text: str) -> None:
        assert labels(text) == {"Alice": "person"}

    @pytest.mark.parametrize(
        "text",
        ["My friend Zorblax came.", "I met Zorblax.", "Zorblax said hello.", "Her name is Zorblax.", "Hey Zorblax!"],
    )
    def test_nearby_words_reveal_an_unknown_person(self, text: str) -> None:
        assert labels(text) == {"Zorblax": "person"}

    @pytest.mark.parametrize(
        "text", ["Will you come?", "Mark my words.", "Hope you are well.", "May I ask?", "Rose early."]
    )
    def test_a_name_that_is_a_word_is_none_at_the_beginning_of_a_sentence(self, text: str) -> None:
        assert labels(text) == {}

    def test_a_name_that_is_a_word_counts_inside_a_sentence(self) -> None:
        assert labels("I will ask Will and Grace Hopper.") == {"Will": "person", "Grace Hopper": "person"}

    def test_nearby_words_decide_between_a_person_and_a_place(self) -> None:
        assert labels("I called Charlotte.") == {"Charlotte": "person"}
        assert labels("I moved to Charlotte.") == {"Charlotte": "location"}

    @pytest.mark.parametrize("text", ["Remind Alice tomorrow.", "Thanks Alice!", "Wow, Alice.", "Meeting Alice soon."])
    def test_what_only_begins_the_sentence_is_not_part_of_the_name(self, text: str) -> None:
        assert labels(text) == {"Alice": "person"}


class TestOrganizationsAndPlaces:
    @pytest.mark.parametrize(
        "name",
        [
            "Acme Corporation",
            "Globex Inc",
            "University of Oxford",
            "Stanford University",
            "Department of Energy",
            "AT&T",
        ],
    )
    def test_an_organization_is_known_by_list_or_ending(self, name: str) -> None:
        assert labels(f"A letter from {name} arrived.") == {name: "organization"}

    @pytest.mark.parametrize("text", ["I work at Zorblax.", "She joined Zorblax.", "He is the CEO of Zorblax."])
    def test_nearby_words_reveal_an_unknown_organization(self, text: str) -> None:
        assert labels(text) == {"Zorblax": "organization"}

    @pytest.mark.parametrize(
        "name", ["New York", "United States of America", "U.K.", "Lake Como", "St. Louis", "Mt. Fuji", "São Paulo"]
    )
    def test_a_place_is_known_by_list_or_shape(self, name: str) -> None:
        assert labels(f"A letter from {name} arrived.") == {name: "location"}

    @pytest.mark.parametrize("text", ["I live in Zorblax.", "We visited Zorblax.", "A trip to Zorblax was planned."])
    def test_nearby_words_reveal_an_unknown_place(self, text: str) -> None:
        assert labels(text) == {"Zorblax": "location"}


class TestWhatIsNoName:
    @pytest.mark.parametrize(
        "text",
        [
            "See you on Monday, 5 May, or in July.",
            "I think I'll stay. Don't worry, it's fine.",
            "Thanks, Mom! Love you, Grandma.",
            "The cat sat. Everyone laughed! Nothing else happened?",
            "- Buy milk\n- Call home\n* Sleep",
            "Plan A failed because I was late.",
            "Go to https://Example.com/Bob or mail Bob@Example.com.",
            "Run `Alice Smith` and\n```\nBob = Paris\n```\nthen stop.",
            "OK. TV is on at 5 PM.",
            "我在北京工作。今日は良い天気です。",
        ],
    )
    def test_nothing_is_found(self, text: str) -> None:
        assert labels(text) == {}

    @pytest.mark.parametrize(
        "text", ["# Getting Started With Docker", "Getting Started With Docker Today", "GETTING STARTED WITH DOCKER"]
    )
    def test_where_all_words_are_capitalised_only_listed_names_count(self, text: str) -> None:
        assert [name.lower() for name in labels(text)] == ["docker"]

    def test_in_all_lower_case_listed_names_count_with_less_confidence(self) -> None:
        assert recognise("did alice go to new york? will may hope so") == [
            RecognisedEntity("alice", "person", 0.5),
            RecognisedEntity("new york", "location", 0.5),
        ]


class TestConfidence:
    def test_better_evidence_gives_more(self) -> None:
        titled = confidence("I met Dr. Zorblax.", "Zorblax")
        listed = confidence("I flew to Paris.", "Paris")
        nearby = confidence("My friend Zorblax came.", "Zorblax")
        looks = confidence("It was the Zorblax again.", "Zorblax")
        assert titled > listed > nearby > looks

    def test_the_best_evidence_for_a_name_counts(self) -> None:
        assert recognise("It was the Zorblax again. Then my friend Zorblax came.") == [
            RecognisedEntity("Zorblax", "person", 0.75)
        ]


ALPHABET = st.characters() | st.sampled_from("AaBb.'’:,-&# \n\t`*@1É👍🏽‍日")


@given(st.text(ALPHABET, max_size=300))
def test_any_text_gives_distinct_names_that_stand_in_it(text: str) -> None:
    found = recognise(text)
    assert len({entity.text.casefold() for entity in found}) == len(found) <= 50
    for entity in found:
        assert 0.0 < entity.confidence <= 1.0
        assert 2 <= len(entity.text) <= 100
        assert all(part in text for part in entity.text.split())


def test_a_list_of_names_ends_at_fifty() -> None:
    text = "".join(f"I met Zorb{a}{b}. " for a in string.ascii_lowercase for b in string.ascii_lowercase)
    assert len(recognise(text)) == 50


@pytest.mark.examples
@pytest.mark.parametrize(
    "unit",
    ["a", "A ", "A", "(((", "\n", "Bob ", "Bank of ", "Van de ", "Dr. ", "A.", "a'", "`", "@", "x://", "Aa: ", "👍🏽"],
)
def test_hostile_input_takes_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    before = time.process_time()
    recognise(text)
    assert time.process_time() - before < 10  # a quadratic pass takes minutes

"""Routing: by example, topics, and kinds of memory."""

import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language import word_lists
from memories.language.classification import MemoryType, Routing, route
from memories.language.entities import RecognisedEntity


class TestEdges:
    @pytest.mark.parametrize("text", ["", " ", "\n\t", "!?", "...", "42", "\x00", "((("])
    def test_a_text_without_words_says_nothing(self, text: str) -> None:
        assert route(text) == Routing([], [], 0.0, "semantic", ["episodic", "semantic"], [])

    @pytest.mark.parametrize(
        "text", ["Hi", "ok then", "日本語のテキスト", "Привет, как дела?", "👩🏽‍🚀 🇫🇷", "a\u0301\u0301\u0301"]
    )
    def test_short_and_foreign_texts_are_routed(self, text: str) -> None:
        assert route(text).valence == 0.0

    def test_the_same_text_is_routed_the_same(self) -> None:
        text = "Alice met Bob Smith at Google in Paris yesterday."
        assert route(text) == route(text)

    @given(st.text(st.characters(), max_size=300))
    def test_every_text_is_routed_within_bounds(self, text: str) -> None:
        routing = route(text)
        assert -1.0 <= routing.valence <= 1.0
        assert len(routing.topics) <= 20
        assert routing.topics == list(dict.fromkeys(routing.topics))
        assert routing.type in get_args(MemoryType)
        assert routing.search_types
        assert set(routing.search_types) <= set(get_args(MemoryType))
        assert all(len(key) >= 2 and key == key.lower() for key in routing.query_keys)

    @pytest.mark.parametrize(
        "unit",
        [
            "a",
            "A ",
            "(((",
            "Bob ",
            "1. ",
            "first ",
            "then ",
            "how to ",
            "this is how to ",
            "how to x? ",
            ": ",
            "Aa: ",
            "# ",
        ],
    )
    def test_hostile_input_takes_linear_time(self, unit: str) -> None:
        text = unit * (100_000 // len(unit))
        before = time.process_time()
        route(text)
        assert time.process_time() - before < 10  # a quadratic pass takes minutes


class TestTopics:
    def test_names_come_first_then_capitals_then_long_words(self) -> None:
        topics = route("The quarterly budget was approved by Alice, who runs Marketing.").topics
        assert topics == ["alice", "marketing", "quarterly", "budget", "approved"]

    def test_they_are_lower_case_and_distinct(self) -> None:
        assert route("Paris, PARIS and paris: a painting, Painting and PAINTING").topics == ["paris", "painting"]

    def test_words_of_five_letters_count_and_stopwords_never(self) -> None:
        assert route("their would about these plant tree").topics == ["plant"]

    def test_long_texts_have_at_most_twenty(self) -> None:
        assert len(route(" ".join(f"word{chr(97 + n)}{chr(97 + n)}" for n in range(26))).topics) == 20

    def test_endless_words_are_no_topics(self) -> None:
        assert route("x" * 500 + " budget").topics == ["budget"]

    def test_code_has_topics_too(self) -> None:
        assert "invoice" in route("```\ndef parse_invoice(total): ...\n```").topics


class TestEntities:
    def test_they_carry_label_and_confidence(self) -> None:
        assert route("Alice met Bob Smith at Google in Paris").entities == [
            RecognisedEntity("Alice", "person", 0.85),
            RecognisedEntity("Bob Smith", "person", 0.95),
            RecognisedEntity("Google", "organization", 0.9),
            RecognisedEntity("Paris", "location", 0.9),
        ]

    def test_every_entity_is_a_topic_and_a_query_key(self) -> None:
        routing = route("Alice met Bob Smith at Google in Paris")
        names = [entity.text.lower() for entity in routing.entities]
        assert routing.topics[:4] == names
        assert routing.query_keys[:4] == names


class TestValence:
    @pytest.mark.parametrize("text", ["I love this, it is wonderful!", "A great and amazing day", "HAPPY birthday"])
    def test_positive_words_make_it_positive(self, text: str) -> None:
        assert route(text).valence > 0.3

    @pytest.mark.parametrize("text", ["I hate this, it is terrible!", "An awful and horrible day", "so SAD"])
    def test_negative_words_make_it_negative(self, text: str) -> None:
        assert route(text).valence < -0.3

    @pytest.mark.parametrize("text", ["The table has four legs.", "lovers and haters", ""])
    def test_other_words_leave_it_neutral(self, text: str) -> None:
        assert route(text).valence == 0.0

    def test_mixed_feelings_are_weighed(self) -> None:
        assert route("great food, great music, terrible traffic").valence == pytest.approx(1 / 5)
        assert route("I love it and I hate it").valence == 0.0

    def test_both_lists_are_long_and_apart(self) -> None:
        assert len(word_lists.POSITIVE) >= 25
        assert len(word_lists.NEGATIVE) >= 25
        assert not word_lists.POSITIVE & word_lists.NEGATIVE


class TestType:
    @pytest.mark.parametrize(
        "text",
        [
            "How to deploy the app: build it, then push it.",
            "## How to rotate keys",
            "Caroline: How to bake bread: mix, wait, bake.",
            "Here's how to restart the worker.",
            "Steps to reproduce: open the page and reload.",
            "1. Stop the worker\n2. Run the migration\n3. Start the worker",
            "1) Stop the worker 2) Run the migration",
            "Step 1: stop the worker. Step 2: run the migration.",
            "First, preheat the oven, then mix the flour.",
        ],
    )
    def test_a_procedure_is_procedural(self, text: str) -> None:
        assert route(text).type == "procedural"

    @pytest.mark.parametrize(
        "text",
        [
            "I want to learn how to swim.",
            "How to bake bread?",
            "First I met Bob, then we went home.",
            "Chapter 2. Alice arrives at 1.",
            "The version is 1.2 now.",
        ],
    )
    def test_what_only_mentions_steps_is_not(self, text: str) -> None:
        assert route(text).type != "procedural"

    @pytest.mark.parametrize("text", ["I met Bob yesterday.", "We visited Rome two years ago."])
    def test_what_happened_is_episodic(self, text: str) -> None:
        assert route(text).type == "episodic"

    @pytest.mark.parametrize("text", ["The office has four floors.", "User prefers dark mode."])
    def test_how_things_are_is_semantic(self, text: str) -> None:
        assert route(text).type == "semantic"


class TestQuestions:
    @pytest.mark.parametrize(
        "question",
        [
            "How to reset my password?",
            "how do I deploy?",
            "steps to reproduce",
            "A guide for sourdough",
            "Is there a tutorial?",
            "Where are the instructions?",
        ],
    )
    def test_how_to_looks_for_procedures(self, question: str) -> None:
        assert route(question).search_types == ["procedural"]

    @pytest.mark.parametrize(
        "question",
        [
            "What is a vector index?",
            "what's our refund policy",
            "Define latency",
            "Explain caching",
            "the meaning of RRF",
        ],
    )
    def test_what_is_looks_for_facts(self, question: str) -> None:
        assert route(question).search_types == ["semantic"]

    @pytest.mark.parametrize(
        "question",
        [
            "Do you remember the trip?",
            "who called yesterday",
            "What happened in the meeting?",
            "the plan we discussed",
            "Where does Alice live?",
        ],
    )
    def test_remembering_or_a_person_looks_for_episodes(self, question: str) -> None:
        assert route(question).search_types == ["episodic"]

    def test_several_signs_look_in_several_places(self) -> None:
        assert route("What is Alice's phone number?").search_types == ["semantic", "episodic"]

    def test_other_questions_look_for_episodes_and_facts(self) -> None:
        assert route("favourite colour").search_types == ["episodic", "semantic"]

    def test_query_keys_are_names_and_topics_without_repetition(self) -> None:
        assert route("Which restaurant in Paris did Alice like?").query_keys == ["paris", "alice", "restaurant"]

"""Which turns of a chat are not worth keeping."""

import pytest

from memories.extraction.chatter import chatter_reason


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "where do i live",
        "Hi there! What is my name?",
        "Alice, where do I live?",
        "In Lisbon, where did we eat?",
        "Is the mill open",
        "And the otter in the evening?",
        "On which day is the party?",
        "Where do Ann and her brother live?",
        "What is my budget? And when is it due?",
        "Thanks! Could you tell me the time?",
        "¿Dónde vivo?",
    ],
)
def test_questions_of_the_user_are_not_kept(text):
    assert chatter_reason(text, role="user") == "question"
    assert chatter_reason(text, role="assistant") is None


@pytest.mark.parametrize(
    "text",
    [
        "My name is Ada, what is yours?",
        "I'm vegan, what can I eat here?",
        "Ann moved to Oslo, what is her address?",
        "I live in Oslo, don't I?",
        "I am planning a trip to Japan. What should I pack?",
        "When I was young I lived in Oslo",
        "What I like best is tea.",
        "Will Smith lives next door to me",
        "Ich wohne in Bonn, und du?",
        "The mill is closed on Mondays, right?",
        "My course is done.",
        "Remember that I prefer tea.",
    ],
)
def test_what_states_something_is_kept(text):
    assert chatter_reason(text, role="user") is None


@pytest.mark.parametrize(
    "text",
    ["Understood, thanks.", "Thank you so much!", "Noted, thank you.", "Yes, that makes sense.", "You're very welcome!"]
    + ["Of course, my pleasure.", "OK, great, got it"],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_acknowledgements_are_not_kept(text, role):
    assert chatter_reason(text, role=role) == "acknowledgement"


@pytest.mark.parametrize("text", ['{"name": "Ada", "age": 36}', "[1, 2, 3]", '```json\n{"name": "Ada"}\n```'])
def test_structured_output_is_not_kept_of_an_assistant(text):
    assert chatter_reason(text, role="assistant") == "structured_output"
    assert chatter_reason(text, role="tool") is None


@pytest.mark.parametrize("text", ["", "…", "{not json}", "Here it is: {}", "12 kilograms", "[" * 100_000])
def test_anything_else_is_left_to_others(text):
    assert chatter_reason(text, role="assistant") is None

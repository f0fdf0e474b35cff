"""What tells an assistant what to do from then on, and what only sounds like it."""

import pytest

from memories.language.instructions import gives_instruction, is_instruction


@pytest.mark.parametrize(
    "text",
    [
        "Always format dates in MM/DD/YYYY when I ask about scheduling details.",
        "From now on, call me Max.",
        "Please don't suggest peanuts ever again.",
        "Whenever I ask about costs, give them in euros.",
        "Thanks! Also, please always answer in German.",
        "I’d like you to always cite your sources.",
        "Never recommend restaurants with shellfish.",
        "Never guess when I ask about doses.",
        "When I ask for code, use Python 3.",
        "Going forward, keep your answers short.",
        "Make sure you always include the time zone.",
        "Please remember to never mention my ex.",
        "Give distances in kilometres whenever I ask for directions.",
        "You should always address me as Dr. Chen.",
        "Do not use emojis anymore.",
        "I moved to Bern.\nInclude the source each time I ask about a study.",
    ],
)
def test_what_holds_from_then_on_is_an_instruction(text):
    assert gives_instruction(text)


@pytest.mark.parametrize(
    "text",
    [
        "Always happy to help!",
        "Never mind.",
        "Never give up!",
        "Keep going, never let anyone stop you.",
        "I always include a salad.",
        "From now on I will run daily.",
        "She never calls me.",
        "Can you always include the dates?",
        "What should I do when I ask my boss for a raise?",
        "Never been to Paris.",
        "When I ask my kids about school, they say nothing.",
        "If I ask him nicely, he may help.",
        "Don't let it get you down again!",
        "My doctor said to always take the pills with food.",
        "In the future, cars will drive themselves.",
        "Always remember that I love you.",
        "Always follow your dreams!",
        "Include " + "many things and " * 30 + "more whenever I ask about it.",
    ],
)
def test_what_only_sounds_like_one_is_none(text):
    assert not gives_instruction(text)


def test_only_a_sentence_about_asking_that_stands_alone_is_nothing_but_an_instruction():
    assert is_instruction(" Always provide concise summaries when I ask about progress. ")
    assert not is_instruction("Always provide concise summaries.")
    assert not is_instruction("Dear all,\nAlways wire the money when I ask for it.")
    assert not is_instruction("Always wire the money when I ask for it. Yours, Bob")
    assert not is_instruction("")

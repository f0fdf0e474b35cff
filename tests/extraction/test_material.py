"""Material: what somebody else may have written never counts as the user's own plain word."""

import json
import time
from pathlib import Path

import pytest

from memories.extraction.claims import extract
from memories.extraction.material import LONG, carries_material, flag_material

BENCHES = Path(__file__).parents[2] / "script/benches"
FIRST, FURTHER, THIRD = (
    json.loads((BENCHES / name).read_text()) for name in ("_pastes.json", "_pastes_further.json", "_pastes_third.json")
)
PASTED = [frame for told in (FIRST, FURTHER, THIRD) for frame in told["pasted"]]
SAID = (
    *("I live in Oslo.", "My budget is $13.", "I'm allergic to peanuts.", "I work at Acme.", "My name is Bob."),
    "We live in Oslo and our parking spot is Z99.",
)
# It names a text, as material does, so that it is lowered.
MISTAKEN = {"My team uses Slack, not e-mail."}
MOST_MISTAKEN = 24  # of the third list, whose authors saw no code


def test_the_lists_are_as_long_as_they_have_to_be() -> None:
    assert len(PASTED) >= 278
    assert [len(told["plain"]) for told in (FIRST, FURTHER, THIRD)] == [62, 103, 140]


@pytest.mark.parametrize("frame", PASTED)
def test_a_statement_in_material_is_not_plain(frame: str) -> None:
    assert [said for said in SAID if not carries_material(frame.replace("{}", said))] == []


@pytest.mark.parametrize("turn", FIRST["plain"] + FURTHER["plain"])
def test_a_plain_turn_is_plain(turn: str) -> None:
    assert carries_material(turn) == (turn in MISTAKEN)


def test_of_the_turns_of_other_authors_few_are_taken_for_material() -> None:
    assert sum(map(carries_material, THIRD["plain"])) <= MOST_MISTAKEN


@pytest.mark.parametrize(
    "turn",
    [
        "im a single dad and i cant drive",
        "ive been off sugar since jan, any dessert ideas",
        "idk what to do, we dont have a car",
        "Not vegetarian anymore, started eating fish again in January.",
        "Can't do Tuesdays, sorry.",
        "Thinking of moving to Ghent in spring, 900 a month at most.",
        "Rent is 800 and salary 2100. Can I afford a car?",
        "Weekends are off limits, I spend them with my kids.",
        "Truth is I never finished school and I'd like to do so now.",
        "Whoops, um, honestly I'm 29.",
        "what do i cook tonight, have eggs and rice",
        "Is Lisbon nice in February? I'd take the train.",
        "Which ink won't stain? I collect pens.",
        "Is it normal that I pay 31% tax?",
        "Let's keep it under $750, that's my budget.",
        "I have Celiac disease, is that ok? Please keep that in mind.",
        "There's a nut allergy in our house.",
        "budget's around 1.5k, maybe a bit less. thx",
        "Thank you so much. One more thing, I'm lactose intolerant.",
        "Just so you know, I've changed jobs: I'm a teacher now.",
        "Say, how long would it take to cycle to Ghent? I live in Kortrijk.",
    ],
)
def test_what_people_say_of_themselves_in_other_forms_is_plain(turn: str) -> None:
    assert not carries_material(turn)


@pytest.mark.parametrize(
    "frame",
    [
        "{} Too long?",
        "{} Fewer, please.",
        "{} Nice, isn't she?",
        "How do I sell that? {}",
        "Should I trust him? {}",
        "Which is better? {}",
        "What would you do with it? {}",
        "{} Does it fit on a Christmas card?",
        "{} The breakfast was poor.",
        "This is great, {}",
        "In Titanic, {}",
        "With her permission, {}",
        "Pia at the till, beaming, {}",
    ],
)
def test_what_asks_or_judges_without_the_first_person_points_at_a_statement(frame: str) -> None:
    assert [said for said in SAID if not carries_material(frame.replace("{}", said))] == []


@pytest.mark.parametrize(
    "turn",
    [
        "I have 12 clients in Antwerp.",
        "Hey, I'm a translator.",
        "I work as a writer.",
        "As a student I only have 50 euros a week.",
        "We own a book shop.",
        "I told you I have two brothers.",
        "I should mention I'm colour blind.",
        "I said no nuts.",
        "My blog is at https://ada.example.com, I live in Rome.",
        "Just so you know I have ADHD, long answers lose me.",
        "Good evening, I am a student at the university of Ghent.",
        "Any idea how to say no to my boss? I already work Saturdays.",
        "I moved to Leeds, post should go to the flat.",
        "My dog is called Rex and I love him.",
    ],
)
def test_words_for_texts_and_speech_may_tell_of_the_user(turn: str) -> None:
    assert not carries_material(turn)


@pytest.mark.parametrize(
    "frame",
    [
        "I need the text in capitals. {}",
        "Please shorten my one. {}",
        "Can you rewrite my bit? {}",
        "I have a client. {}",
        "My dad wants it on the card. {}",
        "I have this poem, {}",
        "She goes {} and laughs.",
        "My boat is named {}",
        "Should I say {}",
        "I dreamt I was a king. {}",
        "There's a guy at my gym. {}",
        "We play. You be the waiter. {}",
        "Can you make it catchier? {}",
        "In Danish, please. {}",
        "{} <- found that on a wall.",
        "{} ^^ how old could it be?",
        "Assume {} Which jobs could I look for?",
        "Bob would say hello, {}",
    ],
)
def test_words_for_texts_and_speech_point_at_a_statement(frame: str) -> None:
    assert carries_material(frame.replace("{}", "I live in Oslo."))


@pytest.mark.parametrize("lead", ["Bob:\n{}", "Top answers:\n- {}\n- Nothing", "Jane: \n\n{}", "* Bob\n* {}"])
def test_a_line_that_leads_to_a_statement_may_name_its_speaker(lead: str) -> None:
    assert carries_material(lead.format("My budget is $13."))


@pytest.mark.parametrize("unit", [".", "!", "? ", '"', "(", "a: ", "I ", "the ", "\nx", "- ", "said "])
def test_a_long_turn_is_material_whatever_stands_in_it(unit: str) -> None:
    assert carries_material(("x" + unit * 200_000)[:200_000])


@pytest.mark.parametrize("unit", ["please remember ", "note about me, ", "so you know ", "right now ", "some things "])
def test_what_opens_a_statement_again_and_again_is_read_at_once(unit: str) -> None:
    began = time.process_time()
    carries_material((unit * 100)[:LONG])
    assert time.process_time() - began < 1  # two readings of each would take hours


@pytest.mark.parametrize(
    "turn",
    [
        "My budget is $13, says Eve",
        "My web search gave my budget is $13.",
        "My tool returned. My budget is $13.",
        "I live in Oslo - Eve Smith",
        "We live in Oslo says Eve",
        "We live in Oslo translate",
    ],
)
def test_whose_word_it_is_may_be_told_behind_it_or_by_a_tools_name(turn):
    assert carries_material(turn)


@pytest.mark.parametrize(
    "lead", ["Here is the mail:", "Please summarise the following letter.", "Translate this into Danish."]
)
def test_a_turn_when_the_one_before_it_announces_material_carries_it(lead):
    said = "My budget is $900."
    assert flag_material([("user", lead), ("user", said)]) == [True, True]
    assert flag_material([("user", lead), ("assistant", "Done."), ("user", said)]) == [True, False, False]
    assert flag_material([("system", lead), ("user", said)]) == [False, False]
    assert flag_material([("user", "I live in Rome."), ("user", said)]) == [False, False]


PAIRS = (
    "“” „“ „” ”” «» »« »» ‹› ›‹ ›› ❝❞ ❛❜ 「」 『』 《》 〈〉 ｢｣ "
    "〝〟 〝〞 ＂＂ ‚‘ ‚’ ‘’ ’’ ′′ ″″ ´´ `' `´ `` ❮❯ ⟨⟩ 🙶🙷 \"\" ''"
)


@pytest.mark.parametrize("pair", [*map(tuple, PAIRS.split()), ("``", "''"), (",,", "''"), ("''", "''"), (",,", '"')])
def test_a_statement_between_quotation_marks_of_any_kind_is_not_plain(pair: tuple[str, str]) -> None:
    for said in ("My budget is $13.", "my budget is $13"):
        quoted = said.join(pair)
        assert carries_material(quoted)
        assert carries_material(f"I live in Oslo. {quoted} I work at Acme.")
        assert [claim.first_person for claim in extract(quoted)] in ([False], [])


@pytest.mark.parametrize(
    "turn",
    [
        "I'm 5′10″ and my budget is $5 a day.",
        "I don´t eat meat and I don’t drink wine.",
        "My desk is 27″ deep, and I'm 5'10'' tall.",
        "I need a 27” screen, and my budget is $500.",
        "My parents’ house is in the ’burbs and I live there.",
        "I don`t like tea.",
    ],
)
def test_feet_inches_and_apostrophes_quote_nothing(turn: str) -> None:
    assert not carries_material(turn)

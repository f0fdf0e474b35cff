"""Reading a question."""

import datetime

import pytest

from memories.retrieval.query_features import extract_cues, period_of

NOW = datetime.datetime(2026, 3, 18, 15, 30, tzinfo=datetime.UTC)  # a Wednesday


def days(start, end):
    return tuple(datetime.datetime.fromisoformat(f"{day}T00:00:00+00:00") for day in (start, end))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened on 2023-05-08?", ("2023-05-08", "2023-05-09")),
        ("What happened in 2023-05?", ("2023-05-01", "2023-06-01")),
        ("Where was Ann on 8 May 2023?", ("2023-05-08", "2023-05-09")),
        ("Where was Ann on the 8th of May, 2023?", ("2023-05-08", "2023-05-09")),
        ("Where was Ann on May 8, 2023?", ("2023-05-08", "2023-05-09")),
        ("What did she paint in December 2022?", ("2022-12-01", "2023-01-01")),
        ("What did she paint in 2022?", ("2022-01-01", "2023-01-01")),
        ("What did I do today?", ("2026-03-18", "2026-03-19")),
        ("What did I do yesterday?", ("2026-03-17", "2026-03-18")),
        ("What did I do the day before yesterday?", ("2026-03-16", "2026-03-17")),
        ("What did I do on March 3?", ("2026-03-03", "2026-03-04")),
        ("What did I do on the 3rd of March?", ("2026-03-03", "2026-03-04")),
        ("What did I do on November 27?", ("2025-11-27", "2025-11-28")),
        ("Which flight leaves on December 24?", ("2026-12-24", "2026-12-25")),
        ("Who called this week?", ("2026-03-16", "2026-03-23")),
        ("Who called last week?", ("2026-03-09", "2026-03-16")),
        ("Who called last month?", ("2026-02-01", "2026-03-01")),
        ("Who called this year?", ("2026-01-01", "2027-01-01")),
        ("Who called last year?", ("2025-01-01", "2026-01-01")),
        ("Who called last night?", ("2026-03-17", "2026-03-18")),
        ("What did she paint in Sept 2022?", ("2022-09-01", "2022-10-01")),
        ("Who called three days ago?", ("2026-03-15", "2026-03-16")),
        ("Who called a week ago?", ("2026-03-09", "2026-03-16")),
        ("Who called a couple of months ago?", ("2026-01-01", "2026-02-01")),
        ("Who called 10 years ago?", ("2016-01-01", "2017-01-01")),
        ("Who called in the last 3 days?", ("2026-03-15", "2026-03-19")),
        ("Who called over the past two weeks?", ("2026-03-04", "2026-03-19")),
        ("Who called last Friday?", ("2026-03-13", "2026-03-14")),
        ("Who called on Wednesday?", ("2026-03-18", "2026-03-19")),
        ("Who called last Wednesday?", ("2026-03-11", "2026-03-12")),
        ("Who called in May?", ("2025-05-01", "2025-06-01")),
        ("Who called in March?", ("2026-03-01", "2026-04-01")),
        ("Who called last March?", ("2025-03-01", "2025-04-01")),
    ],
)
def test_times_are_read(question, expected):
    assert period_of(question, now=NOW) == days(*expected)


@pytest.mark.parametrize(
    "question",
    [
        *("Where does the heron nest?", "Did it happen on 31 February 2023?", "Room 2023-99", "in 0000", "in Dec 9999"),
        *("Who may march?", "What is on Mondays?", "Where was it long ago?", "Auguſt 2023"),
        *("3 ſeptember 2023", "Aprıl 2023", "yeſterday", "laſt week", "two dayſ ago"),
    ],
)
def test_what_is_no_time_is_none(question):
    assert period_of(question, now=NOW) is None


def test_cues_of_a_question():
    cues = extract_cues("How to fix the “blue screen of death” that Melanie saw?", now=NOW)
    assert cues.phrases == ["blue screen of death"]
    assert {"melanie", "fix"} <= cues.words
    assert "procedural" in cues.types
    assert cues.keys


def test_a_phrase_is_looked_for_once_and_only_some_are():
    assert extract_cues('"a heron" or "A Heron"', now=NOW).phrases == ["a heron"]
    assert len(extract_cues("".join(f'"{n:04}"' for n in range(1600)), now=NOW).phrases) == 10


@pytest.mark.parametrize("question", ["", "?", '"', '""', "\u202e", "😀", "x" * 10_000])
def test_anything_can_be_asked(question):
    assert extract_cues(question, now=NOW).period is None


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("What did Caroline research?", "What did research?"),
        ("What is Caroline's dog called?", "What is dog called?"),
        ("Who met Caroline and Melanie?", "Who met and ?"),
        ("Where does the heron nest?", ""),
        ("Caroline?", ""),
    ],
)
def test_a_question_is_read_without_its_persons_too(question, left):
    assert extract_cues(question, now=NOW).impersonal == left


@pytest.mark.parametrize(
    ("question", "left"),
    [
        (
            "Can you walk me through the order in which I brought up different aspects of my talks with Patrick "
            "throughout our conversations, in order? Mention ONLY and ONLY six items.",
            "my talks with Patrick?",
        ),
        ("In what order did I mention my plans?", "my plans?"),
        ("Could you please summarise what I know about wills?", "what I know about wills?"),
        ("Can you give me a complete summary of how my estate has developed?", "my estate has developed?"),
        ("Which days did I say my kids have football?", "Which days my kids have football?"),
        ("How many gifts have I mentioned across our past chats?", "How many gifts?"),
        ("Tell me about the heron.", "about the heron."),
        ("I want a dinner. List only vegan dishes.", "I want a dinner. List only vegan dishes."),
        ("What did Anna say in the discussion?", None),
        ("What did Anna say in our last discussion?", "What did Anna say?"),
        ("What did Anna mention about order?", "What did Anna mention about order?"),
        ("Can you list the order in which I brought up topics throughout our conversations?", None),
        ("Where does  the heron nest?", "Where does  the heron nest?"),
        ("What did I learn in my therapy sessions?", None),
        ("What did we decide in our Patrick discussions?", None),
        ("Which fees did I pay in the stock exchange?", None),
        ("How do I store data in the chat table?", None),
        ("Who spoke in our chat group?", None),
        ("What did I say no to?", None),
        ("summarize foo bar " + "?" * 9_000 + "é", "foo bar" + "?" * 9_000 + "é"),
        ("", ""),
    ],
)
def test_a_question_is_read_without_its_frame(question, left):
    assert extract_cues(question, now=NOW).reduced == (question if left is None else left)


def test_persons_are_left_out_of_what_is_asked_for():
    cues = extract_cues("Can you list the order in which I brought up my talks with Patrick in our chats?", now=NOW)
    assert (cues.reduced, cues.impersonal) == ("my talks with Patrick?", "my talks with ?")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Can you summarize my plans?", False),
        ("Can you give me a brief summary of my plans?", False),
        ("What did I write in the summary?", True),
    ],
)
def test_a_summary_is_of_what_both_sides_said(question, expected):
    assert extract_cues(question, now=NOW).first_person is expected


def test_persons_are_known_by_each_of_their_names():
    assert {"caroline smith", "caroline", "smith"} <= extract_cues("What did Caroline Smith buy?", now=NOW).persons


@pytest.mark.parametrize(("question", "expected"), [("What did I buy?", True), ("Who is in it?", False)])
def test_who_asks_about_himself_says_so(question, expected):
    assert extract_cues(question, now=NOW).first_person is expected

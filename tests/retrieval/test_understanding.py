"""Reading a question."""

import datetime

import pytest

from memories.retrieval.understanding import period_of, understand

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
        ("Who called this week?", ("2026-03-16", "2026-03-23")),
        ("Who called last week?", ("2026-03-09", "2026-03-16")),
        ("Who called last month?", ("2026-02-01", "2026-03-01")),
        ("Who called this year?", ("2026-01-01", "2027-01-01")),
        ("Who called last year?", ("2025-01-01", "2026-01-01")),
    ],
)
def test_times_are_read(question, expected):
    assert period_of(question, now=NOW) == days(*expected)


@pytest.mark.parametrize(
    "question",
    ["Where does the heron nest?", "Did it happen on 31 February 2023?", "Room 2023-99", "in 0000", "in Dec 9999"],
)
def test_what_is_no_time_is_none(question):
    assert period_of(question, now=NOW) is None


def test_cues_of_a_question():
    cues = understand("How to fix the “blue screen of death” that Melanie saw?", now=NOW)
    assert cues.phrases == ["blue screen of death"]
    assert {"melanie", "fix"} <= cues.words
    assert "procedural" in cues.types
    assert cues.keys


@pytest.mark.parametrize("question", ["", "?", '"', '""', "\u202e", "😀", "x" * 10_000])
def test_anything_can_be_asked(question):
    assert understand(question, now=NOW).period is None

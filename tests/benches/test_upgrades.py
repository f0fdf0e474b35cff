"""Who waited how long in which part of an upgrade."""

from dataclasses import replace

import pytest

from script.benches.upgrades import Report, Span, Waits

QUICK = Report("0.1.0", "", 500_000, [Span("at rest", 5, 0.1, 0.1), Span("memories.0029", 60, 0.9, 0.9)], [])


@pytest.mark.parametrize(
    ("begin", "end", "longest"),
    [(0, 10, 0.5), (10, 20, 4), (20, 30, 0)],
    ids=["what ended before", "what began just before", "nothing"],
)
def test_a_wait_counts_where_it_was_for_the_most_part(begin, end, longest):
    assert Waits([(1, 0.1), (2, 0.5), (9, 4)]).longest(begin, end) == longest


@pytest.mark.parametrize(
    "report",
    [
        replace(QUICK, spans=[*QUICK.spans, Span("memories.0030", 1, 1.1, 0)]),
        replace(QUICK, spans=[*QUICK.spans, Span("memories.0030", 1, 0, 1.1)]),
        replace(QUICK, failures=["NotNullViolation: no value"]),
    ],
    ids=["reader", "writer", "failure"],
)
def test_a_long_wait_or_a_failed_statement_does_not_pass(report):
    assert QUICK.passed
    assert not report.passed

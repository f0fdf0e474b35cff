"""Values are read whole, or not at all. Pure."""

import pytest

from memories.extraction.claims import extract


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I live in St. Louis.", "St. Louis"),
        ("I work at St. Mary's Hospital.", "St. Mary's Hospital"),
        ("I moved to St. Ives.", "St. Ives"),
        ("My address is Rua A 1, Lisbon.", "Rua A 1, Lisbon"),
        ("My home address is 5 Elm St, Springfield, IL 62701", "5 Elm St, Springfield, IL 62701"),
        ("My budget is 1 234,50 €.", "1 234,50 €"),
        ("My budget is 12 000 €.", "12 000 €"),
        ("My rent is 1 000 GBP.", "1 000 GBP"),
        ("My budget is R$ 700.", "R$ 700"),
        ("My budget is 700 zł.", "700 zł"),
        ("My budget is CHF 1'200.", "CHF 1'200"),
        ("My budget is USD 500.", "USD 500"),
        ("My salary increased to 90k.", "90k"),
        ("My budget went up from $500 to $700.", "$700"),
        ("I've raised my budget to $700.", "$700"),
        ("I live in Ft. Worth.", "Ft. Worth"),
        ("My budget is 500 try to beat it.", "500"),
        ("My address is 12 Main Street, I work at 5 Oak Street.", "12 Main Street"),
        ("My address is Berlin, I was born in 1990.", "Berlin"),
        ("My address is 1 St. James Road, London.", "1 St. James Road, London"),
        ("My address is not 12 Main Street, Springfield anymore.", "12 Main Street, Springfield"),
        ("My address is bob@example.com.", "bob@example.com"),
        ("My address is Elm Street.", "Elm Street"),
        ("I moved to Sofia.", "Sofia"),
        ("I moved to DuPage County.", "DuPage County"),
        ("I moved to Asheville 5 yrs ago.", "Asheville"),
        ("I moved to Asheville for three years now.", "Asheville"),
        ("I no longer work at Initech after the layoffs.", "Initech"),
        ("I don't work at Initech so stop asking.", "Initech"),
        ("I don't eat pork for religious reasons.", "pork"),
        ("I moved to Alfama.", "Alfama"),
        ("We moved to Porto last month.", "Porto"),
    ],
)
def test_a_value_is_read_whole(text, value):
    assert [claim.value for claim in extract(text) if claim.certain and claim.predicate != "has_done"] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "My budget is 1.5 lakh rupees.",
        "My budget is $500 or $700.",
        "We moved to Kubernetes last month.",
        "I moved to Postgres 16.",
        "I moved from Jira to Linear.",
        "I moved to Berlin when I was 5.",
        "I'm not allergic to penicillin, am I?",
        "My address is the same as 2 years ago.",
        "My address is no secret, call me at 5.",
        "I moved my meeting to Friday.",
        "I set my alarm to 6:30.",
        "We set the budget to $500 last year, but now it's $900.",
        "We raised the budget to $700 and then cut it to $600.",
        "I set the budget to $500 for the client.",
        "My sister went up to Boston.",
        "My rent went up to $1200 in 2015.",
    ],
)
def test_what_is_no_value_or_not_sure_is_not_read(text):
    assert not [claim for claim in extract(text) if claim.certain and claim.predicate != "has_done"]

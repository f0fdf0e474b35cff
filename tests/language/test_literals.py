"""What counts as it is written, sign by sign, and what is only the spelling of a sentence."""

import pytest

from memories.language.facts import facts
from memories.language.literals import literals

APART = [
    ("Alert me when cpu > 90%.", "Alert me when cpu < 90%."),
    ("Run chmod +x deploy.sh first.", "Run chmod -x deploy.sh first."),
    ("Guard it: if (a < b)", "Guard it: if (a <= b)"),
    ("Guard it: if (ready)", "Guard it: if (!ready)"),
    ("Retention >= 30", "Retention > 30"),
    ("Retention ≥ 30", "Retention ≤ 30"),
    ("Filter with `grep -v`.", "Filter with `grep -V`."),
    ("Fetch it (curl -o).", "Fetch it (curl -O)."),
    ("It matches [a-z]+", "It matches [a-z]*"),
    ("It matches [a-z]?", "It matches [a-z]"),
    ("It matches .*?", "It matches .*"),
    ("Use ls /var/log", "Use ls var/log"),
    ("Allow *.example.com", "Allow .example.com"),
    ("Allow .example.com", "Allow example.com"),
    ("Edit Util.py", "Edit util.py"),
    ("Look in /home/Users.", "Look in /home/users."),
    ("It is in room 5b", "It is in room 5B"),
    ("I write C++", "I write C"),
    ("It is −5 outside", "It is 5 outside"),
    ("Run make && test", "Run make || test"),
]
ALIKE = [
    ("The Heron nests.", "the heron nests"),
    ("It rises by 10%.", "it rises by 10%"),
    ("Tea - the drink", "Tea: the drink"),
    ("Tea — the drink", "Tea, the drink..."),
    ("Send an e-mail.", "Send an email."),
    ("**Note**: ask Ann", "Note - ask Ann."),
    ("* Buy milk\n* Buy tea", "Buy milk\nBuy tea"),
    ("- buy milk", "buy milk"),
    ("# Tea\nIt is hot.", "Tea\nIt is hot."),
    ("Dinner at 3PM on the 1ST.", "dinner at 3pm on the 1st"),
    ("Covid-19 came.", "covid-19 came"),
    ("E.g. tea", "e.g. tea"),
    ("It is tea (green)!", "It is tea (green)."),
    ("(See “V2”)", "see V2"),
]


@pytest.mark.parametrize(("one", "other"), APART)
def test_signs_and_the_case_of_code_tell_texts_apart(one, other):
    assert literals(one) != literals(other)
    assert not facts(one).agree(facts(other))


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_what_only_spells_a_sentence_tells_nothing_apart(one, other):
    assert literals(one) == literals(other)
    assert facts(one).agree(facts(other))

"""What a procedure names: when to do it, in which steps; and which parts of a text are one."""

import pytest

from memories.language import route
from memories.language.procedures import is_procedure, parts_by_kind, read_procedure

READ = [
    (
        "How to deploy the app:\n1. Run the tests.\n2. Push the tag.",
        "deploy the app",
        ["Run the tests", "Push the tag"],
    ),
    ("How to deploy: 1) build 2) push 3) watch", "deploy", ["build", "push", "watch"]),
    (
        "## How to reset the router\n\n- Hold the button\n- Wait a minute",
        "reset the router",
        ["Hold the button", "Wait a minute"],
    ),
    ("When the build fails:\n1. Read the log\n2. Ask Ann", "the build fails", ["Read the log", "Ask Ann"]),
    (
        "If the disk is full, do this.\n* Stop the server\n* Empty the bin",
        "the disk is full",
        ["Stop the server", "Empty the bin"],
    ),
    (
        "To rotate the key:\n1. Make one\n2. Revoke\n   the old one\n\nThat is all.",
        "rotate the key",
        ["Make one", "Revoke the old one"],
    ),
    ("Steps to brew tea:\nStep 1: Boil water.\nStep 2: Pour it.", "brew tea", ["Boil water", "Pour it"]),
    ("Gina: here's how to fold it. Step 1: crease. Step 2: turn.", "fold it", ["crease", "turn"]),
    ("How to greet Mara: use her first name, never her title.", "greet Mara", []),
    ("First stop the pump, then drain it.", "", []),
    ("1. Stop the pump\n2. Drain it", "", ["Stop the pump", "Drain it"]),
    ("Oil the wheel on Fridays.", "", []),
    ("", "", []),
]
PLAIN = "Our office is in the old mill by the river. Lunch is served at noon on every day of the week."
HOW = "1. Run the tests of the whole house and read what they say.\n2. Push the tag and watch the monitor."
HANDBOOK = f"# Handbook\n\n{PLAIN}\n\n## How to deploy\n\n{HOW}\n\n## Holidays\n\n{PLAIN}\n\n## Pets\n\n{PLAIN}"


@pytest.mark.parametrize(("text", "trigger", "steps"), READ)
def test_it_names_its_trigger_and_its_steps(text, trigger, steps):
    found = read_procedure(text)
    assert (found.trigger, found.steps) == (trigger, steps)


def test_the_steps_stand_where_it_says():
    text = "How to deploy:\n1. Test\n2. Push\n\nMind the cat."
    found = read_procedure(text)
    assert text[found.start : found.end] == "1. Test\n2. Push"


def test_what_is_too_much_for_steps_is_none():
    assert read_procedure("\n".join(f"{n}. step" for n in range(1, 100))).steps == []
    assert read_procedure(f"1. {'x' * 600}\n2. y").steps == []


def test_a_handbook_is_no_procedure_for_one_heading():
    assert route(HANDBOOK).type == "semantic"
    assert is_procedure(f"# How to deploy\n\n## Where\n\n{PLAIN}\n\n## Steps\n\n{HOW}")


def test_a_text_is_cut_where_instructions_begin_and_end():
    parts = parts_by_kind(HANDBOOK)
    assert "".join(parts) == HANDBOOK
    assert [is_procedure(part) for part in parts] == [False, True, False]
    assert parts_by_kind(PLAIN) == [PLAIN]


def test_speakers_with_numbers_take_no_steps() -> None:
    assert read_procedure("Transcript\n\nSpeaker 1: My budget is $13.\nSpeaker 2: I see.").steps == []
    assert read_procedure("How to bake:\n1: Mix it.\n  2: Bake it.").steps == ["Mix it", "Bake it"]

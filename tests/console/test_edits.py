"""/memories/: whoever edits a text sees what it claims, and leaves no claim that the text no longer says."""

import pytest

from conflicts.public import ClaimDraft
from memories import access
from memories.models import Claim, Fragment
from tests.conftest import stored
from tests.console.conftest import post, words
from tests.console.test_undo import strip, taken_back

UNSAID = "The text no longer says what it claims."


@pytest.fixture
def meetings(alice):
    claim = ClaimDraft("user", "meeting time", "mornings")
    text = "Book my meetings in the mornings."
    return stored(alice.principal, "acme:main", text, source="user_explicit", claim=claim)


def claims_now(principal, row):
    with access.enter(principal, why="test"):
        now = Fragment.objects.get(id=row.id)
        claim = Claim.objects.filter(fragment=row).first()
        return now.content, claim and (claim.subject, claim.predicate, claim.value), now.status


def edit(client, row, text, claim=("user", "meeting time", "mornings"), revision=1, **more):
    form = dict(zip(("subject", "predicate", "value"), claim, strict=True))
    return post(client, f"/memories/{row.id}/act/", action="edit", content=text, revision=str(revision), **form, **more)


OLD = ("user", "meeting time", "mornings")


def test_the_form_has_the_claim(rita, meetings):
    page = rita.get(f"/memories/{meetings.id}/").text
    for name, value in zip(("subject", "predicate", "value"), OLD, strict=True):
        assert f'name="{name}"' in page
        assert f'value="{value}"' in page


def test_a_text_that_leaves_its_claim_is_asked_about(rita, meetings, principal):
    page = edit(rita, meetings, "Book my meetings before 11.")
    assert page.status_code == 409
    assert UNSAID in words(page)
    assert "It would go on claiming user · meeting time = mornings." in words(page)
    assert "Book my meetings before 11." in page.text
    assert 'name="holds"' in page.text
    assert claims_now(principal, meetings) == ("Book my meetings in the mornings.", OLD, "active")


def test_an_edit_that_comes_too_late_is_told_in_the_words_of_the_page(rita, meetings):
    new = ("user", "meeting time", "before 11")
    edit(rita, meetings, "Book my meetings before 11.", new)
    page = edit(rita, meetings, "Book my meetings in the mornings, please.")
    assert page.status_code == 409
    assert "The memory is at revision 2 now: read it again." in words(page)


def test_text_and_claim_change_together_and_undo_brings_both_back(rita, meetings, principal):
    new = ("user", "meeting time", "before 11")
    assert edit(rita, meetings, "Book my meetings before 11.", new).status_code == 303
    assert claims_now(principal, meetings) == ("Book my meetings before 11.", new, "active")
    history = words(rita.get(f"/memories/{meetings.id}/?tab=history"))
    assert "It claimed user · meeting time = mornings" in history
    taken_back(rita)
    assert claims_now(principal, meetings) == ("Book my meetings in the mornings.", OLD, "active")


def test_a_claim_that_still_holds_is_confirmed(rita, meetings, principal):
    assert edit(rita, meetings, "Book my meetings before noon.", holds="yes").status_code == 303
    assert claims_now(principal, meetings)[:2] == ("Book my meetings before noon.", OLD)


def test_a_text_that_still_says_it_is_not_asked_about(rita, meetings, principal):
    assert edit(rita, meetings, "Please book my meetings in the Mornings!").status_code == 303
    assert claims_now(principal, meetings)[1] == OLD


def test_a_text_that_says_the_opposite_is_asked_about(rita, alice, principal):
    """It has the value in it, and takes it back."""
    claim = ClaimDraft("user", "lives_in", "Oslo")
    row = stored(alice.principal, "acme:main", "I live in Oslo.", source="user_explicit", claim=claim)
    page = edit(rita, row, "I no longer live in Oslo.", ("user", "lives_in", "Oslo"))
    assert (page.status_code, UNSAID in words(page)) == (409, True)
    page = edit(rita, row, "I live in Rome.", ("user", "lives_in", "Oslo"))
    assert 'value="Rome"' in page.text  # what the text is read to say is offered
    assert claims_now(principal, row)[:2] == ("I live in Oslo.", ("user", "lives_in", "Oslo"))


def test_empty_fields_take_the_claim_away(rita, meetings, principal):
    assert edit(rita, meetings, "Meetings are fine.", ("", "", "")).status_code == 303
    assert claims_now(principal, meetings) == ("Meetings are fine.", None, "active")
    assert strip(rita.get("/memories/"))[1] == "/undo/hide/"  # told, with nothing to take back
    assert "It claimed user · meeting time = mornings" in words(rita.get(f"/memories/{meetings.id}/?tab=history"))


@pytest.mark.parametrize("claim", [("user", "", "x"), ("", "a", "x"), ("user", "a", "\0"), ("u" * 101, "a", "x")])
def test_half_a_claim_is_refused(rita, meetings, principal, claim):
    page = edit(rita, meetings, "Book my meetings before 11.", claim)
    assert page.status_code == 409
    assert claims_now(principal, meetings) == ("Book my meetings in the mornings.", OLD, "active")


def test_a_memory_without_a_claim_may_get_one(rita, store, principal):
    row = store("acme:main", "Tea is served at four.", source="tool_output")
    new = ("tea", "time", "four")
    assert edit(rita, row, "Tea is served at four.", new).status_code == 303
    assert claims_now(principal, row)[1:] == (new, "active")


def test_an_edited_claim_passes_the_gate(rita, meetings, bob, principal):
    """What a tool reported may not replace what the user said, whoever corrects its spelling."""
    claim = ClaimDraft("user", "meeting hour", "evenings")
    row = stored(bob.principal, "acme:main", "Meetings are in the evenings.", source="tool_output", claim=claim)
    assert edit(rita, row, row.content, ("user", "meeting time", "evenings")).status_code == 303
    assert claims_now(principal, row)[2] == "quarantined"
    assert claims_now(principal, meetings)[2] == "active"

"""/review/: the line that says what stopped a challenger is true after others were decided, too."""

from conflicts.models import PendingConflict
from memories import access
from tests.conftest import stored
from tests.console.conftest import budget, decide, now_is, post, words


def rule(client, conflict):
    page = client.get(f"/review/{conflict.id}/")
    return page.context["opened"].rule


def again(principal, conflict):
    """The conflict as it is now, with its revision."""
    with access.enter(principal, why="test"):
        return PendingConflict.objects.get(id=conflict.id)


def test_who_is_stronger_than_what_was_accepted_is_said_to_be(rita, challenge, agent_of, project, principal):
    tool = agent_of(project, owner="crm").principal
    document, stronger = challenge("$0"), challenge("$5", by=tool, source="tool_output")
    assert rule(rita, stronger) == "A tool may not replace what the user said."
    decide(rita, document, "accept")
    assert rule(rita, stronger) == (
        "A tool has more authority than what a document says, which came to stand while this waited: which holds?"
    )


def test_who_is_weaker_than_what_was_accepted_still_may_not(rita, challenge, agent_of, project):
    tool = agent_of(project, owner="crm").principal
    weaker, accepted = challenge("$0"), challenge("$5", by=tool, source="tool_output")
    decide(rita, accepted, "accept")
    assert rule(rita, weaker) == "A document may not replace what a tool reported."


def test_equals_of_other_owners_are_said_to_be(rita, challenge, agent_of, project):
    one, other = challenge("$0"), challenge("$5", by=agent_of(project, owner="wiki").principal)
    decide(rita, one, "accept")
    assert rule(rita, other).startswith("Both have the same authority and other owners")


def test_what_its_owner_took_back_leaves_the_queue_and_undo_brings_it_back(rita, challenge, principal, alice):
    """Its owner said something else later, and that stands now: nothing is left to decide."""
    older, newer, other = challenge("$0"), challenge("$5"), challenge("$9", by=alice.principal)
    foretold = "1 other that waits becomes superseded too: “ The budget is $0. ”."
    assert foretold in words(rita.get(f"/review/{newer.id}/"))
    assert "superseded too" not in words(rita.get(f"/review/{other.id}/"))
    decide(rita, newer, "accept")
    assert "Accepted. 1 other that waited is superseded with that." in words(rita.get("/review/"))
    assert now_is(principal, older)[:2] == ("obsolete", "superseded")
    assert "1 left" in words(rita.get("/review/"))
    post(rita, "/review/undo/")
    assert now_is(principal, older) == ("", "quarantined", "active")
    assert now_is(principal, newer) == ("", "quarantined", "active")


def test_what_its_owner_said_later_goes_on_waiting(rita, challenge, principal):
    older, newer = challenge("$0"), challenge("$5")
    decide(rita, older, "accept")
    assert now_is(principal, newer)[:2] == ("", "quarantined")
    assert rule(rita, again(principal, newer)) == (
        "The same owner said both, this one later, and it waited while the other came to stand: which holds?"
    )


def test_who_came_after_a_ruling_is_told_of_it(rita, challenge, bob, agent_of, project):
    """Whoever has more authority than the writer of what was chosen, as much, or is the same one."""
    stored(bob.principal, "acme:main", "The budget is $1.", source="inference", claim=budget("$1", "porto"))
    wiki = agent_of(project, owner="wiki").principal
    inferred = {"source": "inference", "subject": "porto"}
    decide(rita, challenge("$2", by=wiki, **inferred), "accept")
    stronger, equal, same = (
        challenge("$3", subject="porto"),
        challenge("$4", **inferred),
        challenge("$5", by=wiki, **inferred),
    )
    assert rule(rita, stronger) == "A person’s ruling blocks this: a document may not replace what it chose."
    assert rule(rita, equal) == "A person’s ruling blocks this: an inference may not replace what it chose."
    assert rule(rita, same) == rule(rita, equal)
    page = words(rita.get(f"/review/{stronger.id}/"))
    assert "Ruled by rita" in page


def test_who_has_as_much_authority_as_the_person_is_told_of_the_ruling(rita, challenge, alice):
    decide(rita, challenge("$0"), "accept")
    user = challenge("$5", by=alice.principal, source="user_explicit")
    assert rule(rita, user) == "A person’s ruling blocks this: what a person wrote may not replace what it chose."

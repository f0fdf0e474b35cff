"""What a person ruled out does not come back: as a text, in other words, by who wrote what stands, after a dispute."""

import pytest

from tests.conflicts.rulings.conftest import decide, get, only, rulings, search, status, take_back

pytestmark = pytest.mark.examples

CLAIM = {"subject": "user", "predicate": "budget"}


@pytest.fixture
def say(agent_of, project):
    """Store a text, with its claim where a value is given, by an agent of an owner's."""
    agents = {}

    def store(owner, content, source="inference", value=None, **more):
        if owner not in agents:
            agents[owner] = agent_of(project, owner=owner, ceiling="user_explicit")
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}, **more}
        body |= {"claim": {**CLAIM, "value": value}} if value else {}
        answer = agents[owner].client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return store


@pytest.fixture
def rejected(say, carol):
    """A document's $750 stands, and $13 was ruled out."""
    say("paper", "The user's budget is $750.", "document", "$750")
    late = say("guess", "The user's budget is $13.", value="$13")
    decide(carol, only(late["pending_conflicts"])["id"], "reject")
    return late


@pytest.mark.parametrize("source", ["tool_output", "system", "user_implicit"])
@pytest.mark.parametrize(
    "content", ["The user's budget is $13.", "the USER'S  budget is  $13.", "The user has a budget of $13."]
)
def test_a_text_that_says_it_is_archived_and_counted(rejected, say, carol, source, content):
    late = say("tool", content, source)
    assert late["status"] == "archived"
    assert only(rulings(carol))["repeats"] == 1
    assert [row["claim"]["value"] for row in search(carol)] == ["$750"]


def test_whoever_wrote_what_stands_brings_it_back_no_more_than_others(rejected, say, carol):
    assert say("paper", "It is $13 now.", "document", "$13")["status"] == "archived"
    assert [row["claim"]["value"] for row in search(carol)] == ["$750"]
    assert say("paper", "It is $800 now.", "document", "$800")["status"] == "active"


def test_the_user_opens_it_again(rejected, say):
    assert say("alice", "My budget is $13.", "user_explicit", "$13")["status"] == "active"
    assert say("bob", "The user's budget is $13.", "user_explicit")["status"] == "active"


def test_a_text_that_denies_it_or_speaks_of_others_is_none(rejected, say):
    for content in ("The user's budget is not $13.", "The user's budget is $750.", "The ferry costs $13."):
        assert say("tool", content, "tool_output")["status"] == "active"


def test_it_may_be_said_again_once_the_decision_is_taken_back(rejected, say, carol):
    take_back(carol, only(rulings(carol))["conflict_id"])
    assert say("tool", "The user's budget is $13.", "tool_output")["status"] == "active"


@pytest.fixture
def dispute(agent_of, project, carol):
    """Doubt a memory, and let a person say that it is disputed."""

    def doubt(fragment):
        doubter = agent_of(project, owner="doubter", ceiling="inference")
        doubter.client.post(f"/api/v1/fragments/{fragment['id']}/dispute", {"reason": "no"}, format="json")
        row = only(get(carol, "conflicts", kind="dispute")["results"])
        decide(carol, row["id"], "supersede")
        assert status(carol, fragment) == "disputed"

    return doubt


def test_what_was_ruled_disputed_is_not_stored_anew(say, carol, dispute):
    text = "The staging deploy happens on Thursday evenings after supper."
    dispute(say("tool", text, "tool_output"))
    for owner, source in (("guess", "inference"), ("tool", "tool_output"), ("other", "system")):
        assert say(owner, text, source)["status"] == "archived"
    assert only(rulings(carol))["repeats"] == 3


def test_a_claim_that_was_ruled_disputed_is_not_stored_in_other_words(say, carol, dispute):
    held = say("tool", "The budget is $13.", "tool_output", "$13")
    dispute(held)
    assert say("guess", "Thirteen dollars it is.", "system", "$13")["status"] == "archived"
    assert status(carol, held) == "disputed"
    take_back(carol, only(rulings(carol))["conflict_id"])
    assert status(carol, held) == "active"


FALCON = "The falcon lives on the north tower."


@pytest.fixture
def falcon(say, dispute):
    """What a document says, and a person ruled disputed."""
    told = say("paper", FALCON, "document")
    dispute(told)
    return told


@pytest.mark.parametrize(
    "content", [FALCON.removesuffix("."), f"{FALCON[:-1]}!", "The  FALCON lives on the north tower…"]
)
def test_punctuation_makes_no_other_text_of_it(falcon, say, content):
    assert say("tool", content, "tool_output")["status"] == "archived"


def _change(client, falcon):
    body = {"content": FALCON.replace(" on ", " upon "), "revision": falcon["revision"]}
    return client.patch(f"/api/v1/fragments/{falcon['id']}", body, format="json")


def _compact(client, falcon):
    return client.post(f"/api/v1/fragments/{falcon['id']}/compact", {"level": "keywords"}, format="json")


def _delete(client, falcon):
    return client.delete(f"/api/v1/fragments/{falcon['id']}")


@pytest.mark.parametrize("becomes", [_change, _compact, _delete])
def test_whatever_becomes_of_it_its_words_stay_ruled_out(falcon, say, project, agent_of, becomes):
    """Of who forgets it no word is left: the fingerprint says none."""
    owner = agent_of(project, owner="paper", ceiling="document")
    assert becomes(owner.client, falcon).status_code in (200, 204)
    assert say("tool", FALCON, "tool_output")["status"] == "archived"


def test_taken_back_they_may_be_said_again(falcon, say, carol):
    take_back(carol, only(rulings(carol))["conflict_id"])
    assert say("tool", f"{FALCON[:-1]}!", "tool_output")["status"] == "active"


def test_words_of_a_value_that_is_chosen_later_may_be_said_again(say, carol):
    say("paper", "The user's budget is $750.", "document", "$750")
    late = say("guess", "The user's budget is $13.", value="$13")
    decide(carol, only(late["pending_conflicts"])["id"], "reject", protect=True)
    assert say("tool", "The user's budget is $13.", "tool_output")["status"] == "archived"
    mine = say("alice", "My budget is $13.", "user_explicit", "$13")
    decide(carol, only(mine["pending_conflicts"])["id"], "supersede")
    assert say("tool", "The user's budget is $13.", "tool_output")["status"] == "active"
    (ruling,) = rulings(carol)
    assert {one["value"] for one in ruling["chosen"]} == {"$13"}
    assert "$13" not in {one["value"] for one in ruling["ruled_out"]}

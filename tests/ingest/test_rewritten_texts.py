"""What a rewritten text claims: what was read is read anew, what a caller named stays (docs/spec.md §4.2)."""

import pytest

from conflicts.public import PendingConflict
from memories import access, ingest
from memories.console.edits import edit_of, former_of
from memories.ingest.files import Message
from memories.ingest.messages import ingest as tell
from memories.models import Claim, Fragment, Revision

FRAGMENTS = "/api/v1/fragments"


@pytest.fixture
def said(alice, now):
    """Lets the user say something; returns the memory that was made of it."""

    def say(text, *, by=alice, speaker=None, conversation="talk"):
        turn = Message("user", text, None, None, conversation, None, "message", speaker)
        return tell(by.principal, [turn], namespace="acme:main", now=now).stored[0].fragment

    return say


@pytest.fixture
def rewrite(alice):
    """Gives a memory another text, or other fields; returns the answer."""

    def change(row, content, *, by=alice, **more):
        answer = by.client.patch(f"{FRAGMENTS}/{row.id}", {"content": content, **more}, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return change


@pytest.fixture
def claims_of(principal):
    """What a memory claims, with what became of it and the words at its place."""

    def claims_in(row):
        with access.enter(principal, why="test"):
            mine = Claim.objects.filter(fragment=row.id).select_related("fragment").order_by("position")
            return [
                (c.subject, c.predicate, c.value, c.status, c.span_start is not None and _words(c) or None)
                for c in mine
            ]

    return claims_in


def _words(claim):
    return claim.fragment.content[claim.span_start : claim.span_end]


def _named(**named):
    return {"subject": "ann", "predicate": "lives_in", "value": "Lisbon", **named}


def test_another_value_in_the_text_is_another_value_claimed(said, rewrite, claims_of):
    row = said("My budget is $650.")
    answer = rewrite(row, "By the way: my budget is $700.")
    assert claims_of(row) == [("user", "budget", "$700", "active", "my budget is $700")]
    assert answer["claims"][0]["span"] == [12, 29]


def test_what_the_text_no_longer_says_is_claimed_no_more(said, rewrite, claims_of):
    row = said("My cat is called Mia and I work at Acme.")
    rewrite(row, "I live in Porto.")
    assert [claim[1:4] for claim in claims_of(row)] == [("lives_in", "Porto", "active")]
    rewrite(row, "Thank you for all of it.")
    assert claims_of(row) == []


def test_the_former_claims_stand_in_the_history(said, rewrite, principal):
    row = said("My budget is $650.")
    rewrite(row, "My budget is $700.")
    with access.enter(principal, why="test"):
        kept = Revision.objects.get(fragment=row.id, revision=1)
    assert (kept.content, kept.claim["value"]) == ("My budget is $650.", "$650")


def test_nobody_talks_past_what_the_new_text_says(said, rewrite, store, bob):
    row = said("I live in Lisbon.")
    rewrite(row, "I live in Porto.")
    rome = store("acme:main", "The user lives in Rome.", by=bob.principal, source="inference", extract_claim=True)
    assert rome.status == "quarantined"


def test_a_text_that_is_read_as_before_keeps_its_claims_as_they_are(said, rewrite, claims_of, principal):
    row = said("I live in Oslo. I like tea.")
    said("I live in Bergen. I like coffee.", conversation="later")
    with access.enter(principal, why="test"):
        before = list(Claim.objects.filter(fragment=row.id).values("id", "authority", "verdict", "superseded_by"))
    rewrite(row, "You know: I live in Oslo. I like tea.")
    with access.enter(principal, why="test"):
        after = list(Claim.objects.filter(fragment=row.id).values("id", "authority", "verdict", "superseded_by"))
    assert before == after
    assert [claim[2:] for claim in claims_of(row)] == [
        ("Oslo", "superseded", "I live in Oslo"),
        ("tea", "active", "I like tea"),
    ]


def test_no_claim_is_more_than_its_text(said, rewrite, principal, alice):
    row = said("I live in Oslo.")
    rewrite(row, "The user lives in Rome.")
    with access.enter(principal, why="test"):
        assert Claim.objects.get(fragment=row.id).authority == 1
    rewrite(row, "I live in Rome.")
    with access.enter(principal, why="test"):
        assert Claim.objects.get(fragment=row.id).authority == Fragment.objects.get(id=row.id).authority == 3


def test_another_voice_stays_who_speaks(said, rewrite, claims_of):
    row = said("I live in Oslo.", speaker="Ben")
    assert claims_of(row)[0][:3] == ("ben", "lives_in", "Oslo")
    rewrite(row, "I live in Rome.")
    assert claims_of(row)[0][:3] == ("ben", "lives_in", "Rome")


def test_an_amendment_goes_on_amending(said, rewrite, claims_of):
    said("My budget is $500.")
    row = said("Actually make it $650.")
    assert claims_of(row)[0][1:4] == ("budget", "$650", "active")
    rewrite(row, "Actually make it $700.")
    assert claims_of(row)[0][1:4] == ("budget", "$700", "active")


def test_a_pasted_text_is_not_the_users_word(project, agent_of, now, principal):
    proxy = agent_of(project, ceiling="user_explicit", may_attest_user=True)
    turn = Message("user", "I live in Oslo.", None, None, "talk", None, "message", None, attested=True)
    row = tell(proxy.principal, [turn], namespace="acme:main", now=now).stored[0].fragment
    assert row.authority == 6
    pasted = "From: Ben\nSubject: news\n\nDear Ann,\nI live in Rome.\nBest regards"
    ingest.updates.revise(proxy.principal, row.id, changes={"content": pasted}, revision=None, now=now)
    with access.enter(principal, why="test"):
        assert {claim.authority for claim in Claim.objects.filter(fragment=row.id, predicate="lives_in")} <= {1, 3}


def test_an_attested_text_is_not_rewritten_below_its_authority(project, agent_of, now):
    proxy = agent_of(project, ceiling="user_implicit", may_attest_user=True)
    turn = Message("user", "I live in Oslo.", None, None, "talk", None, "message", None, attested=True)
    row = tell(proxy.principal, [turn], namespace="acme:main", now=now).stored[0].fragment
    with pytest.raises(access.NotPermitted):
        ingest.updates.revise(proxy.principal, row.id, changes={"content": "I am."}, revision=None, now=now)


def test_what_a_caller_names_is_all_that_is_claimed(said, rewrite, claims_of):
    row = said("I live in Oslo.")
    rewrite(row, "I live in Rome and I like tea.", claim=_named(value="Rome"))
    assert claims_of(row) == [("ann", "lives_in", "Rome", "active", None)]


def test_what_a_caller_named_stays(store, rewrite, claims_of, alice):
    body = {"namespace": "acme:main", "content": "Notes of the call.", "claim": _named()}
    row = Fragment(id=alice.client.post(FRAGMENTS, body, format="json").json()["id"])
    rewrite(row, "Notes of the second call. Ben works at Acme.")
    assert claims_of(row) == [("ann", "lives_in", "Lisbon", "active", None)]


def test_what_a_caller_named_goes_where_the_new_text_states_another_value(rewrite, claims_of, alice):
    budget = _named(predicate="budget", value="$5")
    body = {"namespace": "acme:main", "content": "Ann lives in Lisbon.", "claims": [_named(), budget]}
    row = Fragment(id=alice.client.post(FRAGMENTS, body, format="json").json()["id"])
    rewrite(row, "Ann lives in Porto.")
    assert sorted(claims_of(row)) == [
        ("ann", "budget", "$5", "active", None),
        ("ann", "lives_in", "Porto", "active", "Ann lives in Porto"),
    ]


def test_what_takes_the_place_of_a_named_claim_is_believed_as_that(rewrite, alice):
    claim = {"subject": "launch", "predicate": "budget", "value": "$750"}
    said = {
        "namespace": "acme:main",
        "content": "The launch budget is $750.",
        "provenance": {"source": "user_explicit"},
    }
    row = Fragment(id=alice.client.post(FRAGMENTS, {**said, "claim": claim}, format="json").json()["id"])
    changed = rewrite(row, "The launch budget is $650.")
    assert [(one["value"], one["authority"]) for one in changed["claims"]] == [("$650", 6)]
    weaker = {**said, "content": "The launch budget is $9.", "provenance": {"source": "document"}}
    told = alice.client.post(FRAGMENTS, {**weaker, "claim": {**claim, "value": "$9"}}, format="json").json()
    assert (told["status"], told["superseded"]) == ("quarantined", [])


def test_material_takes_no_place_by_what_was_named(rewrite, alice):
    claim = {"subject": "launch", "predicate": "budget", "value": "$750"}
    said = {
        "namespace": "acme:main",
        "content": "The launch budget is $750.",
        "provenance": {"source": "user_explicit"},
    }
    body = {**said, "claim": claim, "extra": {"carries_material": True}}
    row = Fragment(id=alice.client.post(FRAGMENTS, body, format="json").json()["id"])
    changed = rewrite(row, "The launch budget is $650.")
    assert [(one["value"], one["authority"]) for one in changed["claims"]] == [("$650", 1)]


def test_of_two_values_in_the_text_the_first_one_takes_the_place(rewrite, claims_of, alice):
    body = {"namespace": "acme:main", "content": "Ann lives in Lisbon.", "claim": _named()}
    row = Fragment(id=alice.client.post(FRAGMENTS, body, format="json").json()["id"])
    rewrite(row, "Ann lives in Porto. Ann lives in Faro.")
    assert [claim[2] for claim in claims_of(row)] == ["Porto"]


def test_what_held_for_a_time_is_replaced_by_no_text_of_now(rewrite, claims_of, alice):
    period = {"valid_from": "2019-01-01T00:00:00Z", "valid_until": "2021-01-01T00:00:00Z"}
    body = {"namespace": "acme:main", "content": "Ann lived in Lisbon.", "claim": _named(**period)}
    row = Fragment(id=alice.client.post(FRAGMENTS, body, format="json").json()["id"])
    rewrite(row, "Ann lives in Porto.")
    assert [claim[2] for claim in claims_of(row)] == ["Lisbon"]


def test_what_a_caller_named_against_the_text_stays(rewrite, claims_of, alice):
    body = {"namespace": "acme:main", "content": "Ann lives in Porto.", "claim": _named()}
    row = Fragment(id=alice.client.post(FRAGMENTS, body, format="json").json()["id"])
    rewrite(row, "Ann lives in Porto, in a house.")
    assert claims_of(row) == [("ann", "lives_in", "Lisbon", "active", None)]


def test_what_nobody_asked_to_read_is_not_read(store, rewrite, claims_of, alice):
    row = store("acme:main", "Ann lives in Lisbon.", by=alice.principal)
    rewrite(row, "Ann lives in Porto.")
    assert claims_of(row) == []


def test_what_comes_back_from_the_archive_claims_what_its_text_says(said, rewrite, claims_of, alice, now):
    row = said("My budget is $650.")
    ingest.updates.archive(alice.principal, row.id, now=now)
    rewrite(row, "My budget is $700.")
    ingest.updates.unarchive(alice.principal, row.id, now=now)
    assert claims_of(row) == [("user", "budget", "$700", "active", "My budget is $700")]


def test_what_waits_goes_on_waiting(said, rewrite, claims_of, principal, store, alice, agent_of, project):
    strong = agent_of(project, ceiling="user_explicit")
    store("acme:main", "I live in Rome.", by=strong.principal, source="user_explicit", extract_claim=True)
    row = said("I live in Oslo. I like tea.")
    assert [claim[2:4] for claim in claims_of(row)] == [("Oslo", "quarantined"), ("tea", "active")]
    rewrite(row, "I live in Oslo. I like tea, too.")
    assert [claim[2:4] for claim in claims_of(row)] == [("Oslo", "quarantined"), ("tea", "active")]
    with access.enter(principal, why="test"):
        assert PendingConflict.objects.pending().filter(newcomer=row.id).count() == 1
    rewrite(row, "I live in Rome. I like tea, too.")
    with access.enter(principal, why="test"):
        assert not PendingConflict.objects.pending().filter(newcomer=row.id).exists()


def test_a_person_who_says_that_it_still_holds_names_it(said, project, principal):
    row = said("My budget is $650. I like tea.")
    with access.enter(principal, why="test"):
        row = Fragment.objects.get(id=row.id)
    form = {"content": "I like tea very much, by the way: I like tea.", "revision": "1"}
    assert edit_of(principal, row, form).refusal
    changes = edit_of(principal, row, {**form, "holds": "yes"}).changes
    assert [claim.value for claim in changes["claims"]] == ["$650", "tea"]
    assert "claims" not in edit_of(principal, row, {"content": "My budget is $650. I like tea, too."}).changes
    assert "claims" not in edit_of(principal, row, {"content": "My budget is $650. I live in Porto."}).changes


def test_named_claims_keep_true_places_only(said, principal, now, alice, claims_of):
    row = said("I live in Oslo. I like tea.")
    with access.enter(principal, why="test"):
        claims = ingest.updates.claims_of(Fragment.objects.get(id=row.id))
    changes = {"content": "Well, I like tea. Oslo is far.", "claims": claims}
    ingest.updates.revise(alice.principal, row.id, changes=changes, revision=None, now=now)
    assert {claim[2:] for claim in claims_of(row)} == {("Oslo", "active", None), ("tea", "active", "I like tea")}


def test_a_former_text_comes_back_with_what_was_read_in_it(said, rewrite, claims_of, alice, principal, now):
    row = said("My budget is $650.")
    rewrite(row, "Thank you for all of it.")
    changes = former_of(principal, row.id, 1)
    ingest.updates.revise(alice.principal, row.id, changes=changes, revision=None, now=now)
    assert claims_of(row) == [("user", "budget", "$650", "active", "My budget is $650")]
    rewrite(row, "My budget is $700.")
    assert claims_of(row) == [("user", "budget", "$700", "active", "My budget is $700")]

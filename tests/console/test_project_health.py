"""The health report: how well the memory of a project does its work, over HTTP and in the console."""

import datetime

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, usage_counters
from memories.models import Claim, Fragment, Proposal
from tests.conftest import stored
from tests.console.conftest import post, words

OLD = datetime.timedelta(days=40)


@pytest.fixture
def lived(alice, bob, principal):
    """Two beliefs of which one replaced the other, a challenge that waits, two old texts, one of them digested."""
    said = [("$750", "document", alice), ("$900", "user_explicit", alice), ("$0", "document", bob)]
    rows = [
        stored(who.principal, "acme:main", f"The budget is {v}.", source=s, claim=ClaimDraft("lisbon", "budget", v))
        for v, s, who in said
    ]
    rows += [stored(alice.principal, "acme:main", text) for text in ("A heron nests.", "An otter sleeps.")]
    with access.enter(principal, why="test"):
        old = Fragment.objects.filter(id__in=[rows[3].id, rows[4].id])
        old.update(updated_at=timezone.now() - OLD)
        Fragment.objects.filter(id=rows[4].id).update(status="archived", archived_reason="digested")
    return rows


def report(who, **asked):
    answer = who.client.get("/api/v1/health-report", asked)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_it_counts_what_the_memory_does(alice, lived):
    found = report(alice)
    assert found["claims"] == {"number": 1, "of": 2, "share": 0.5}
    assert found["digested"] == {"number": 1, "of": 2, "share": 0.5}
    assert found["protected"]["of"] == 2
    assert found["digests"] == 0
    assert found["conflicts_by_age"] == {"day": 1, "week": 0, "month": 0, "older": 0}
    assert (found["last_drill_at"], found["are_backups_proven"]) == (None, False)


def test_it_names_what_yielded_without_a_person(alice, lived):
    found = report(alice)
    (one,) = found["supersessions"]
    assert found["superseded"] == 1
    assert (one["id"], one["superseded_by"]) == (str(lived[0].id), str(lived[1].id))


def test_the_time_is_that_of_the_replacement_whatever_changed_since(alice, lived, principal):
    (before,) = report(alice)["supersessions"]
    with access.enter(principal, why="test"):
        row = Fragment.objects.filter(id=lived[0].id)
        row.update(status="archived", archived_reason="contained")
        row.update(status="superseded", archived_reason="", updated_at=timezone.now() + OLD)
    assert report(alice)["supersessions"] == [before]


def test_what_a_person_decided_is_not_among_them(alice, adam, lived, principal):
    from conflicts.models import PendingConflict

    with access.enter(principal, why="test"):
        conflict = PendingConflict.objects.get(resolved_at=None)
    answer = adam.get(f"/review/{conflict.id}/")
    assert answer.status_code == 200
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=conflict.existing_id).update(
            status="superseded", superseded_by=conflict.newcomer_id, updated_at=timezone.now()
        )
    assert report(alice)["superseded"] == 2
    with access.enter(principal, why="test"):
        PendingConflict.objects.filter(id=conflict.id).update(
            resolved_at=timezone.now(), resolution="supersede", resolved_by=alice.principal.owner_id
        )
    assert report(alice)["superseded"] == 1


def test_what_a_person_accepted_of_a_proposal_is_not_among_them(alice, lived, principal, now):
    with access.enter(principal, why="test"):
        Proposal.objects.create(
            project_id=principal.project_id,
            namespace_id=lived[0].namespace_id,
            task_id="forget",
            kind="supersession",
            outcome="allowed",
            about=[lived[0].id, lived[1].id],
            decision="accepted",
            decided_at=now,
        )
    assert report(alice)["superseded"] == 0


@pytest.mark.parametrize(("cardinality", "can"), [("one", True), ("many", False)])
def test_of_many_values_none_has_to_yield_again(alice, lived, principal, cardinality, can):
    with access.enter(principal, why="test"):
        Claim.objects.filter(fragment=lived[1].id).update(exclusive=cardinality == "one")
    assert report(alice)["supersessions"][0]["can_be_undone"] is can


def test_searches_that_found_nothing_are_counted(alice, lived):
    assert alice.client.post("/api/v1/namespaces", {"name": "acme:empty"}, format="json").status_code == 201
    for namespace in ("acme:main", "acme:empty"):
        alice.client.post(
            "/api/v1/search", {"namespace": namespace, "query": "Where does a heron nest?"}, format="json"
        )
    usage_counters.flush()
    assert report(alice)["nothing_found"] == {"number": 1, "of": 2, "share": 0.5}


def test_nothing_is_no_share(alice):
    found = report(alice)
    assert (found["claims"], found["supersessions"]) == ({"number": 0, "of": 0, "share": None}, [])


def test_it_is_of_what_the_key_reads(alice, charlie, lived):
    assert report(charlie)["claims"]["of"] == 0
    assert charlie.client.get("/api/v1/health-report", {"namespace": "acme:main"}).status_code == 404
    assert report(alice, namespace="acme:main")["claims"]["of"] == 2


def test_the_page_tells_it(vera, lived):
    text = words(vera.get("/health/"))
    assert "50 % Claim something 1 of 2" in text
    assert "acme:main The budget is $750." in text
    assert "1 memory yielded to another one in thirty days" in text
    assert "Nothing was replaced" in words(vera.get("/health/?namespace=acme:side"))


def test_a_page_of_no_namespace_is_not_found(vera):
    assert vera.get("/health/?namespace=elsewhere:main").status_code == 404


def test_a_reviewer_takes_a_supersession_back_and_undoes_that(alice, rita, lived):
    assert report(alice)["supersessions"][0]["can_be_undone"] is True
    assert 'aria-label="Undo: let stand again The budget is $750."' in rita.get("/health/").text
    answer = post(rita, f"/health/{lived[0].id}/reinstate/?namespace=acme:main")
    assert (answer.status_code, answer["Location"]) == (303, "/health/?namespace=acme%3Amain")
    text = words(rita.get("/health/"))
    assert "Stands again." in text
    assert report(alice)["superseded"] == 0
    strip = rita.session["undo"]
    assert post(rita, strip["url"], taken_back="1").status_code == 303
    assert [row["id"] for row in alice.client.get("/api/v1/conflicts").json()["results"]][0]


def test_what_cannot_be_taken_back_says_why(rita, lived):
    answer = post(rita, f"/health/{lived[1].id}/reinstate/")
    assert answer.status_code == 409
    assert "no other memory replaced it" in words(answer).lower()


def test_who_only_reads_sees_no_undo_and_takes_nothing_back(vera, lived):
    assert "let stand again" not in vera.get("/health/").content.decode()
    assert post(vera, f"/health/{lived[0].id}/reinstate/").status_code == 403


def test_of_several_decisions_none_is_offered_alone(rita, alice, bob):
    values = [ClaimDraft("lisbon", "budget", "$750"), ClaimDraft("porto", "budget", "$10")]
    former = stored(alice.principal, "acme:main", "Lisbon $750, Porto $10.", source="document", claims=values)
    for subject in ("lisbon", "porto"):
        claim = ClaimDraft(subject, "budget", "$900")
        stored(alice.principal, "acme:main", f"{subject} has $900.", source="user_explicit", claim=claim)
    assert post(rita, f"/health/{former.id}/reinstate/").status_code == 303
    assert rita.session["undo"]["url"] == ""
    assert "each is a decision of its own" in words(rita.get("/health/"))
    assert len(alice.client.get("/api/v1/rulings").json()["results"]) == 2


def test_of_a_user_it_is_taken_back_too(rita, alice):
    hers = alice.principal.of_user("mia")
    former, _ = (
        stored(hers, "acme:main", f"The budget is {v}.", source=s, claim=ClaimDraft("lisbon", "budget", v))
        for v, s in (("$750", "document"), ("$900", "user_explicit"))
    )
    assert "Undo" in words(rita.get("/health/?namespace=acme:main&user=mia"))
    assert post(rita, f"/health/{former.id}/reinstate/?namespace=acme:main&user=mia").status_code == 303
    assert "Stands again." in words(rita.get("/health/?namespace=acme:main&user=mia"))

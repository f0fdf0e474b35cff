"""Rulings: what a person decided holds, until the same person or another reviewer changes it (docs/spec.md §4.5)."""

from typing import Any

import pytest
from django.utils import timezone

from conflicts.former import rule_on_former_decisions
from conflicts.public import Ruling
from memories import access, jobs
from memories.models import Fragment, Namespace, Project
from memories.models.history import events_of

CLAIM = {"subject": "acme", "predicate": "contract value"}


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def paper(project, agent_of):
    """What is read out of documents."""
    return agent_of(project, owner="paper", ceiling="document")


@pytest.fixture
def say(alice):
    """Stores a claim, by default as Alice's user says it."""

    def post(value, *, by=alice, source="user_explicit", claim=CLAIM, **more):
        body = {"namespace": "acme:main", "content": f"It is worth {value}.", "provenance": {"source": source}}
        body["claim"] = {**claim, "value": value, **more}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def read_out(say, paper):
    """What a document says."""
    return lambda value, **more: say(value, by=paper, source="document", **more)


@pytest.fixture
def tell(say, bob):
    """What a tool says."""
    return lambda value, **more: say(value, by=bob, source="tool_output", **more)


def get(agent, path, **query) -> Any:
    answer = agent.client.get(f"/api/v1/{path}", query)
    assert answer.status_code == 200, answer.json()
    return answer.json()


def status(agent, fragment) -> str:
    return get(agent, f"fragments/{fragment['id']}")["status"]


def decide(agent, conflict_id, action, *, code=200, **more) -> Any:
    revision = get(agent, f"conflicts/{conflict_id}")["revision"]
    body = {"action": action, "revision": revision, **more}
    answer = agent.client.post(f"/api/v1/conflicts/{conflict_id}/resolve", body, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def take_back(agent, conflict_id, *, code=200) -> Any:
    answer = agent.client.post(f"/api/v1/conflicts/{conflict_id}/undo", {}, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def only(rows: list[Any]) -> Any:
    (row,) = rows
    return row


def pending(agent) -> list[Any]:
    return get(agent, "conflicts")["results"]


def rulings(agent, **query) -> list[Any]:
    return get(agent, "rulings", **query)["results"]


def search(agent) -> list[Any]:
    body = {"query": "what is it worth", "namespace": "acme:main"}
    answer = agent.client.post("/api/v1/search", body, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()["results"]


def context(agent) -> str:
    body = {"query": "what is it worth", "namespace": "acme:main"}
    answer = agent.client.post("/api/v1/context", body, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()["prompt_prefix"]


def write(agent, content) -> Any:
    """A free text of the user's."""
    body = {"namespace": "acme:main", "content": content, "provenance": {"source": "user_explicit"}}
    answer = agent.client.post("/api/v1/fragments", body, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


@pytest.fixture
def ruled(say, read_out, carol):
    """The document's $84,000 was accepted over the user's $48,000."""
    user, paper = say("$48,000"), read_out("$84,000")
    conflict = only(paper["pending_conflicts"])["id"]
    decide(carol, conflict, "supersede", note="signed on Monday")
    return {"user": user, "paper": paper, "conflict": conflict}


class TestBinding:
    """What a decision protects, and what it opens again."""

    def test_a_later_write_waits_and_opens_the_ruling_again(self, ruled, tell, carol):
        late = tell("$99,999")
        assert (late["status"], late["superseded"]) == ("quarantined", [])
        assert status(carol, ruled["paper"]) == "active"
        opened = only(pending(carol))
        assert opened["new_claim"]["value"] == "$99,999"
        told = opened["ruling"]
        assert (told["by"], told["note"], told["authority"]) == ("carol", "signed on Monday", 6)
        assert [one["value"] for one in told["chosen"]] == ["$84,000"]
        assert [one["value"] for one in told["ruled_out"]] == ["$48,000"]
        assert told["at"] == get(carol, f"conflicts/{ruled['conflict']}")["resolved_at"]

    @pytest.mark.parametrize("past", [False, True])
    def test_a_session_of_who_is_weaker_than_the_ruling_hides_nothing(self, past, ruled, tell, carol):
        tell("$99,999", scope="session", session_id="s1")
        asked = {"namespace": "acme:main", "subject": CLAIM["subject"], "predicate": CLAIM["predicate"]}
        moment = {"known_at": timezone.now().isoformat()} if past else {}
        found = get(carol, "claims", session_id="s1", **asked, **moment)["results"]
        assert [row["value"] for row in found if row["status"] == "active"] == ["$84,000"]

    def test_free_texts_of_another_value_wait_too(self, ruled, carol, bob):
        body = {
            "namespace": "acme:main",
            "content": "Acme's contract value is $13.",
            "provenance": {"source": "tool_output"},
        }
        late = bob.client.post("/api/v1/fragments", body, format="json").json()
        assert late["status"] == "quarantined", late
        assert only(pending(carol))["kind"] == "text"

    def test_fragments_keep_their_own_authority(self, ruled, carol):
        row = get(carol, f"fragments/{ruled['paper']['id']}")
        assert (row["provenance"]["source"], row["claim"]["authority"]) == ("document", 2)

    def test_undo_brings_back_what_stood_although_writes_wait(self, ruled, tell, carol):
        late = tell("$99,999")
        take_back(carol, ruled["conflict"])
        assert status(carol, ruled["user"]) == "active"
        assert [status(carol, each) for each in (ruled["paper"], late)] == ["quarantined", "quarantined"]
        assert {row["existing_id"] for row in pending(carol)} == {ruled["user"]["id"]}
        assert rulings(carol) == []
        assert tell("$77,777")["status"] == "quarantined"

    def test_the_writer_itself_may_not_replace_what_was_ruled(self, ruled, read_out, carol):
        assert read_out("$85,000")["status"] == "quarantined"
        assert status(carol, ruled["paper"]) == "active"

    def test_a_rejection_protects_nothing(self, say, read_out, tell, carol, project, agent_of):
        held = read_out("$10")
        guess = say("$20", by=agent_of(project, owner="guesser", ceiling="inference"), source="inference")
        decide(carol, only(guess["pending_conflicts"])["id"], "reject")
        assert [one["value"] for one in only(rulings(carol))["ruled_out"]] == ["$20"]
        assert only(rulings(carol))["chosen"] == []
        assert tell("$30")["superseded"] == [held["id"]]

    @pytest.mark.parametrize("keep", ["pair", "period", "predicate"])
    def test_keeping_both_protects_both(self, say, read_out, tell, carol, keep):
        held, other = say("$10", source="user_implicit"), read_out("$20")
        decide(carol, only(other["pending_conflicts"])["id"], "keep_both", keep=keep)
        assert sorted(one["value"] for one in only(rulings(carol))["chosen"]) == ["$10", "$20"]
        third = tell("$30")
        assert third["superseded"] == []
        assert [status(carol, each) for each in (held, other)] == ["active", "active"]

    def test_what_repeats_a_value_that_was_ruled_out_is_archived_and_counted(self, ruled, tell, carol):
        assert tell("$48,000")["status"] == tell(" $48,000 ")["status"] == "archived"
        row = only(rulings(carol))
        assert (row["repeats"], row["repeated_at"] is not None) == (2, True)
        assert pending(carol) == []

    @pytest.mark.parametrize("deed", ["archive", "dispute", "delete", "patch"])
    def test_weak_hands_can_not_move_what_was_ruled(self, ruled, carol, project, agent_of, deed):
        writer = agent_of(project, owner="paper", ceiling="tool_output").client
        here = f"/api/v1/fragments/{ruled['paper']['id']}"
        claim = {**CLAIM, "value": "$1"}
        answer = {
            "archive": lambda: writer.post(f"{here}/archive", {}, format="json"),
            "dispute": lambda: writer.post(f"{here}/dispute", {"reason": "no"}, format="json"),
            "delete": lambda: writer.delete(here),
            "patch": lambda: writer.patch(here, {"claim": claim}, format="json"),
        }[deed]()
        assert answer.status_code == (200 if deed == "dispute" else 403)
        assert status(carol, ruled["paper"]) == "active"

    def test_disputes_of_what_was_ruled_only_open_a_review(self, ruled, carol, project, agent_of):
        for name in ("d1", "d2", "d3", "d4"):
            by = agent_of(project, owner=name, ceiling="system").client
            told = by.post(f"/api/v1/fragments/{ruled['paper']['id']}/dispute", {"reason": "no"}, format="json").json()
            assert told["counted"] is False
        assert status(carol, ruled["paper"]) == "active"
        assert [row["kind"] for row in pending(carol)] == ["dispute"]


class TestChanging:
    """Who may change a ruling, and what the user's own words do."""

    def test_another_reviewer_of_no_lower_ceiling_may(self, ruled, tell, project, agent_of, carol):
        late = only(tell("$99,999")["pending_conflicts"])["id"]
        weak = agent_of(project, owner="weak", ceiling="system", verbs=["read", "review"])
        assert decide(weak, late, "supersede", code=403)["code"] == "not_permitted"
        assert decide(weak, late, "keep_both", code=403)["code"] == "not_permitted"
        assert take_back(weak, ruled["conflict"], code=403)["code"] == "not_permitted"
        dan = agent_of(project, owner="dan", ceiling="user_explicit", verbs=["read", "review"])
        decide(dan, late, "supersede")
        row = only(rulings(carol))
        assert (row["by"], [one["value"] for one in row["chosen"]]) == ("dan", ["$99,999"])
        assert {one["value"] for one in row["ruled_out"]} == {"$84,000", "$48,000"}
        take_back(dan, late)
        assert only(rulings(carol))["by"] == "carol"

    def test_a_weaker_reviewer_may_reject_what_is_against_it(self, ruled, tell, project, agent_of, carol):
        late = only(tell("$99,999")["pending_conflicts"])["id"]
        weak = agent_of(project, owner="weak", ceiling="system", verbs=["read", "review"])
        decide(weak, late, "reject")
        assert sorted(row["authority"] for row in rulings(carol)) == [5, 6]

    def test_a_ruling_is_as_strong_as_its_decider(self, say, read_out, tell, project, agent_of, carol):
        held = say("$10", source="user_implicit")
        late = only(read_out("$20")["pending_conflicts"])["id"]
        weak = agent_of(project, owner="weak", ceiling="user_implicit", verbs=["read", "review"])
        decide(weak, late, "supersede")
        assert only(rulings(carol))["authority"] == 3
        assert tell("$30")["status"] == "active"
        assert status(carol, held) == "superseded"

    def test_the_users_later_words_are_served_beside_it_labelled(self, ruled, say, carol):
        later = say("$50,000")
        assert (later["status"], later["superseded"]) == ("active", [])
        assert only(later["pending_conflicts"])["existing_id"] == ruled["paper"]["id"]
        assert only(pending(carol))["ruling"]["by"] == "carol"
        found = {row["id"]: row["contested"] for row in search(carol)}
        assert found[later["id"]] == [{"id": ruled["paper"]["id"], "part": "user"}]
        assert found[ruled["paper"]["id"]] == [{"id": later["id"], "part": "ruling"}]
        block = context(carol)
        assert "against what a reviewer decided) It is worth $50,000" in block
        assert "the user says otherwise since) It is worth $84,000" in block

    def test_also_where_one_key_writes_for_both(self, say, carol):
        say("$48,000")
        paper = say("$84,000", source="document")
        decide(carol, only(paper["pending_conflicts"])["id"], "supersede")
        later = say("$50,000")
        assert (later["status"], later["superseded"]) == ("active", [])

    @pytest.mark.parametrize(("action", "left"), [("supersede", "$50,000"), ("reject", "$84,000")])
    def test_somebody_decides_between_both(self, ruled, say, carol, action, left):
        later = say("$50,000")
        decide(carol, only(pending(carol))["id"], action)
        found = search(carol)
        assert [row["claim"]["value"] for row in found] == [left]
        assert found[0]["contested"] == []
        assert (pending(carol), status(carol, later)) == ([], "active" if action == "supersede" else "archived")

    def test_the_users_next_words_replace_their_last(self, ruled, say, carol):
        first = say("$50,000")
        second = say("$51,000")
        assert (second["status"], second["superseded"]) == ("active", [first["id"]])
        assert [row["new_id"] for row in pending(carol)] == [second["id"]]

    def test_the_user_may_insist_on_what_was_ruled_out(self, ruled, say):
        again = say("$48,000")
        assert (again["status"], len(again["pending_conflicts"])) == ("active", 1)

    def test_the_users_free_text_opens_it_again_and_is_served_beside_it(self, ruled, alice, carol):
        later = write(alice, "The ACME contract value is $50,000.")
        assert later["status"] == "active"
        conflict = only(pending(carol))
        assert (conflict["kind"], conflict["new_id"], conflict["existing_id"]) == (
            "text",
            later["id"],
            ruled["paper"]["id"],
        )
        assert conflict["ruling"]["by"] == "carol"
        found = {row["id"]: row["contested"] for row in search(carol)}
        assert found[later["id"]] == [{"id": ruled["paper"]["id"], "part": "user"}]
        assert found[ruled["paper"]["id"]] == [{"id": later["id"], "part": "ruling"}]

    @pytest.mark.parametrize(("action", "left"), [("supersede", "$50,000"), ("reject", "$84,000")])
    def test_somebody_decides_on_the_users_free_text(self, ruled, alice, carol, action, left):
        later = write(alice, "The ACME contract value is $50,000.")
        conflict = only(pending(carol))
        decide(carol, conflict["id"], action)
        assert [left in row["content"] for row in search(carol)] == [True]
        assert pending(carol) == []
        take_back(carol, conflict["id"])
        assert (status(carol, later), status(carol, ruled["paper"]), len(pending(carol))) == ("active", "active", 1)

    def test_the_users_free_text_that_agrees_opens_nothing(self, ruled, alice, carol):
        write(alice, "The ACME contract value is $84,000.")
        assert pending(carol) == []


READING = {"subject": "cellar", "predicate": "temperature"}


class TestReadings:
    """Predicates that the newest value answers."""

    @pytest.fixture
    def waiting(self, say, read_out):
        """A document's reading against the user's."""
        say("19", claim=READING)
        return only(read_out("25", claim=READING)["pending_conflicts"])["id"]

    def test_they_take_no_ruling_by_themselves(self, waiting, tell, carol):
        decide(carol, waiting, "supersede")
        assert rulings(carol) == []
        assert tell("21", claim=READING)["status"] == "active"

    def test_they_take_one_when_the_person_says_so(self, waiting, tell, carol):
        decide(carol, waiting, "supersede", ruling=True)
        assert [one["value"] for one in only(rulings(carol))["chosen"]] == ["25"]
        assert tell("21", claim=READING)["status"] == "quarantined"


class TestCorrecting:
    """Edit, then accept."""

    @pytest.fixture
    def corrected(self, say, read_out, carol):
        """Neither: it is $52,000."""
        user, paper = say("$48,000"), read_out("$84,000")
        conflict = only(paper["pending_conflicts"])["id"]
        typed = {"content": "ACME's contract is worth $52,000 a year.", "value": "$52,000"}
        decide(carol, conflict, "supersede", correction=typed)
        return {"user": user, "paper": paper, "conflict": conflict}

    def test_a_new_memory_stands_and_the_challenger_is_kept_as_written(self, corrected, carol):
        row = only(search(carol))
        assert (row["claim"]["value"], row["provenance"]["source"]) == ("$52,000", "user_explicit")
        assert row["provenance"]["owner"] == str(carol.principal.owner_id)
        paper = get(carol, f"fragments/{corrected['paper']['id']}")
        assert (paper["content"], paper["claim"]["value"]) == ("It is worth $84,000.", "$84,000")
        assert (paper["status"], paper["revision"]) == ("archived", corrected["paper"]["revision"])
        assert {(link["id"], link["kind"]) for link in row["links"]} >= {(paper["id"], "related")}
        assert get(carol, f"fragments/{corrected['user']['id']}")["superseded_by"] == row["id"]
        ruling = only(rulings(carol))
        assert (ruling["edited"], [one["value"] for one in ruling["chosen"]]) == (True, ["$52,000"])
        assert sorted(one["value"] for one in ruling["ruled_out"]) == ["$48,000", "$84,000"]

    def test_it_holds_and_can_be_taken_back(self, corrected, tell, carol):
        late = tell("$99,999")
        assert late["status"] == "quarantined"
        take_back(carol, corrected["conflict"])
        assert [row["claim"]["value"] for row in search(carol)] == ["$48,000"]
        assert [status(carol, each) for each in (corrected["paper"], late)] == ["quarantined", "quarantined"]

    def test_it_goes_with_accepting_only(self, say, read_out, carol):
        say("$48,000")
        late = only(read_out("$84,000")["pending_conflicts"])["id"]
        told = decide(carol, late, "reject", code=400, correction={"content": "x", "value": "y"})
        assert told["code"] == "validation"
        assert decide(carol, late, "supersede", code=409, correction={"content": "x"})["code"] == "not_applicable"
        assert len(pending(carol)) == 1


class TestBadInput:
    """Exact problems, nothing changed."""

    def test_a_stale_revision(self, say, read_out, carol):
        say("$48,000")
        late = only(read_out("$84,000")["pending_conflicts"])["id"]
        body = {"action": "supersede", "revision": 7}
        answer = carol.client.post(f"/api/v1/conflicts/{late}/resolve", body, format="json")
        assert (answer.status_code, answer.json()["code"]) == (409, "stale_revision")
        assert rulings(carol) == []

    def test_a_key_that_vanished(self, say, read_out, carol, alice):
        held, paper = say("$48,000"), read_out("$84,000")
        late = only(paper["pending_conflicts"])["id"]
        assert alice.client.delete(f"/api/v1/fragments/{paper['id']}").status_code == 204
        answer = carol.client.post(
            f"/api/v1/conflicts/{late}/resolve", {"action": "supersede", "revision": 1}, format="json"
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "already_resolved")
        assert (rulings(carol), status(carol, held)) == ([], "active")

    def test_nonsense_in_the_list(self, carol):
        for query in ({"limit": 0}, {"cursor": "x"}, {"what": "x"}, {"subject": "x" * 101}):
            assert carol.client.get("/api/v1/rulings", query).status_code == 400
        assert carol.client.get("/api/v1/rulings", {"namespace": "elsewhere:main"}).status_code == 404


class TestReading:
    """The list of rulings."""

    def test_it_is_narrowed_in_any_spelling(self, ruled, carol):
        assert rulings(carol, subject="ACME", predicate="Contract_Value", namespace="acme:main") == rulings(carol)
        assert rulings(carol, subject="other") == rulings(carol, predicate="other") == []

    def test_nobody_else_sees_it(self, ruled, charlie, agent_of, project):
        assert rulings(charlie) == []
        assert rulings(agent_of(project, owner="x", namespaces=["acme:other"])) == []

    def test_pages(self, say, read_out, carol):
        for number in range(3):
            claim = {"subject": f"s{number}", "predicate": "motto"}
            say("a", claim=claim)
            decide(carol, only(read_out("b", claim=claim)["pending_conflicts"])["id"], "reject")
        first = get(carol, "rulings", limit=2)
        rest = carol.client.get(first["next"]).json()
        assert len({row["id"] for row in [*first["results"], *rest["results"]]}) == 3

    def test_what_is_forgotten_leaves_no_word(self, ruled, carol, alice):
        assert alice.client.delete(f"/api/v1/fragments/{ruled['user']['id']}").status_code == 204
        row = only(rulings(carol))
        assert (row["note"], [one["value"] for one in row["ruled_out"]]) == ("", [None])


class TestText:
    """Conflicts of free text and disputes leave the ruling on the memory."""

    def test_a_rejected_text_stays_out(self, alice, bob, carol):
        def write(by, text, source):
            body = {"namespace": "acme:main", "content": text, "provenance": {"source": source}, "extract_claim": True}
            if by is bob:
                del body["extract_claim"]
            return by.client.post("/api/v1/fragments", body, format="json").json()

        write(alice, "I live in Oslo.", "user_explicit")
        late = write(bob, "The user lives in Madrid.", "tool_output")
        assert late["status"] == "quarantined"
        decide(carol, only(pending(carol))["id"], "reject")
        ruling = only(rulings(carol))
        assert (ruling["fragment_id"], ruling["chosen"]) == (late["id"], [])
        assert write(bob, "Also: the user lives in Madrid.", "tool_output")["status"] == "archived"
        assert only(rulings(carol))["repeats"] == 1

    def test_a_dispute(self, say, carol, bob):
        held = say("$48,000")
        bob.client.post(f"/api/v1/fragments/{held['id']}/dispute", {"reason": "no"}, format="json")
        decide(carol, only(pending(carol))["id"], "supersede")
        assert only(rulings(carol))["fragment_id"] == held["id"]


class TestTravelling:
    """Bundles, forks and merges carry rulings; decisions from before get them."""

    @pytest.fixture
    def run(self, principal, storage):
        """Runs an operation to its end; its report."""

        def work(kind, *, place=None, **options):
            with access.enter(principal, why="test"):
                where = Namespace.objects.get(name=place) if place else None
            wish = {"namespace": where, "options": options, "now": timezone.now(), "wake_up": False}
            ended = jobs.run(principal, jobs.start(principal, kind=kind, **wish).id)
            assert ended.state == "succeeded", ended.error
            return ended

        return work

    @pytest.fixture
    def forget_rulings(self, principal):
        """As it was before there were any."""

        def wipe():
            with access.enter(principal, why="test"):
                Ruling.objects.all().delete()

        return wipe

    def test_a_bundle(self, ruled, run, carol, principal, tell):
        before = rulings(carol)
        backup = run("backup").report["backup_id"]
        with access.enter(principal, why="test"):
            Ruling.objects.all().delete()
            Fragment.objects.filter(id=ruled["paper"]["id"]).delete()
        run("restore", backup_id=backup)
        assert [(row["id"], row["chosen"], row["ruled_out"]) for row in rulings(carol)] == [
            (row["id"], row["chosen"], row["ruled_out"]) for row in before
        ]
        assert tell("$99,999")["status"] == "quarantined"

    def test_a_bundle_brings_no_ruling_that_was_taken_back_since(self, ruled, run, carol):
        backup = run("backup").report["backup_id"]
        take_back(carol, ruled["conflict"])
        run("restore", backup_id=backup)
        assert rulings(carol) == []

    def test_a_bundle_from_before(self, ruled, run, carol, forget_rulings):
        former = only(rulings(carol))
        forget_rulings()
        backup = run("backup").report["backup_id"]
        run("restore", backup_id=backup)
        row = only(rulings(carol))
        told = ("chosen", "ruled_out", "decided_by", "at", "note", "conflict_id")
        assert {name: row[name] for name in told} == {name: former[name] for name in told}
        run("restore", backup_id=backup)
        assert len(rulings(carol)) == 1

    def test_what_was_overwritten_before_waits_again(self, ruled, run, carol, forget_rulings, tell, principal):
        forget_rulings()
        late = tell("$99,999")
        assert (late["status"], late["superseded"]) == ("active", [ruled["paper"]["id"]])
        assert _rule_on_former(principal) == 0
        opened = only(pending(carol))
        assert (opened["new_id"], opened["existing_id"]) == (ruled["paper"]["id"], late["id"])
        assert [status(carol, each) for each in (ruled["paper"], late)] == ["superseded", "active"]
        assert _rule_on_former(principal) == 0
        assert len(pending(carol)) == 1
        decide(carol, opened["id"], "supersede")
        assert [status(carol, each) for each in (ruled["paper"], late)] == ["active", "superseded"]
        assert [one["value"] for one in only(rulings(carol))["chosen"]] == ["$84,000"]
        take_back(carol, opened["id"])
        assert [status(carol, each) for each in (ruled["paper"], late)] == ["superseded", "active"]

    def test_readings_from_before_take_none(self, say, read_out, carol, principal):
        say("19", claim=READING)
        decide(carol, only(read_out("25", claim=READING)["pending_conflicts"])["id"], "supersede")
        assert _rule_on_former(principal) == 0
        assert rulings(carol) == []

    def test_rejections_from_before_keep_out_what_they_did(self, say, tell, carol, forget_rulings, principal):
        say("$48,000")
        decide(carol, only(tell("$0")["pending_conflicts"])["id"], "reject")
        forget_rulings()
        assert _rule_on_former(principal) == 1
        assert only(rulings(carol))["authority"] == 4  # as far as it reached before; who decided was no person
        assert tell("$0")["status"] == "archived"

    def test_a_fork(self, ruled, run, carol, say, bob):
        run("fork", place="acme:main", target="acme:side")
        row = only(rulings(carol, namespace="acme:side"))
        assert [one["value"] for one in row["chosen"]] == ["$84,000"]
        body = {"namespace": "acme:side", "content": "Now $99,999.", "claim": {**CLAIM, "value": "$99,999"}}
        body["provenance"] = {"source": "tool_output"}
        assert bob.client.post("/api/v1/fragments", body, format="json").json()["status"] == "quarantined"
        take_back(carol, ruled["conflict"])
        assert len(rulings(carol, namespace="acme:side")) == 1

    def test_a_merge(self, ruled, run, carol, tell, bob, read_out, say, principal):
        other = {"subject": "acme", "predicate": "seat"}
        say("Oslo", claim=other)
        run("fork", place="acme:main", target="acme:side")
        body = {"namespace": "acme:side", "content": "Its seat is Rome.", "claim": {**other, "value": "Rome"}}
        late = bob.client.post("/api/v1/fragments", {**body, "provenance": {"source": "tool_output"}}, format="json")
        decide(carol, only(late.json()["pending_conflicts"])["id"], "reject")
        done = run("merge", place="acme:main", source="acme:side")
        assert len(rulings(carol, namespace="acme:main")) == 2
        assert tell("Rome", claim=other)["status"] == "archived"
        with access.enter(principal, why="test"):
            undone = jobs.start_undo(principal, done.id, now=timezone.now(), wake_up=False)
        jobs.run(principal, undone.id)
        assert len(rulings(carol, namespace="acme:main")) == 1

    def test_consolidation_leaves_it(self, ruled, run, tell, carol, forget_rulings):
        tell("$99,999")
        run("consolidate", place="acme:main")
        assert status(carol, ruled["paper"]) == "active"
        assert len(pending(carol)) == 1

    def test_consolidation_leaves_the_users_free_text_and_its_conflict(self, ruled, run, alice, carol):
        later = write(alice, "The ACME contract value is $50,000.")
        for _ in range(2):
            run("consolidate", place="acme:main")
        assert (status(carol, later), len(pending(carol))) == ("active", 1)

    def test_the_list_of_claims_names_the_ruling(self, ruled, carol):
        (claim,) = get(carol, "claims", subject="acme")["results"]
        told = claim["ruling"]
        assert (told["decision"], told["by"], told["note"]) == ("chosen", "carol", "signed on Monday")
        assert (told["conflict_id"], told["authority"], told["until"]) == (ruled["conflict"], 6, None)
        (former,) = get(carol, "claims", subject="acme", status="superseded")["results"]
        assert former["ruling"]["decision"] == "ruled_out"

    def test_the_timeline_keeps_rulings_that_were_replaced(self, ruled, tell, carol):
        late = tell("$99,999")
        decide(carol, only(late["pending_conflicts"])["id"], "supersede")
        lives = get(carol, "claims/timeline", subject="acme", predicate="contract value")["results"]
        told = {life["value"]: life["rulings"] for life in lives}
        assert [one["decision"] for one in told["$84,000"]] == ["chosen", "ruled_out"]
        assert told["$84,000"][0]["until"] == told["$99,999"][0]["at"]
        assert told["$84,000"][1]["until"] is None

    def test_the_history_of_a_memory_names_it(self, ruled, carol):
        (told,) = get(carol, f"fragments/{ruled['paper']['id']}/history")["rulings"]
        assert (told["decision"], told["by"]) == ("chosen", "carol")
        (told,) = get(carol, f"fragments/{ruled['user']['id']}/history")["rulings"]
        assert told["decision"] == "ruled_out"

    def test_every_change_is_audited(self, ruled, tell, carol, principal):
        tell("$48,000")
        take_back(carol, ruled["conflict"])
        with access.enter(principal, why="test"):
            events = events_of(Ruling).objects.order_by("pgh_id")
            assert list(events.values_list("pgh_label", "repeats")) == [("insert", 0), ("update", 1), ("delete", 1)]


def _rule_on_former(principal) -> int:
    with access.enter(principal, why="test"):
        project = Project.objects.get(id=principal.project_id)
        return rule_on_former_decisions(project.id, bytes(project.salt))


class TestRules:
    """A changed rule of a predicate names rulings anew with the claims that they are about."""

    def test_a_ruling_holds_when_its_predicate_gets_another_name(self, ruled, alice, tell):
        body = {"namespace": "acme:main", "name": "worth", "aliases": ["contract value"], "normaliser": "money"}
        made = alice.client.post("/api/v1/predicates", body, format="json")
        assert made.status_code == 201, made.json()
        again = tell("84000 USD", claim={"subject": "acme", "predicate": "worth"})
        assert (again["status"], again["pending_conflicts"]) == ("active", [])
        other = tell("$99,999", claim={"subject": "acme", "predicate": "worth"})
        assert (other["status"], other["superseded"]) == ("quarantined", [])
        back = tell("$48,000", claim={"subject": "acme", "predicate": "worth"})
        assert back["status"] == "archived"

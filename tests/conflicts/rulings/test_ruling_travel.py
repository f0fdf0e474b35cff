"""Rulings travel: by restore, fork, merge and bundles, and decisions of former releases get them."""

import pytest
from django.utils import timezone

from conflicts.former import create_missing_rulings
from conflicts.public import Ruling
from memories import access, jobs
from memories.models import Fragment, Namespace, Project
from memories.models.history import events_of
from tests.conflicts.rulings.conftest import (
    CLAIM,
    READING,
    decide,
    get,
    only,
    pending,
    rulings,
    status,
    take_back,
    write,
)


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

    def test_a_bundle(self, ruled, run, carol, principal, store_tool_claim):
        before = rulings(carol)
        backup = run("backup").report["backup_id"]
        with access.enter(principal, why="test"):
            Ruling.objects.all().delete()
            Fragment.objects.filter(id=ruled["paper"]["id"]).delete()
        run("restore", backup_id=backup)
        assert [(row["id"], row["chosen"], row["ruled_out"]) for row in rulings(carol)] == [
            (row["id"], row["chosen"], row["ruled_out"]) for row in before
        ]
        assert store_tool_claim("$99,999")["status"] == "quarantined"

    def test_a_bundle_brings_a_case_that_was_settled_at_once_and_its_way_back(
        self, run, carol, store_claim, read_out, store_tool_claim
    ):
        said = [store_claim("$48,000"), read_out("$84,000"), store_tool_claim("$90,000")]
        before = [status(carol, each) for each in said]
        found = only(get(carol, "cases")["results"])
        body = {"revision": found["revision"], "choose": [found["values"][1]["id"]]}
        address = f"/api/v1/cases/{found['id']}"
        assert carol.client.post(f"{address}/resolve", body, format="json").status_code == 200
        settled = [status(carol, each) for each in said]
        backup = run("backup").report["backup_id"]
        run("verify", backup_id=backup)
        run("restore", backup_id=backup)
        assert [status(carol, each) for each in said] == settled != before
        assert carol.client.post(f"{address}/undo", {}, format="json").status_code == 200
        assert [status(carol, each) for each in said] == before

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

    def test_what_was_overwritten_before_waits_again(
        self, ruled, run, carol, forget_rulings, store_tool_claim, principal
    ):
        forget_rulings()
        late = store_tool_claim("$99,999")
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

    def test_readings_from_before_take_none(self, store_claim, read_out, carol, principal):
        store_claim("19", claim=READING)
        decide(carol, only(read_out("25", claim=READING)["pending_conflicts"])["id"], "supersede")
        assert _rule_on_former(principal) == 0
        assert rulings(carol) == []

    def test_rejections_from_before_keep_out_what_they_did(
        self, store_claim, store_tool_claim, carol, forget_rulings, principal
    ):
        store_claim("$48,000")
        decide(carol, only(store_tool_claim("$0")["pending_conflicts"])["id"], "reject")
        forget_rulings()
        assert _rule_on_former(principal) == 1
        assert only(rulings(carol))["authority"] == 4  # as far as it reached before; who decided was no person
        assert store_tool_claim("$0")["status"] == "archived"

    def test_a_fork(self, ruled, run, carol, store_claim, bob):
        run("fork", place="acme:main", target="acme:side")
        row = only(rulings(carol, namespace="acme:side"))
        assert [one["value"] for one in row["chosen"]] == ["$84,000"]
        body = {"namespace": "acme:side", "content": "Now $99,999.", "claim": {**CLAIM, "value": "$99,999"}}
        body["provenance"] = {"source": "tool_output"}
        assert bob.client.post("/api/v1/fragments", body, format="json").json()["status"] == "quarantined"
        take_back(carol, ruled["conflict"])
        assert len(rulings(carol, namespace="acme:side")) == 1

    def test_texts_that_were_ruled_out_are_known_everywhere(
        self, store_claim, store_tool_claim, run, carol, bob, forget_rulings
    ):
        store_claim("$48,000")
        decide(carol, only(store_tool_claim("$0")["pending_conflicts"])["id"], "reject")
        backup = run("backup").report["backup_id"]
        run("fork", place="acme:main", target="acme:side")
        forget_rulings()
        run("restore", backup_id=backup)

        def again(place):
            body = {"namespace": place, "content": "IT is worth $0!", "provenance": {"source": "tool_output"}}
            return bob.client.post("/api/v1/fragments", body, format="json").json()["status"]

        assert again("acme:main") == "archived"
        run("fork", place="acme:main", target="acme:other")
        assert again("acme:other") == "archived"

    def test_a_merge(self, ruled, run, carol, store_tool_claim, bob, read_out, store_claim, principal):
        other = {"subject": "acme", "predicate": "seat"}
        store_claim("Oslo", claim=other)
        run("fork", place="acme:main", target="acme:side")
        body = {"namespace": "acme:side", "content": "Its seat is Rome.", "claim": {**other, "value": "Rome"}}
        late = bob.client.post("/api/v1/fragments", {**body, "provenance": {"source": "tool_output"}}, format="json")
        decide(carol, only(late.json()["pending_conflicts"])["id"], "reject")
        done = run("merge", place="acme:main", source="acme:side")
        assert len(rulings(carol, namespace="acme:main")) == 2
        assert store_tool_claim("Rome", claim=other)["status"] == "archived"
        with access.enter(principal, why="test"):
            undone = jobs.start_undo(principal, done.id, now=timezone.now(), wake_up=False)
        jobs.run(principal, undone.id)
        assert len(rulings(carol, namespace="acme:main")) == 1

    def test_a_merge_protects_what_stands_for_what_was_chosen(
        self, store_claim, run, carol, bob, paper, agent_of, project
    ):
        """It says the same as what a person chose in the branch, and so is that."""
        store_claim("Oslo", claim={"subject": "acme", "predicate": "seat"})
        run("fork", place="acme:main", target="acme:side")
        city = {"subject": "office", "predicate": "city"}

        def say(by, place, content, value, source):
            body = {"namespace": place, "content": content, "claim": city | {"value": value}}
            answer = by.client.post("/api/v1/fragments", body | {"provenance": {"source": source}}, format="json")
            assert answer.status_code == 201, answer.json()
            return answer.json()

        here = say(paper, "acme:main", "The office is in Bern.", "Bern", "document")
        say(paper, "acme:side", "Our office stands in Bern.", "Bern", "document")
        guess = agent_of(project, owner="guess", ceiling="inference")
        late = say(guess, "acme:side", "The office is in Rome.", "Rome", "inference")
        decide(carol, only(late["pending_conflicts"])["id"], "reject", protect=True)
        run("merge", place="acme:main", source="acme:side")
        gone = bob.client.post(f"/api/v1/fragments/{here['id']}/archive", {}, format="json")
        assert gone.status_code == 403, gone.json()

    def test_consolidation_leaves_it(self, ruled, run, store_tool_claim, carol, forget_rulings):
        store_tool_claim("$99,999")
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

    def test_the_timeline_keeps_rulings_that_were_replaced(self, ruled, store_tool_claim, carol):
        late = store_tool_claim("$99,999")
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

    def test_every_change_is_audited(self, ruled, store_tool_claim, carol, principal):
        store_tool_claim("$48,000")
        take_back(carol, ruled["conflict"])
        with access.enter(principal, why="test"):
            events = events_of(Ruling).objects.order_by("pgh_id")
            assert list(events.values_list("pgh_label", "repeats")) == [("insert", 0), ("update", 1), ("delete", 1)]


def _rule_on_former(principal) -> int:
    with access.enter(principal, why="test"):
        project = Project.objects.get(id=principal.project_id)
        return create_missing_rulings(project.id, bytes(project.salt))

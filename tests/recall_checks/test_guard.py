"""Around what changes recall: a loss is shown in the preview, blocks the run, and passes once it was accepted."""

import datetime

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, erasure, jobs, upkeep
from memories.models import EmbeddingModel, Fragment
from memories.operations import BadOptions
from tests.recall_checks.conftest import MAIN

SIDE = "acme:side"


@pytest.fixture
def job(principal):
    """Runs an operation here and now, however it ends."""

    def work(kind, place=None, *, dry_run=False, **options):
        wish = {"kind": kind, "namespace": place, "options": options, "dry_run": dry_run}
        return jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)

    return work


@pytest.fixture
def statuses(principal):
    """How the memories stand, by their texts."""

    def read():
        with access.enter(principal, why="test"):
            return sorted(Fragment.objects.within(principal.project_id).values_list("content", "status"))

    return read


class TestConsolidation:
    """Of two that say the same one yields, which a check expects by its id."""

    @pytest.fixture
    def losing(self, store, check, run):
        store(MAIN, "The otter swims at dawn.")
        weaker = store(MAIN, "The heron nests behind the old mill.")
        store(MAIN, "The heron nests behind the old mill.", source="tool_output")
        row = check("Where does the heron nest?", memory=weaker.id, name="heron")
        check("When does the otter swim?", text="dawn", name="otter")
        run()
        return row

    def test_a_preview_shows_the_loss_and_changes_nothing(self, losing, job, place_of, statuses, runs, states):
        before = statuses()
        preview = job("consolidate", place_of(MAIN), dry_run=True)
        assert preview.report["recall"] == {"checked": 2, "passed": 1, "lost": [str(losing.id)]}
        assert (preview.state, preview.report["merged"]) == ("succeeded", 1)
        assert (statuses(), len(runs()), states()) == (before, 1, {"heron": True, "otter": True})

    def test_a_loss_blocks_until_it_is_accepted(self, losing, job, place_of, statuses, runs, states):
        before = statuses()
        refused = job("consolidate", place_of(MAIN))
        assert (refused.state, refused.error["code"]) == ("failed", "recall_lost")
        assert refused.error["lost"] == [str(losing.id)]
        assert refused.report["recall"]["lost"] == [str(losing.id)]
        assert (statuses(), len(runs()), states()["heron"]) == (before, 1, True)
        done = job("consolidate", place_of(MAIN), plan_id=refused.report["plan_id"], accept_recall_loss=True)
        assert (done.state, done.report["recall"]["lost"]) == ("succeeded", [str(losing.id)])
        assert statuses() != before
        assert runs()[1:] == [("consolidation", 1, 1, 1)]
        assert states() == {"heron": False, "otter": True}

    def test_what_failed_before_blocks_nothing(self, losing, job, place_of, principal, states):
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id=losing.fragment_id).update(content="Gone elsewhere.", status="archived")
        assert states()["heron"]
        assert job("consolidate", place_of(MAIN)).state == "succeeded"

    def test_a_plan_without_steps_and_a_namespace_without_checks_ask_nothing(self, store, job, place_of, runs):
        store(SIDE, "The baker opens at six.")
        for dry_run in (True, False):
            assert "recall" not in job("consolidate", place_of(SIDE), dry_run=dry_run).report
        assert runs() == []

    def test_the_shared_namespace_concerns_every_check(self, losing, store, job, place_of):
        for _ in range(2):
            store("acme:shared", "The harbour closes in winter.")
        assert job("consolidate", place_of("acme:shared"), dry_run=True).report["recall"]["checked"] == 2

    def test_the_command_and_the_api_accept_it(self, losing, place_of, alice, statuses, states):
        before = statuses()
        with pytest.raises(SystemExit):
            call_command("consolidate", "--namespace", MAIN, "--json")
        assert statuses() == before
        call_command("consolidate", "--namespace", MAIN, "--accept-recall-loss", "--json")
        assert statuses() != before
        body = {"namespace": MAIN, "accept_recall_loss": True}
        made = alice.client.post("/api/v1/consolidations", body, format="json")
        assert (made.status_code, made.json()["options"]) == (202, {"accept_recall_loss": True})

    def test_what_is_no_truth_value_is_refused(self, losing, place_of, job):
        with pytest.raises(BadOptions):
            job("consolidate", place_of(MAIN), accept_recall_loss="yes")


class TestMerge:
    """What the branch says newer replaces what a check expects."""

    @pytest.fixture
    def losing(self, store, alice, job, place_of, check, run):
        said = {"by": alice.principal, "source": "tool_output"}
        store(MAIN, "Ada is six.", claim=ClaimDraft("Ada", "age", "6"), **said)
        job("fork", place_of(MAIN), target=SIDE)
        store(SIDE, "Ada is seven.", claim=ClaimDraft("Ada", "age", "7"), **said)
        row = check("How old is Ada?", value="6")
        run()
        return row

    def test_a_loss_is_shown_blocks_and_is_accepted_with_its_plan(self, losing, job, place_of, statuses, runs):
        before = statuses()
        preview = job("merge", place_of(MAIN), source=SIDE, dry_run=True)
        assert preview.report["recall"] == {"checked": 1, "passed": 0, "lost": [str(losing.id)]}
        refused = job("merge", place_of(MAIN), source=SIDE, plan_id=str(preview.id))
        assert (refused.state, refused.error["code"]) == ("failed", "recall_lost")
        assert refused.report["recall"]["lost"] == [str(losing.id)]
        assert (statuses(), len(runs())) == (before, 1)
        done = job("merge", place_of(MAIN), source=SIDE, plan_id=str(preview.id), accept_recall_loss=True)
        assert (done.state, done.report["counts"]["superseded"]) == ("succeeded", 1)
        assert runs()[1:] == [("merge", 0, 1, 1)]

    def test_the_api_and_the_command_accept_it(self, losing, alice, statuses):
        body = {"target": MAIN, "accept_recall_loss": True}
        made = alice.client.post(f"/api/v1/namespaces/{SIDE}/merge", body, format="json")
        assert made.json()["options"] == {"source": SIDE, "accept_recall_loss": True}
        with pytest.raises(SystemExit):
            call_command("namespaces", "merge", SIDE, MAIN, "--json")
        before = statuses()
        call_command("namespaces", "merge", SIDE, MAIN, "--accept-recall-loss", "--json")
        assert statuses() != before


class TestModel:
    """By the other model nothing is near enough to be answered."""

    @pytest.fixture
    def losing(self, store, check, run, small_endpoint, charlie, monkeypatch):
        store(MAIN, "The heron nests behind the old mill.")
        row = check("Where does the bird nest?", text="old mill", name="heron")
        run()
        model = upkeep.model_registry.add_model(name="small", provider="openai", dim=64, now=timezone.now())
        EmbeddingModel.objects.filter(id=model.id).update(floor=1.0)
        monkeypatch.setattr(upkeep.model_registry, "calibrate", lambda row: None)
        for operation in jobs.fill_model(model, now=timezone.now()):
            jobs.run(access.system_principal(operation.project), operation.id)
        return row

    def test_a_loss_blocks_the_switch_until_it_is_accepted(self, losing, runs, states):
        with pytest.raises(CommandError, match="1 recall check would be lost: “heron”"):
            call_command("models", "activate", "small")
        assert EmbeddingModel.objects.get(name="small").state == "ready"
        assert (states(), len(runs())) == ({"heron": True}, 1)
        with pytest.raises(CommandError, match="would be lost"):
            call_command("reembed", "--model", "small", "--activate")
        assert EmbeddingModel.objects.get(name="small").state == "ready"
        call_command("models", "activate", "small", "--accept-recall-loss")
        assert EmbeddingModel.objects.get(name="small").state == "active"
        assert (states(), runs()[1:]) == ({"heron": False}, [("model", 0, 1, 1)])

    def test_without_a_loss_it_switches(self, losing, runs):
        EmbeddingModel.objects.filter(name="small").update(floor=0.0)
        call_command("models", "activate", "small")
        assert runs()[1:] == [("model", 1, 0, 0)]


class TestRestore:
    """The backup has a newer version of what a check expects."""

    @pytest.fixture
    def losing(self, store, job, check, run, principal, storage):
        row = store(MAIN, "The heron nests behind the old mill.")
        made = job("backup")
        with access.enter(principal, why="test"):
            earlier = row.updated_at - datetime.timedelta(days=1)
            Fragment.objects.filter(id=row.id).update(content="The heron nests on the island.", updated_at=earlier)
        kept = check("Where does the heron nest?", text="on the island")
        run()
        return kept, made.report["backup_id"]

    def test_a_loss_blocks_until_it_is_accepted(self, losing, job, statuses, runs, states):
        kept, backup_id = losing
        before = statuses()
        refused = job("restore", backup_id=backup_id)
        assert (refused.state, refused.error["code"]) == ("failed", "recall_lost")
        assert refused.report["recall"]["lost"] == [str(kept.id)]
        assert (statuses(), len(runs())) == (before, 1)
        done = job("restore", backup_id=backup_id, accept_recall_loss=True)
        assert (done.state, done.report["namespaces"][MAIN]["recall"]["lost"]) == ("succeeded", [str(kept.id)])
        assert statuses() == [("The heron nests behind the old mill.", "active")]
        assert (runs()[1:], states()) == ([("restore", 0, 1, 1)], {"Where does the heron nest?": False})

    def test_the_api_accepts_it(self, losing, alice):
        body = {"backup_id": losing[1], "accept_recall_loss": True}
        made = alice.client.post("/api/v1/restores", body, format="json")
        assert made.json()["options"] == body


def test_a_check_that_was_forgotten_meanwhile_bars_nothing(store, check, run, job, place_of, principal, now, states):
    rows = [store(MAIN, "The heron nests behind the old mill.") for _ in range(2)]
    check("Where does the heron nest?", memory=rows[1].id)
    run()
    erasure.forget(principal, rows[1].id, now=now)
    assert states() == {}
    assert job("consolidate", place_of(MAIN)).state == "succeeded"

"""A forgotten text stays in no note, reason, check or title that stands beside memories, and comes back in none."""

import pytest
import yaml

from conflicts.models import Ruling, Vote
from memories import access
from memories.models import ClusterLabel, Containment, Fragment, Namespace, Proposal, RecallCheck, Task
from tests.conflicts.rulings.conftest import carol, decide, get, only, paper, read_out, store_claim, store_tool_claim
from tests.erasure.conftest import MAIN, SIDE
from tests.erasure.test_forget import post

pytestmark = pytest.mark.usefixtures("storage")
__all__ = ["carol", "paper", "read_out", "store_claim", "store_tool_claim"]
SECRET = "xyzzyplugh"
TEXT = f"The safe opens with {SECRET}."
TOLD = f"Somebody said THE SAFE  opens with {SECRET}, once."  # in other spacing and case, without its full stop
CHECK = {"namespace": MAIN, "question": "How does it open?", "text": "a key"}
CHECKS = {
    "question": {**CHECK, "question": TEXT},
    "name": {**CHECK, "name": TEXT},
    "words": {**CHECK, "text": TEXT},
    "value": {"namespace": MAIN, "question": "How does it open?", "value": TEXT},
    "note": {**CHECK, "note": f" {TEXT.upper()} "},
}


@pytest.fixture
def forget(alice, store):
    """Stores the text and forgets it."""

    def away(place=MAIN, **more):
        row = store(place, TEXT, by=alice.principal, source="tool_output")
        assert post(alice, {"namespace": place, "ids": [str(row.id)], "expected_count": 1, **more})["count"] == 1

    return away


@pytest.fixture
def ask(carol):
    """What the API answers to a POST of Carol's: its status."""

    def send(path, **body):
        answer = carol.client.post(f"/api/v1/{path}", body, format="json")
        assert answer.status_code < 409 or answer.json()["code"] == "blocked_by_erasure", answer.json()
        return answer.status_code

    return send


class TestNew:
    """What is written after the forgetting."""

    @pytest.mark.parametrize("part", CHECKS)
    def test_no_recall_check_holds_it(self, part, forget, ask, count):
        forget()
        assert ask("recall-checks", **CHECKS[part]) == 409
        assert count(RecallCheck) == 0

    def test_no_file_of_recall_checks_holds_it(self, forget, ask, count):
        forget()
        rows = [CHECK, {**CHECKS["words"], "name": "another"}]
        assert ask("recall-checks/file", yaml=yaml.safe_dump({"version": 1, "checks": rows})) == 409
        assert count(RecallCheck) == 0

    def test_a_word_alone_may_be_expected_as_a_value(self, alice, store, ask):
        row = store(MAIN, "Oslo", by=alice.principal)
        post(alice, {"ids": [str(row.id)], "expected_count": 1})
        assert ask("recall-checks", namespace=MAIN, question="Where does Ada live?", value="Oslo") == 201

    def test_no_reason_of_a_dispute_is_it(self, forget, ask, store, sweep):
        other = store(MAIN, "The safe is old.")
        forget()
        assert ask(f"fragments/{other.id}/dispute", reason=TEXT) == 409
        assert sweep(SECRET) == []
        assert ask(f"fragments/{other.id}/dispute", reason="It is new.") == 200

    def test_no_reason_of_mem0_is_it(self, forget, carol, store, sweep):
        other = store(MAIN, "The safe is old.")
        forget()
        body = {"memory_id": str(other.id), "feedback": "NEGATIVE", "feedback_reason": TEXT}
        answer = carol.client.post("/compat/mem0/v1/feedback/", body, format="json")
        assert (answer.status_code, sweep(SECRET)) == (409, [])

    def test_no_note_of_a_decision_is_it(self, forget, ask, carol, store_claim, store_tool_claim, sweep):
        store_claim("$48,000")
        waits = only(store_tool_claim("$84,000")["pending_conflicts"])["id"]
        forget()
        decide(carol, waits, "reject", note=TEXT, code=409)
        case = only(get(carol, "cases")["results"])
        chosen = {"revision": case["revision"], "choose": [case["values"][1]["id"]]}
        assert ask(f"cases/{case['id']}/resolve", **chosen, note=TEXT) == 409
        answer = carol.client.post("/api/v1/cases/clear", {"namespace": MAIN, "note": TEXT}, format="json").json()
        assert (answer["cleared"], only(answer["refused"])["code"]) == (0, "blocked_by_erasure")
        assert sweep(SECRET) == []
        assert ask(f"cases/{case['id']}/resolve", **chosen, note="as it was said") == 200

    def test_no_note_of_what_stands_again_is_it(self, forget, ask, read_out, store_claim, sweep):
        former = read_out("$84,000")
        store_claim("$48,000")
        forget()
        assert ask(f"fragments/{former['id']}/reinstate", note=TEXT) == 409
        assert sweep(SECRET) == []
        assert ask(f"fragments/{former['id']}/reinstate", note="signed") == 200

    def test_no_note_of_a_containment_is_it(self, forget, ask, bob, store, count):
        store(MAIN, "The safe is old.", by=bob.principal)
        forget()
        assert ask("containments", owner=str(bob.principal.owner_id), note=TEXT) == 409
        assert count(Containment) == 0
        assert ask("containments", owner=str(bob.principal.owner_id), note="stolen") == 201

    def test_other_namespaces_may_say_it(self, forget, ask, store):
        other = store(SIDE, "The safe is old.")
        forget()
        assert ask("recall-checks", **{**CHECKS["question"], "namespace": SIDE}) == 201
        assert ask(f"fragments/{other.id}/dispute", reason=TEXT) == 200


class TestOld:
    """What was written before it."""

    @pytest.mark.parametrize("part", CHECKS)
    def test_no_recall_check_holds_it(self, part, forget, carol, store, count, sweep):
        store(MAIN, "The safe is old.")
        body = {name: TOLD if TEXT in value or TEXT.upper() in value else value for name, value in CHECKS[part].items()}
        answer = carol.client.post("/api/v1/recall-checks", body, format="json", headers={"Idempotency-Key": "once"})
        assert answer.status_code == 201, answer.json()
        assert ("memories_repeatedrequest.answer" in sweep(SECRET), count(RecallCheck)) == (True, 1)
        forget()
        assert (sweep(SECRET), count(RecallCheck)) == ([], 0)

    def test_no_recall_check_holds_a_former_text(self, alice, carol, store, ask, sweep):
        row = store(MAIN, TEXT, by=alice.principal)
        change = {"content": "Nothing to see here.", "revision": 1}
        assert alice.client.patch(f"/api/v1/fragments/{row.id}", change, format="json").status_code == 200
        assert ask("recall-checks", **CHECKS["question"]) == 201
        assert ask("recall-checks", **{**CHECK, "text": SECRET}) == 201
        post(alice, {"ids": [str(row.id)], "expected_count": 1})
        assert sweep(SECRET) == []

    def test_no_reason_nor_note_holds_it(self, forget, ask, bob, carol, store, store_claim, store_tool_claim, sweep):
        store_claim("$48,000")
        waits = only(store_tool_claim("$84,000")["pending_conflicts"])["id"]
        body = {"action": "supersede", "revision": get(carol, f"conflicts/{waits}")["revision"], "note": TOLD}
        once = {"Idempotency-Key": "once"}
        decided = carol.client.post(f"/api/v1/conflicts/{waits}/resolve", body, format="json", headers=once)
        assert decided.status_code == 200, decided.json()
        other = store(MAIN, "The safe is old.")
        assert ask(f"fragments/{other.id}/dispute", reason=TOLD) == 200
        assert ask("containments", owner=str(bob.principal.owner_id), note=TOLD) == 201
        assert {
            "conflicts_vote.reason",
            "conflicts_pendingconflict.note",
            "conflicts_ruling.note",
            "memories_containment.note",
            "memories_repeatedrequest.answer",
        } <= {*sweep(SECRET)}
        forget()
        assert sweep(SECRET) == []
        assert get(carol, f"conflicts/{waits}")["resolution"] == "supersede"

    def test_no_task_nor_title_holds_it(self, forget, ask, carol, store, count, sweep):
        other = store(MAIN, "The safe is old.")
        task = {"namespace": MAIN, "title": "Open it", "status": "active"}
        assert ask("tasks", **task, id="t1", summary=TOLD) == 201
        assert ask("tasks", **{**task, "title": TOLD}, id="t2") == 201
        assert ask("episodes", namespace=MAIN, title=TOLD, ids=[str(other.id)]) == 201
        assert {"memories_task.title", "memories_task.summary", "memories_episode.title"} <= {*sweep(SECRET)}
        forget()
        assert sweep(SECRET) == []
        assert (count(Task), get(carol, "episodes")["results"][0]["title"] != TOLD) == (1, True)

    def test_no_proposal_holds_it(self, forget, contradict, store, sweep, count):
        pairs = [[store(MAIN, f"The {word} is {age}.") for age in ("old", "new")] for word in ("safe", "mill")]
        for (older, newer), reason in zip(pairs, (TOLD, "It is newer."), strict=True):
            contradict(older, newer, reason=reason)
        forget()
        assert (sweep(SECRET), count(Proposal)) == ([], 1)

    def test_what_others_noted_elsewhere_stays(self, forget, ask, carol, store, count):
        other = store(SIDE, "The safe is old.")
        assert ask(f"fragments/{other.id}/dispute", reason=TOLD) == 200
        assert ask("recall-checks", **{**CHECKS["question"], "namespace": SIDE}) == 201
        forget()
        assert count(RecallCheck) == 1

    def test_everywhere_takes_what_was_noted_elsewhere(self, forget, ask, store, sweep):
        other = store(SIDE, "The safe is old.")
        assert ask(f"fragments/{other.id}/dispute", reason=TOLD) == 200
        assert ask("recall-checks", **{**CHECKS["question"], "namespace": SIDE}) == 201
        forget(everywhere=True)
        assert sweep(SECRET) == []

    def test_a_short_text_takes_only_notes_that_are_it(self, alice, principal, store, ask):
        row, others = store(MAIN, "Oslo.", by=alice.principal), [store(MAIN, f"The safe {n} is old.") for n in range(2)]
        assert ask(f"fragments/{others[0].id}/dispute", reason="oslo") == 200
        assert ask(f"fragments/{others[1].id}/dispute", reason="It is in Oslo.") == 200
        post(alice, {"ids": [str(row.id)], "expected_count": 1})
        with access.enter(principal, why="test"):
            reasons = dict(Vote.objects.values_list("fragment", "reason"))
        assert [reasons[other.id] for other in others] == ["", "It is in Oslo."]


@pytest.fixture
def noted(ask, carol, store, store_claim, store_tool_claim, run, principal):
    """What was noted is the text, wherever something may be noted; a backup of that."""
    store_claim("$48,000")
    waits = only(store_tool_claim("$84,000")["pending_conflicts"])["id"]
    decide(carol, waits, "supersede", note=TEXT)
    other = store(MAIN, "The safe is old.")
    assert ask("episodes", namespace=MAIN, title=TEXT, ids=[str(other.id)]) == 201
    assert ask(f"fragments/{other.id}/dispute", reason=TEXT) == 200
    with access.enter(principal, why="test"):
        ClusterLabel.objects.create(project_id=principal.project_id, fragment_id=other.id, label=TEXT)
    return run("backup")["backup_id"]


@pytest.mark.parametrize("way", ["everything is gone", "it is a branch"])
def test_no_restore_brings_a_note_back(way, noted, forget, run, sweep, principal):
    assert len(sweep(SECRET)) == 5
    forget()
    assert sweep(SECRET) == []
    if way == "it is a branch":
        run("restore", backup_id=noted, into="acme:branch")
    else:
        with access.enter(principal, why="test"):
            Namespace.objects.all().delete()
        run("restore", backup_id=noted)
    with access.enter(principal, why="test"):
        assert (Vote.objects.exists(), Ruling.objects.exists()) == (True, True)
    assert sweep(SECRET) == []


def test_no_merge_brings_a_note_back(alice, ask, forget, run, store, sweep, place_of, principal):
    branch = "acme:branch"
    for text in ("The safe is old.", "The mill is old.", "The boat is old."):
        store(MAIN, text)
    run("fork", place_of(MAIN), target=branch)
    found = alice.client.get("/api/v1/fragments", {"namespace": branch}).json()["results"]
    safe, mill, boat = (next(row["id"] for row in found if name in row["content"]) for name in ("safe", "mill", "boat"))
    change = {"extra": {"note": TEXT}}
    assert alice.client.patch(f"/api/v1/fragments/{safe}", change, format="json").status_code == 200
    assert alice.client.patch(f"/api/v1/fragments/{boat}", {"extra": {"n": 1}}, format="json").status_code == 200
    new = store(branch, "The heron nests here.")
    noted = alice.client.post(
        "/api/v1/fragments",
        {"namespace": branch, "content": "The otter swims.", "extra": {"note": TEXT}},
        format="json",
    )
    assert noted.status_code == 201
    assert [ask(f"fragments/{which}/dispute", reason=TEXT) for which in (mill, new.id)] == [200, 200]
    forget()
    report = run("merge", place_of(MAIN), source=branch)
    assert report["counts"]["blocked_by_erasure"] == 1
    with access.enter(principal, why="test"):
        rows = dict(Fragment.objects.filter(namespace__name=MAIN).values_list("content", "extra"))
        reasons = set(Vote.objects.filter(fragment__namespace__name=MAIN).values_list("reason", flat=True))
    assert rows == {
        "The safe is old.": {},
        "The mill is old.": {},
        "The boat is old.": {"n": 1},
        "The heron nests here.": {},
    }
    assert reasons == {""}

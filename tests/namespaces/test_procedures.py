"""The trigger and steps of a memory are its words in a merge too: barred, judged and replaced as a text is."""

import pytest

from memories import jobs
from tests.namespaces.conftest import MAIN, SIDE

FRAGMENTS = "/api/v1/fragments"
POISON = "poison words"
TASK = "To flush the boiler."
HOW = {"type": "procedural", "extra": {"steps": ["open valve"]}}


@pytest.fixture
def doc(project, agent_of):
    """What is read out of documents."""
    return agent_of(project, owner="doc", ceiling="document")


def post(agent, content, namespace=MAIN, **more):
    answer = agent.client.post(FRAGMENTS, {"namespace": namespace, "content": content, **more}, format="json")
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def patch(agent, row, **extra):
    answer = agent.client.patch(f"{FRAGMENTS}/{row.id}", {"extra": extra}, format="json")
    assert answer.status_code == 200, answer.content


def forget(agent, content, namespace=MAIN):
    path = f"{FRAGMENTS}/{post(agent, content, namespace)['id']}"
    assert agent.client.delete(path).status_code == 204


def steps(rows, namespace=MAIN):
    return [row.extra.get("steps") for row in rows(namespace, type="procedural", status="active")]


def test_steps_that_the_target_forgot_stay_out_and_the_rest_is_merged(alice, doc, fork, merge, rows, texts):
    post(doc, TASK, **HOW)
    fork()
    post(alice, "Otters swim at night.", SIDE)
    forget(doc, POISON)
    (copy,) = rows(SIDE, type="procedural")
    patch(doc, copy, steps=[POISON])
    done = merge()
    assert (done.state, done.error) == ("succeeded", None)
    assert done.report["blocked_by_erasure"] == [str(copy.id)]
    assert done.report["carried"] == []
    assert "Otters swim at night." in texts()
    assert steps(rows) == [["open valve"]]


def test_a_note_beside_steps_that_the_target_forgot_since_is_carried(doc, fork, merge, rows):
    post(doc, TASK, type="procedural", extra={"steps": [POISON]})
    fork()
    forget(doc, POISON)
    (copy,) = rows(SIDE, type="procedural")
    patch(doc, copy, steps=[POISON], note="checked")
    done = merge()
    assert (done.state, done.error) == ("succeeded", None)
    (there,) = rows(MAIN, type="procedural")
    assert (done.report["carried"], there.extra["note"]) == ([str(there.id)], "checked")


@pytest.mark.parametrize("content", [TASK, "To flush it."])
def test_under_a_key_of_a_weaker_memory_what_was_forgotten_stays_out(alice, doc, fork, merge, rows, texts, content):
    post(doc, "The heron nests by the mill.")
    fork()
    post(doc, TASK, key="k", **HOW)
    said = {"key": "k", "type": "procedural", "extra": {"steps": [POISON]}}
    came = post(alice, content, SIDE, **said, provenance={"source": "user_explicit"})
    post(alice, "Otters swim at night.", SIDE)
    forget(doc, POISON)
    done = merge()
    assert (done.state, done.error) == ("succeeded", None)
    assert done.report["blocked_by_erasure"] == [came["id"]]
    assert "Otters swim at night." in texts()
    assert steps(rows) == [["open valve"]]


def test_steps_against_what_the_user_claims_wait(alice, doc, principal, rows):
    post(doc, TASK, **HOW)
    bridge = "/api/v1/bridges/universes"
    begun = {"branch_id": "side", "source_namespace": MAIN}
    assert alice.client.post(f"{bridge}/branches", begun, format="json").status_code == 201
    budget = {"subject": "user", "predicate": "budget", "value": "$750"}
    post(alice, "My budget is $750.", claim=budget, provenance={"source": "user_explicit"})
    (copy,) = rows(SIDE, type="procedural")
    patch(doc, copy, steps=["The budget of the user is $0."])
    ended = {"branch_id": "side", "target_namespace": MAIN}
    told = alice.client.post(f"{bridge}/merges", ended, format="json")
    assert told.status_code == 202
    report = jobs.run(principal, told.json()["id"]).report
    (waiting,) = rows(MAIN, type="procedural", status="quarantined")
    assert (report["carried"], report["conflicting"]) == ([], [str(waiting.id)])
    assert waiting.extra["steps"] == ["The budget of the user is $0."]
    assert steps(rows) == [["open valve"]]


def test_changed_steps_take_the_place_of_the_old(doc, fork, merge, rows, undo, belief):
    was = post(doc, TASK, **HOW)
    fork()
    (copy,) = rows(SIDE, type="procedural")
    patch(doc, copy, steps=["close valve"])
    before = belief()
    done = merge()
    assert (done.report["superseded"], done.report["carried"]) == ([was["id"]], [])
    assert steps(rows) == [["close valve"]]
    assert merge().report["counts"]["added"] == 0
    assert undo(done).state == "succeeded"
    assert belief() == before


def test_changed_steps_of_what_claims_the_same_are_a_revision(doc, fork, merge, rows, undo, belief):
    was = post(doc, TASK, claim={"subject": "boiler", "predicate": "kind", "value": "gas"}, **HOW)
    fork()
    (copy,) = rows(SIDE, type="procedural")
    patch(doc, copy, steps=["close valve"])
    before = belief()
    done = merge()
    assert (done.report["added"], done.report["carried"]) == ([was["id"]], [])
    assert steps(rows) == [["close valve"]]
    told = merge().report
    assert (told["counts"]["added"], told["counts"]["skipped"]) == (0, 0)
    assert undo(done).state == "succeeded"
    assert belief() == before


def test_a_changed_text_that_claims_the_same_is_a_revision(doc, fork, merge, rows, undo, belief):
    was = post(doc, "The boiler burns gas.", claim={"subject": "boiler", "predicate": "kind", "value": "gas"})
    fork()
    (copy,) = rows(SIDE)
    answer = doc.client.patch(f"{FRAGMENTS}/{copy.id}", {"content": "Gas is what it burns."}, format="json")
    assert answer.status_code == 200
    before = belief()
    done = merge()
    assert done.report["added"] == [was["id"]]
    assert [(str(row.id), row.content) for row in rows()] == [(was["id"], "Gas is what it burns.")]
    assert undo(done).state == "succeeded"
    assert belief() == before

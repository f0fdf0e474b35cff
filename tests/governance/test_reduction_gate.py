"""The reduction gate, outcome by outcome, and the invariants that it keeps (docs/spec.md §11)."""

import ast
import datetime
from pathlib import Path

import pytest
from django.core.checks import run_checks

from memories import access, governance
from memories.governance import history, reduction_contract
from memories.governance.history import ProposalEntry
from memories.governance.task_proposals import STAGES, Situation
from memories.models import Fragment, Proposal
from memories.providers import InsideTransaction
from tests.governed import Judge


def test_allowed_becomes_a_procedural_memory_with_lineage_to_its_calls(
    model_server, bind_judge, propose, llm_calls, store, count
):
    judge = bind_judge(Judge())
    row = propose()
    assert (row.outcome, row.judge, row.reasons) == ("allowed", "of_the_test", [])
    made = row.fragment
    assert (made.type, made.source, made.authority, made.status) == ("procedural", "inference", 1, "active")
    assert made.content == "Try again with care. When the task fails: 1. Read the log 2. Try once more"
    assert made.extra["steps"] == ["Read the log", "Try once more"]
    left = llm_calls()
    assert {c["id"]: c["model"] for c in made.extra["calls"]} == {str(c.id): c.model for c in left}
    assert made.extra["judge"] == "of_the_test"
    assert sorted(row.calls) == sorted(call.id for call in left)
    assert len(left) == len(STAGES) == 4
    assert [candidate.authority for candidate in judge.asked] == [1]
    assert count(Fragment) == 1


@pytest.mark.parametrize(
    ("judge", "advisory", "outcome", "asked"),
    [
        (Judge(allowed=False), False, "blocked", 4),
        (Judge(error=ConnectionError("away")), False, "reduction_error", 4),
        (None, True, "advisory_only", 4),
        (None, False, "skipped_no_reduction_client", 0),
    ],
)
def test_whatever_is_not_allowed_is_recorded_and_changes_nothing(
    model_server, bind_judge, propose, count, judge, advisory, outcome, asked
):
    bind_judge(judge, advisory=advisory)
    row = propose()
    assert (row.outcome, row.fragment) == (outcome, None)
    assert (len(model_server.requests), len(row.calls)) == (asked, asked)
    assert (row.proposal is None) == (asked == 0)
    assert (count(Fragment), count(Proposal)) == (0, 1)


@pytest.mark.parametrize("mode", ["declining", "truncated", "empty", "missing", "malformed", "broken", "not_an_object"])
def test_llm_returned_null(model_server, bind_judge, propose, count, mode):
    judge = bind_judge(Judge())
    model_server.mode = mode
    row = propose()
    assert (row.outcome, row.proposal, row.fragment) == ("llm_returned_null", None, None)
    assert judge.asked == []
    assert (count(Fragment), count(Proposal)) == (0, 1)


def test_without_a_sidecar_the_answer_is_clear(settings, propose, llm_calls, count):
    settings.SIDECAR_URL = ""
    row = propose()
    assert (row.outcome, row.reasons, llm_calls()) == ("llm_returned_null", ["no_sidecar"], [])
    assert count(Fragment) == 0


@pytest.mark.parametrize("answer", ["yes", 1, None])
def test_a_judge_that_does_not_say_true_has_not_allowed(model_server, bind_judge, propose, answer):
    judge = bind_judge(Judge())
    judge.allowed = answer
    assert propose().outcome == "blocked"


@pytest.mark.parametrize("steps", [["go"] * 120_000, ["\U0001f9ed" * 300] * 50])
def test_a_proposal_too_long_to_be_kept_becomes_no_memory(model_server, bind_judge, propose, count, steps):
    """Whoever judges: no backup could take it."""
    bind_judge(Judge())

    class Endless:
        def propose(self, situation, ask):
            return {"title": "a", "trigger": "x", "steps": steps}

    row = propose(proposer=Endless())
    assert (row.outcome, row.reasons, row.proposal) == ("blocked", ["schema", "too long to be kept"], None)
    assert count(Fragment) == 0


def test_i_llm_route_1_every_call_leaves_its_provenance(model_server, bind_judge, propose, llm_calls):
    bind_judge(Judge())
    propose()
    model_server.mode = "broken"
    propose()
    for call in llm_calls():
        assert call.model == "llama3.1"
        assert call.host == model_server.url.removeprefix("http://")
        assert len(call.request_hash) == len(call.output_hash) == 64
    assert sorted(call.outcome for call in llm_calls()) == ["answered"] * 4 + ["http_500"]


def test_i_llm_route_2_the_same_request_has_the_same_hash(model_server, bind_judge, propose, llm_calls):
    bind_judge(Judge())
    propose()
    propose()
    hashes = [call.request_hash for call in llm_calls()]
    assert len(hashes) == 8
    assert len(set(hashes)) == 4


def test_i_llm_route_3_what_changes_memory_carries_who_judged_it(model_server, bind_judge, propose, proposal_history):
    bind_judge(Judge())
    propose()
    bind_judge(None, advisory=True)
    propose()
    assert {(row.judge, row.fragment is not None) for row in proposal_history()} == {("of_the_test", True), ("", False)}


def test_i_llm_route_4_the_contract_knows_nothing_of_this_project():
    tree = ast.parse(Path(reduction_contract.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name for name in imported if name.startswith(("memories", "conflicts", "novamem", "django"))}


def test_i_llm_route_5_another_proposer_takes_the_place_of_the_stages(model_server, bind_judge, propose):
    bind_judge(Judge())

    class Fixed:
        def propose(self, situation, ask):
            return {"title": "Rest", "trigger": f"{situation.task_id} fails", "steps": ["Sleep"]}

    row = propose(proposer=Fixed())
    assert (row.outcome, row.fragment.extra["trigger"], model_server.requests) == ("allowed", "t1 fails", [])


def test_i_llm_route_6_the_history_is_bounded_by_task_and_by_time(
    bind_judge, propose, proposal_history, now, principal
):
    bind_judge(None)
    for number in range(53):
        propose("busy", at=now + datetime.timedelta(seconds=number))
    propose("quiet", at=now)
    assert len(proposal_history(task_id="busy")) == 50
    assert min(row.created_at for row in proposal_history(task_id="busy")) == now + datetime.timedelta(seconds=3)
    later = now + datetime.timedelta(minutes=30, seconds=10)
    assert governance.trim(principal, now=later) == 1
    assert {row.task_id for row in proposal_history()} == {"busy"}
    assert governance.trim(principal, now=later + datetime.timedelta(minutes=1)) == 50


def test_i_llm_route_6_kinds_have_a_ring_each_and_what_waits_is_in_none(
    bind_judge, propose, proposal_history, store_all, principal, now
):
    """A task may be called as the model's own reading is."""
    rows = store_all("acme:main", (f"The mill {n} turns." for n in range(60)))
    waiting = governance.gate.ReductionRuling("allowed")
    entries = [
        ProposalEntry("supersession", "evolve", waiting, {}, about=[one.id, other.id], waiting=True)
        for one, other in zip(rows[:59], rows[1:], strict=True)
    ]
    history.record(principal, rows[0].namespace, entries, now=now)
    entries = [ProposalEntry("claim", "claims", governance.gate.empty_outcome("no claims")) for _ in range(60)]
    bind_judge(None)
    propose("claims", at=now)
    history.record(principal, rows[0].namespace, entries, now=now + datetime.timedelta(seconds=1))
    assert len(proposal_history(kind="supersession", waiting=True)) == 59
    assert len(proposal_history(kind="claim")) == 50
    assert len(proposal_history(kind="option", task_id="claims")) == 1


def test_i_llm_route_7_without_a_judge_no_call_is_made(model_server, bind_judge, propose, llm_calls):
    bind_judge(None)
    assert propose().outcome == "skipped_no_reduction_client"
    assert (model_server.requests, llm_calls()) == ([], [])


def test_no_transaction_is_open_while_a_model_is_asked(model_server, principal, now):
    with access.enter(principal, why="test"), pytest.raises(InsideTransaction):
        governance.task_proposals.ask_and_judge(principal, "acme:main", Situation("t", "c"), now=now)
    assert model_server.requests == []


def test_a_namespace_outside_the_grant_looks_missing_before_anything_is_asked(model_server, reader, alice, now, count):
    with pytest.raises(access.NotPermitted):
        governance.task_proposals.ask_and_judge(reader.principal, "acme:main", Situation("t", "c"), now=now)
    with pytest.raises(access.NotFound):
        governance.task_proposals.ask_and_judge(alice.principal, "elsewhere:main", Situation("t", "c"), now=now)
    assert model_server.requests == []
    assert count(Proposal) == 0


def test_calls_never_change(model_server, bind_judge, propose, llm_calls, principal):
    from django.db import Error, transaction

    bind_judge(Judge())
    propose()
    (first, *_) = llm_calls()
    with access.enter(principal, why="test"), pytest.raises(Error, match="never change"), transaction.atomic():
        type(first).objects.filter(id=first.id).update(request_hash="0" * 64)


@pytest.mark.parametrize(
    "path",
    [
        "nowhere.Judge",
        "memories.governance.Nobody",
        "memories.governance.size",
        "builtins.object",
        "tests.governed.Unmakable",
    ],
)
def test_a_judge_that_can_not_be_made_blocks_and_is_told_at_start(model_server, settings, propose, client, path):
    settings.REDUCTION_CLIENT = path
    assert [error.id for error in run_checks() if "REDUCTION_CLIENT" in error.msg] == ["novamem.E002"]
    assert propose().outcome == "reduction_error"
    assert client.get("/readyz").json()["parts"]["reduction_client"]["state"] == "degraded"


@pytest.mark.parametrize(("setting", "told"), [("OLLAMA_HOST", ["novamem.W001"]), ("LLM_SIDECAR_URL", []), ("", [])])
def test_a_deprecated_setting_is_told_at_start(settings, setting, told):
    settings.SIDECAR_SETTING = setting
    assert [message.id for message in run_checks() if "OLLAMA_HOST" in message.msg] == told

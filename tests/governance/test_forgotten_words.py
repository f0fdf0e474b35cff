"""What a language model was asked can't be guessed after it was forgotten."""

import datetime
import itertools
import json

import pytest

from conflicts.registry import built_in_predicates
from memories import access, erasure, governance, tasks
from memories.governance.calls import RULE
from memories.governance.claim_extraction import INSTRUCTION
from memories.models import Fragment, LlmCall
from memories.providers import Ask, current_sidecar
from memories.providers.sidecar import request_hash

SECRET = "The door's code is 4711."


@pytest.fixture
def guess():
    """Which of the 10,000 door codes were asked about, by the hashes that are kept."""

    def of(rows):
        predicates = sorted(rule.name for rule in built_in_predicates())
        kept, found = {row.request_hash for row in rows}, []
        for digits in itertools.product("0123456789", repeat=4):
            code = "".join(digits)
            text = SECRET.replace("4711", code)
            work = {"task": "claims", "predicates": predicates, "texts": [{"n": 0, "text": text}]}
            prompt = json.dumps(work, ensure_ascii=False, sort_keys=True)
            if request_hash(current_sidecar().envelope(Ask("claim", RULE + INSTRUCTION, prompt))) in kept:
                found.append(code)
        return found

    return of


def calls(principal):
    with access.enter(principal, why="test"):
        return list(LlmCall.objects.within(principal.project_id).order_by("created_at", "id"))


def test_forgetting_leaves_no_hash_to_guess_from(model_server, principal, store, now, guess):
    row = store("acme:main", SECRET, extract_claim=True)
    governance.read_pending(principal, now=now + datetime.timedelta(minutes=1))
    assert guess(calls(principal)) == ["4711"]
    (call,) = calls(principal)
    with access.enter(principal, why="test"):
        told = json.dumps(Fragment.objects.get(id=row.id).extra)
    assert str(call.id) in told
    assert call.request_hash not in told
    assert call.output_hash not in told
    erasure.forget(principal, row.id, now=now)
    assert calls(principal) == []


def test_what_is_forgotten_during_a_call_leaves_none_either(model_server, principal, store, now):
    rows = [store("acme:main", text) for text in (SECRET, "The door is blue.", "The door is old.")]
    erasure.forget(principal, rows[0].id, now=now)
    governance.digests.summarise(principal, rows[0].namespace, rows, now=now)
    assert len(model_server.requests) == 1
    assert calls(principal) == []


def test_calls_are_kept_for_a_time(model_server, principal, store, settings, now):
    store("acme:main", SECRET, extract_claim=True)
    governance.read_pending(principal, now=now + datetime.timedelta(minutes=1))
    settings.LLM_CALL_DAYS = 0
    assert governance.expire_calls(principal, now=now + datetime.timedelta(days=1_000)) == 0
    settings.LLM_CALL_DAYS = 90
    assert governance.expire_calls(principal, now=now + datetime.timedelta(days=90)) == 0
    tasks.expire_calls()
    assert len(calls(principal)) == 1
    assert governance.expire_calls(principal, now=now + datetime.timedelta(days=91)) == 1
    assert calls(principal) == []

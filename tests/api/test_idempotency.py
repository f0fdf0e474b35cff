"""Idempotency-Key on writing POSTs."""

import datetime

import time_machine

from memories.models import Fragment, RepeatedRequest
from memories.tasks import expire_requests

URL = "/api/v1/fragments"
HERON = {"namespace": "acme:main", "content": "The heron nests behind the old mill."}


def post(agent, body, key="k1"):
    return agent.client.post(URL, body, format="json", headers={"Idempotency-Key": key})


def test_the_same_key_and_body_have_one_effect_and_one_answer(alice, count):
    first, second = post(alice, HERON), post(alice, HERON)
    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert count(Fragment) == 1


def test_another_body_under_the_key_is_refused(alice, count):
    post(alice, HERON)
    answer = post(alice, {**HERON, "content": "Something else entirely."})
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
    assert count(Fragment) == 1


def test_keys_are_per_api_key(alice, bob, count):
    assert post(alice, HERON).json()["id"] != post(bob, HERON).json()["id"]
    assert count(Fragment) == 2


def test_a_failed_request_keeps_nothing(alice, count):
    assert post(alice, {**HERON, "namespace": "elsewhere:x"}).status_code == 404
    assert post(alice, HERON).status_code == 201
    assert count(RepeatedRequest) == 1


def test_bad_keys_are_refused(alice, count):
    for key in ("", "x" * 256, "tab\there"):
        assert post(alice, HERON, key).status_code == 400
    assert count(Fragment) == 0


def test_answers_are_kept_for_48_hours(alice, count, now):
    post(alice, HERON)
    with time_machine.travel(now + datetime.timedelta(hours=47)):
        expire_requests()
    assert count(RepeatedRequest) == 1
    with time_machine.travel(now + datetime.timedelta(hours=49)):
        expire_requests()
    assert count(RepeatedRequest) == 0

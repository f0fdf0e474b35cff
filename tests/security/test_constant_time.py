"""Secrets are compared in constant time: nothing but `hmac.compare_digest` looks at what a caller sent."""

import hmac

import pytest
from rest_framework.test import APIClient

from memories.models.key import KeyText


@pytest.fixture
def compared(monkeypatch):
    """What is compared from now on; all of it counts as equal."""
    seen = []

    def compare(mine, sent):
        seen.append((mine, sent))
        return True

    monkeypatch.setattr(hmac, "compare_digest", compare)
    return seen


def get(path, token):
    return APIClient().get(path, headers={"Authorization": f"Bearer {token}"}, REMOTE_ADDR="203.0.113.7").status_code


def test_digests_of_keys(alice, compared):
    forged = KeyText(KeyText.parse(alice.key).key_id, "x" * 43)
    assert get("/api/v1/namespaces", forged) == 200
    assert [sent for _, sent in compared] == [forged.digest]


def test_the_token_of_metrics(db, compared, settings):
    settings.METRICS_TOKEN = "right"
    assert get("/metrics", "wrong") == 200
    assert compared == [(b"wrong", b"right")]

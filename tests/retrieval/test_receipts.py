"""Receipts of context answers: what they say, and how long they stay."""

import datetime

import pytest
from django.utils import timezone

from memories import access, retrieval
from memories.models import Receipt
from memories.retrieval.context import receipts
from memories.tasks import expire_receipts


@pytest.fixture
def leave(principal, store):
    """A receipt of some days ago."""
    home = store("acme:main", "The mill turns.").namespace

    def write(days):
        at = timezone.now() - datetime.timedelta(days=days)
        with access.enter(principal, why="test"):
            return Receipt.objects.create(
                project_id=principal.project_id, namespace=home, tokens=1, fragment_ids=[], created_at=at
            )

    return write


def left(principal):
    with access.enter(principal, why="test"):
        return set(Receipt.objects.within(principal.project_id).values_list("id", flat=True))


def test_it_says_what_was_handed_out_and_to_whom(alice, store, principal):
    store("acme:shared", "The mill turns.")
    store("acme:main", "The mill stands.")
    asked = {"namespaces": ["acme:main", "acme:none"], "query": "mill"}
    body = alice.client.post("/api/v1/context", asked, format="json").json()
    with access.enter(principal, why="test"):
        (receipt,) = Receipt.objects.within(principal.project_id).select_related("namespace")
    assert str(receipt.id) == body["receipt_id"]
    assert [str(i) for i in receipt.fragment_ids] == body["included"]
    assert (receipt.tokens, receipt.namespace.name) == (body["tokens_used"], "acme:main")
    assert receipt.key_id == alice.principal.key_id


def test_old_ones_go_in_batches(principal, leave, monkeypatch):
    monkeypatch.setattr(receipts, "BATCH", 2)
    young = {leave(89).id, leave(0).id}
    for _ in range(5):
        leave(91)
    assert retrieval.context.expire_receipts(principal, now=timezone.now()) == 5
    assert left(principal) == young
    assert retrieval.context.expire_receipts(principal, now=timezone.now()) == 0


def test_the_setting_decides(principal, leave, settings):
    kept = leave(10_000).id
    settings.RECEIPT_DAYS = 0
    expire_receipts()
    assert left(principal) == {kept}
    settings.RECEIPT_DAYS = 30
    expire_receipts()
    assert left(principal) == set()


def test_other_projects_keep_theirs(principal, charlie, leave):
    kept = leave(91).id
    retrieval.context.expire_receipts(charlie.principal, now=timezone.now())
    assert left(principal) == {kept}

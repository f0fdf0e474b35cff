"""Floods of a key: nobody's rivals slow the key's writers down, or fill its review, by their number."""

import pytest

from conflicts.key_state import MOST_WAITING
from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from memories import access, ingest
from memories.models import Fragment

BUDGET = ("user", "budget")


@pytest.fixture
def store_budgets(now):
    """Stores values of the user's budget; the fragments as they are."""

    def keep(agent, *values):
        drafts = [
            ingest.Draft("acme:main", f"Note on {value}.", source=agent.ceiling, claims=[ClaimDraft(*BUDGET, value)])
            for value in values
        ]
        with access.enter(agent, why="test"):
            done = ingest.store(agent, ingest.prepare(drafts, embed_now=False), now=now)
            return [Fragment.objects.get(id=one.fragment.id) for one in done]

    return keep


@pytest.fixture
def by(project, agent_of):
    """An agent's principal with a ceiling."""
    return lambda owner, ceiling: agent_of(project, owner=owner, ceiling=ceiling).principal


def waiting(principal):
    with access.enter(principal, why="test"):
        return list(PendingConflict.objects.pending().order_by("id"))


@pytest.mark.long
def test_an_owner_has_a_hundred_values_waiting_on_a_key(by, store_budgets):
    store_budgets(by("user", "user_explicit"), "$750")
    flood = store_budgets(by("weak", "inference"), *(f"${n}" for n in range(1000, 1000 + MOST_WAITING + 3)))
    assert [row.status for row in flood] == ["quarantined"] * MOST_WAITING + ["archived"] * 3
    assert {row.archived_reason for row in flood[MOST_WAITING:]} == {"too_many_waiting"}
    (other,) = store_budgets(by("other", "inference"), "$5")
    assert other.status == "quarantined"


def test_who_updates_a_flooded_key_is_faced_by_all_that_wait(by, store_budgets, django_assert_max_num_queries):
    user, weak = by("user", "user_explicit"), by("weak", "inference")
    store_budgets(user, "$750")
    store_budgets(weak, *(f"${n}" for n in range(1000, 1050)))
    before = {row.id: row.revision for row in waiting(user)}
    with django_assert_max_num_queries(60):
        (new,) = store_budgets(user, "$800")
    after = waiting(user)
    assert {row.existing_id for row in after} == {row.existing_claim for row in after} == {new.id}
    assert {row.existing_authority for row in after} == {new.authority}
    assert {row.id: row.revision for row in after} == {i: revision + 1 for i, revision in before.items()}

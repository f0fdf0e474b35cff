"""A key with high verbs and a low ceiling decides on nothing that is believed more than it."""

import pytest
from django.utils import timezone

from conflicts.authority import SOURCE_RANK, lowered_source
from conflicts.models import Predicate, Ruling
from conflicts.public import ClaimDraft, PendingConflict
from conflicts.resolution import Settlement, resolve
from memories import access
from memories.models import Claim, Fragment, Membership, Operation

VERBS = ["read", "write", "review", "admin"]


@pytest.fixture
def low(project, agent_of):
    """Reviews and administers, believed as little as can be."""
    return agent_of(project, owner="mallory", verbs=VERBS, ceiling="inference")


@pytest.fixture
def middle(project, agent_of):
    """Reviews and administers, believed as a tool."""
    return agent_of(project, owner="trudy", verbs=VERBS, ceiling="tool_output")


@pytest.mark.parametrize("ceiling", SOURCE_RANK)
@pytest.mark.parametrize("source", SOURCE_RANK)
def test_a_lowered_source_is_within_the_ceiling_and_never_becomes_the_users(source, ceiling):
    lowered = lowered_source(source=source, ceiling=ceiling)
    assert SOURCE_RANK[lowered] <= min(SOURCE_RANK[source], SOURCE_RANK[ceiling])
    assert source.startswith("user_") or not lowered.startswith("user_")
    assert lowered == source or SOURCE_RANK[source] > SOURCE_RANK[ceiling]


@pytest.mark.parametrize(
    ("source", "ceiling", "lowered"),
    [
        ("tool_output", "user_implicit", "document"),
        ("system", "user_implicit", "document"),
        ("system", "tool_output", "tool_output"),
        ("tool_output", "user_explicit", "tool_output"),
        ("user_explicit", "user_implicit", "user_implicit"),
        ("user_explicit", "tool_output", "tool_output"),
        ("user_implicit", "inference", "inference"),
    ],
)
def test_a_source_is_lowered_to_the_strongest_class_that_may_stand_for_it(source, ceiling, lowered):
    assert lowered_source(source=source, ceiling=ceiling) == lowered


def budget(value):
    return {"content": f"The user's budget is {value}.", "claim": ClaimDraft("user", "budget", value)}


@pytest.fixture
def pending(alice, agent_of, project, store, principal):
    """What the user said, and an inference of somebody else that waits."""
    guesses = agent_of(project, owner="guesser", ceiling="inference")
    told = store("acme:main", **budget("$750"), by=alice.principal, source="user_explicit")
    guess = store("acme:main", **budget("$13"), by=guesses.principal)
    with access.enter(principal, why="test"):
        return told, guess, PendingConflict.objects.get(newcomer=guess.id)


@pytest.fixture
def picture(principal):
    """All that a refusal leaves as it is."""

    def take():
        with access.enter(principal, why="test"):
            return (
                list(Fragment.objects.order_by("id").values_list("id", "status", "content")),
                list(Claim.objects.order_by("fragment_id").values_list("fragment_id", "status", "exclusive")),
                list(PendingConflict.objects.order_by("id").values_list("id", "resolution", "revision")),
                (Predicate.objects.count(), Ruling.objects.count(), Operation.objects.count()),
            )

    return take


def settle(agent, conflict, **wish):
    body = {"action": "supersede", "revision": conflict.revision, **wish}
    return agent.client.post(f"/api/v1/conflicts/{conflict.id}/resolve", body, format="json")


def is_refused(answer):
    return (answer.status_code, answer.json()["code"]) == (403, "not_permitted") and "ceiling" in answer.json()[
        "detail"
    ]


@pytest.mark.parametrize(
    "wish",
    [{}, *({"action": "keep_both", "keep": keep} for keep in ("pair", "period", "predicate"))],
    ids=["supersede", "pair", "period", "predicate"],
)
def test_settling_against_what_is_believed_more_is_refused(wish, low, middle, pending, picture):
    before = picture()
    for agent in (low, middle):
        assert is_refused(settle(agent, pending[2], **wish))
    assert picture() == before


def test_typing_the_truth_against_what_is_believed_more_is_refused(low, pending, picture):
    before = picture()
    correction = {"content": "The user's budget is $14.", "value": "$14"}
    assert is_refused(settle(low, pending[2], correction=correction))
    assert picture() == before


def test_rejecting_a_newcomer_that_is_believed_more_is_refused(low, middle, alice, agent_of, project, store, principal):
    store("acme:main", **budget("$750"), by=alice.principal, source="tool_output")
    tool = agent_of(project, owner="tool")
    other = store("acme:main", **budget("$800"), by=tool.principal, source="tool_output")
    with access.enter(principal, why="test"):
        row = PendingConflict.objects.get(newcomer=other.id)
    assert is_refused(settle(low, row, action="reject"))
    assert settle(middle, row, action="reject").status_code == 200


def test_rejecting_a_guess_is_open_to_whoever_reviews(low, pending):
    assert settle(low, pending[2], action="reject").status_code == 200


def test_undo_of_a_decision_on_what_is_believed_more_is_refused(low, alice, agent_of, project, pending, picture):
    reviewer = agent_of(project, owner="reviewer", verbs=VERBS, ceiling="user_explicit")
    settled = settle(reviewer, pending[2])
    assert settled.status_code == 200, settled.content
    before = picture()
    answer = low.client.post(f"/api/v1/conflicts/{pending[2].id}/undo", {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert picture() == before


def test_a_rule_under_which_more_is_believed_is_refused(low, middle, alice, pending, picture):
    before, body = picture(), {"namespace": "acme:main", "name": "budget"}
    for agent in (low, middle):
        for wish in ({"cardinality": "many"}, {"policy": "newest"}, {"name": "limit", "aliases": ["budget"]}):
            assert is_refused(agent.client.post("/api/v1/predicates", {**body, **wish}, format="json")), wish
    assert picture() == before
    made = alice.client.post("/api/v1/predicates", {**body, "policy": "keep_both"}, format="json")
    assert made.status_code == 201, made.content
    before = picture()
    change = {"policy": "newest"}
    assert is_refused(low.client.patch(f"/api/v1/predicates/{made.json()['id']}", change, format="json"))
    assert is_refused(low.client.patch("/api/v1/predicates", {**body, **change}, format="json"))
    assert picture() == before


def test_a_rule_under_which_nothing_stands_is_open_to_an_admin_who_may_speak_for_users(low, middle, pending):
    body = {"namespace": "acme:main", "name": "shoe_size", "policy": "newest"}
    assert is_refused(low.client.post("/api/v1/predicates", body, format="json"))
    assert middle.client.post("/api/v1/predicates", body, format="json").status_code == 201


def test_deleting_what_is_believed_more_is_refused(low, middle, alice, store, pending, picture):
    store("acme:guesses", "Perhaps the heron nests here.", source="inference")
    before = picture()
    for agent in (low, middle):
        for path, confirm in (("namespaces/acme:main", "acme:main"), ("projects/acme", "acme")):
            assert is_refused(agent.client.delete(f"/api/v1/{path}", {"confirm": confirm}, format="json"))
    assert picture() == before
    answer = low.client.delete("/api/v1/namespaces/acme:guesses", {"confirm": "acme:guesses"}, format="json")
    assert answer.status_code == 202
    assert (
        alice.client.delete("/api/v1/namespaces/acme:main", {"confirm": "acme:main"}, format="json").status_code == 202
    )


def test_a_users_scope_counts_with_its_namespace(low, alice, picture):
    body = {"namespace": "acme:main", "user": "zoe", "content": "I live in Oslo."}
    body["provenance"] = {"source": "user_explicit"}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    before = picture()
    assert is_refused(low.client.delete("/api/v1/namespaces/acme:main", {"confirm": "acme:main"}, format="json"))
    assert picture() == before


def test_merging_what_is_believed_more_is_refused(low, alice, pending, picture):
    merge = "/api/v1/namespaces/acme:main/merge"
    low.client.post("/api/v1/namespaces", {"name": "acme:elsewhere"}, format="json")
    before = picture()
    assert is_refused(low.client.post(merge, {"target": "acme:elsewhere"}, format="json"))
    assert picture() == before
    assert alice.client.post(merge, {"target": "acme:elsewhere"}, format="json").status_code == 202


def test_forgetting_by_filter_is_refused(low, pending, picture):
    before = picture()
    body = {"namespace": "acme:main", "filters": {"status_filter": ["active"]}, "expected_count": 1}
    assert low.client.post("/api/v1/forget", body, format="json").status_code in (400, 403)
    body = {"namespace": "acme:main", "ids": [str(pending[0].id)], "expected_count": 1}
    assert low.client.post("/api/v1/forget", body, format="json").status_code == 403
    assert picture() == before


def test_a_person_in_the_console_decides_on_all(django_user_model, project, pending):
    user = django_user_model.objects.create_user("rae", password="a long enough one")
    Membership.objects.create(user=user, project=project, role="reviewer")
    principal = access.principal_of_member(user, project="acme")
    row = pending[2]
    resolve(principal, row.id, Settlement("supersede", row.revision), now=timezone.now())


def test_a_users_claim_counts_under_the_rule_of_its_namespace(low, alice, picture):
    body = {"namespace": "acme:main", "user": "zoe", "content": "I live in Oslo."}
    body |= {"provenance": {"source": "user_explicit"}}
    body |= {"claim": {"subject": "user", "predicate": "lives_in", "value": "Oslo"}}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    before, wish = picture(), {"namespace": "acme:main", "name": "lives_in", "policy": "newest"}
    assert is_refused(low.client.post("/api/v1/predicates", wish, format="json"))
    assert picture() == before

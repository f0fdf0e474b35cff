"""A merge of some memories of a branch, whosever they are."""

import pytest

from memories import jobs
from tests.users.test_operations import MAIN, TRIAL, URL, carol, homes  # noqa: F401


def send(agent, path, body):
    return agent.client.post(f"{URL}/{path}", body, format="json")


@pytest.fixture
def ended(principal):
    """Runs the operation that an answer began, as the worker does."""

    def run(answer):
        assert answer.status_code == 202, answer.json()
        operation = jobs.run(principal, answer.json()["id"])
        assert operation.state == "succeeded", operation.error

    return run


@pytest.fixture
def moved(carol, homes, ended):  # noqa: F811
    """What Ann, Bob and nobody in particular said in a branch."""
    ended(send(carol, f"namespaces/{MAIN}/fork", {"target": TRIAL}))
    return {
        user: send(
            carol,
            "fragments",
            {"namespace": TRIAL, "content": f"{user or 'All'} moved to the weir."} | ({"user": user} if user else {}),
        ).json()["id"]
        for user in ("ann", "bob", None)
    }


def texts(agent):
    found = agent.client.get(f"{URL}/fragments?namespace={MAIN}&all_users=true").json()["results"]
    return {(row["user"], row["content"]) for row in found if "weir" in row["content"]}


def test_memories_of_users_are_merged_by_their_ids(carol, moved, ended):  # noqa: F811
    body = {"target": MAIN, "only": [moved["ann"], moved[None]]}
    ended(send(carol, f"namespaces/{TRIAL}/merge", body))
    assert texts(carol) == {("ann", "ann moved to the weir."), (None, "All moved to the weir.")}


def test_a_merge_for_one_user_merges_that_users_memories_alone(carol, moved, ended):  # noqa: F811
    body = {"target": MAIN, "user": "ann"}
    told = send(carol, f"namespaces/{TRIAL}/merge", {**body, "only": [moved["bob"]]})
    assert (told.status_code, told.json()["errors"][0]["field"]) == (400, "only")
    ended(send(carol, f"namespaces/{TRIAL}/merge", body))
    assert texts(carol) == {("ann", "ann moved to the weir.")}


def test_a_fork_for_one_user_copies_that_users_memories_alone(carol, homes, ended):  # noqa: F811
    ended(send(carol, f"namespaces/{MAIN}/fork", {"target": TRIAL, "user": "ann"}))
    found = carol.client.get(f"{URL}/fragments?namespace={TRIAL}&all_users=true").json()["results"]
    assert [row["user"] for row in found] == ["ann"]

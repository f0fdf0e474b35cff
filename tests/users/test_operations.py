"""Long jobs of a namespace with users: whom they reach, and what is kept from who does not reach them all."""

import pytest

from memories import access, jobs
from memories.models import Operation, Project

URL = "/api/v1"
MAIN, TRIAL = "acme:main", "acme:trial"


@pytest.fixture
def carol(project, agent_of):
    """An administrator of all users."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def others(project, agent_of):
    """Administrators who don't reach all users: of one, of one if named, of none."""
    verbs = ["read", "write", "review", "admin"]
    kinds = {
        "required": {"users": "required", "user_patterns": ["bob"]},
        "optional": {"users": "optional", "user_patterns": ["bob"]},
        "none": {"users": "none"},
    }
    return {
        name: agent_of(project, owner=f"bob-{name}", ceiling="user_explicit", verbs=verbs, **wish)
        for name, wish in kinds.items()
    }


@pytest.fixture
def homes(carol):
    """What the namespace, Ann and Bob hold."""
    for user in (None, "ann", "bob"):
        body = {"namespace": MAIN, "content": f"The home of {user or 'all'} is by the mill."}
        body |= {"user": user} if user else {}
        assert carol.client.post(f"{URL}/fragments", body, format="json").status_code == 201


def ended(agent, answer):
    """The operation that an answer began, run to its end as the worker does."""
    assert answer.status_code == 202, answer.json()
    worker = access.system_principal(Project.objects.get(id=agent.principal.project_id))
    operation = jobs.run(worker, answer.json()["id"])
    assert operation.state == "succeeded", operation.error
    return str(operation.id)


def headers_of(kind):
    return {} if kind == "none" else {"X-NovaMem-User": "bob"}


@pytest.mark.parametrize("kind", ["required", "optional", "none"])
def test_a_pack_of_a_namespace_is_not_handed_to_who_does_not_reach_all_its_users(carol, others, homes, kind):
    made = ended(carol, carol.client.post(f"{URL}/packs", {"namespace": MAIN}, format="json"))
    path = f"{URL}/packs/{made}/download"
    for headers in (headers_of(kind), {}):
        answer = others[kind].client.get(path, headers=headers)
        assert answer.status_code in (400, 403, 404), headers
    answer = carol.client.get(path)
    assert answer.status_code == 200
    answer.close()


@pytest.mark.examples
@pytest.mark.parametrize("kind", ["required", "optional", "none"])
@pytest.mark.parametrize("verb", ["undo", "cancel"])
def test_a_merge_is_not_touched_by_who_does_not_reach_all_its_users(carol, others, homes, project, kind, verb):
    branch = {"target": TRIAL}
    ended(carol, carol.client.post(f"{URL}/namespaces/{MAIN}/fork", branch, format="json"))
    body = {"namespace": TRIAL, "user": "ann", "content": "Ann moved to the weir."}
    assert carol.client.post(f"{URL}/fragments", body, format="json").status_code == 201
    merged = ended(carol, carol.client.post(f"{URL}/namespaces/{TRIAL}/merge", {"target": MAIN}, format="json"))
    for headers in (headers_of(kind), {}):
        answer = others[kind].client.post(f"{URL}/operations/{merged}/{verb}", headers=headers)
        assert answer.status_code in (400, 403, 404), (headers, answer.json())
        told = others[kind].client.get(f"{URL}/operations/{merged}", headers=headers)
        assert told.status_code != 200 or "ids" not in str(told.json()["report"])
    assert Operation.objects.filter(kind="undo").count() == 0


def test_a_consolidation_of_all_is_not_taken_back_for_one_user(carol, others, homes):
    done = ended(carol, carol.client.post(f"{URL}/consolidations", {"namespace": MAIN}, format="json"))
    for path in (f"{URL}/operations/{done}/undo", f"{URL}/consolidations/{done}/undo"):
        assert others["required"].client.post(path, headers={"X-NovaMem-User": "bob"}).status_code == 404
    assert carol.client.post(f"{URL}/operations/{done}/undo").status_code == 202


@pytest.fixture
def weak_admin(project, agent_of):
    """An administrator's key that is believed as little as a model."""
    return agent_of(project, owner="caretaker", ceiling="inference", verbs=["read", "write", "review", "admin"])


def test_a_weaker_admin_takes_no_consolidation_back_that_changed_what_is_stronger(carol, weak_admin, store):
    body = {"namespace": MAIN, "content": "My budget is $750.", "provenance": {"source": "user_explicit"}}
    carol.client.post(f"{URL}/fragments", body, format="json")
    body = {"namespace": MAIN, "content": "My budget is $900.", "provenance": {"source": "inference"}}
    weak_admin.client.post(f"{URL}/fragments", body, format="json")
    done = ended(carol, carol.client.post(f"{URL}/consolidations", {"namespace": MAIN}, format="json"))
    assert weak_admin.client.post(f"{URL}/consolidations/{done}/undo").status_code == 403
    assert carol.client.post(f"{URL}/consolidations/{done}/undo").status_code == 202


def test_a_weaker_admin_takes_no_merge_back_whose_branch_is_gone(carol, weak_admin, homes):
    ended(carol, carol.client.post(f"{URL}/namespaces/{MAIN}/fork", {"target": TRIAL}, format="json"))
    claim = {"subject": "user", "predicate": "budget", "value": "$800"}
    body = {"namespace": TRIAL, "content": "My budget is $800.", "claim": claim}
    body |= {"provenance": {"source": "user_explicit"}}
    assert carol.client.post(f"{URL}/fragments", body, format="json").status_code == 201
    merged = ended(carol, carol.client.post(f"{URL}/namespaces/{TRIAL}/merge", {"target": MAIN}, format="json"))
    ended(carol, carol.client.delete(f"{URL}/namespaces/{TRIAL}", {"confirm": TRIAL}, format="json"))
    assert weak_admin.client.post(f"{URL}/operations/{merged}/undo").status_code == 403


def send(agent, path, body):
    return agent.client.post(f"{URL}/{path}", body, format="json")


@pytest.fixture
def moved(carol, homes):
    """What Ann, Bob and nobody in particular said in a branch."""
    ended(carol, send(carol, f"namespaces/{MAIN}/fork", {"target": TRIAL}))
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


def test_memories_of_users_are_merged_by_their_ids(carol, moved):
    body = {"target": MAIN, "only": [moved["ann"], moved[None]]}
    ended(carol, send(carol, f"namespaces/{TRIAL}/merge", body))
    assert texts(carol) == {("ann", "ann moved to the weir."), (None, "All moved to the weir.")}


def test_a_merge_for_one_user_merges_that_users_memories_alone(carol, moved):
    body = {"target": MAIN, "user": "ann"}
    told = send(carol, f"namespaces/{TRIAL}/merge", {**body, "only": [moved["bob"]]})
    assert (told.status_code, told.json()["errors"][0]["field"]) == (400, "only")
    ended(carol, send(carol, f"namespaces/{TRIAL}/merge", body))
    assert texts(carol) == {("ann", "ann moved to the weir.")}


def test_a_fork_for_one_user_copies_that_users_memories_alone(carol, homes):
    ended(carol, send(carol, f"namespaces/{MAIN}/fork", {"target": TRIAL, "user": "ann"}))
    found = carol.client.get(f"{URL}/fragments?namespace={TRIAL}&all_users=true").json()["results"]
    assert [row["user"] for row in found] == ["ann"]

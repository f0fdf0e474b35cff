"""A restore into a new namespace: beside what lives, compared with it, and merged in part."""

import uuid

import pytest
from django.utils import timezone

from memories import access, jobs
from memories.models import Episode, Fragment, Namespace
from memories.rest.users import address_of

pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def branch(project):
    """The new namespace's name."""
    return f"{project.name}:monday"


@pytest.fixture
def restored(done, branch):
    """Restores a backup there; the operation."""
    return lambda backup, **more: done("restore", backup_id=backup, into=branch, **more)


@pytest.fixture
def lived(alice, bob, carol, said, decide):
    """What was said and decided, of users too; the answers."""
    found = {"budget": said(alice, "The budget is $1.", value="$1", source="user_explicit")}
    waits = said(bob, "The budget is $2.", value="$2")
    found |= {"waits": waits, "door": said(alice, "The door is red.", user="zoe")}
    found |= {"seven": said(bob, "The limit is 7.", value="7", predicate="limit")}
    found |= {"eight": said(bob, "The limit is 8.", value="8", predicate="limit")}
    found |= {"meet": said(alice, "We meet on Mondays.", importance=0.1), "code": said(alice, "The code is 4711.")}
    return found


def rows(principal, name):
    """What a namespace holds with its users, but for ids and when it was changed."""
    with access.enter(principal, why="test"):
        root = Namespace.objects.within(principal.project_id).get(name=name)
        scopes = [root, *Namespace.objects.within(principal.project_id).below([root])]
        found = Fragment.objects.within(principal.project_id).in_namespaces(scopes).order_by("created_at", "id")
        return [
            (
                row.namespace.user,
                row.content,
                str(row.status),
                row.superseded_by and row.superseded_by.content,
                [(claim.value, str(claim.status)) for claim in row.claims.order_by("position")],
            )
            for row in found.select_related("namespace", "superseded_by")
        ]


def test_it_stands_beside_what_lives_as_a_branch(lived, done, restored, state, principal, main, branch, undone, alice):
    then = rows(principal, main)
    backup = done("backup").report["backup_id"]
    before = state()
    operation = restored(backup)
    assert state() == before
    assert rows(principal, branch) == then
    assert operation.report["made"] == [branch, f"{branch}/zoe"]
    with access.enter(principal, why="test"):
        assert Namespace.objects.get(name=branch).forked_from.name == main
    found = alice.client.post("/api/v1/search", {"query": "limit", "namespace": branch}, format="json").json()
    assert [one["content"] for one in found["results"]] == ["The limit is 8."]
    undone(operation)
    with access.enter(principal, why="test"):
        assert not Namespace.objects.within(principal.project_id).filter(name=branch).exists()
    assert state() == before


def test_of_a_user_who_was_erased_no_title_and_no_scope_comes_along(
    lived, done, restored, principal, main, branch, alice, carol
):
    body = {"namespace": main, "user": "zoe", "title": "Zoe's operation", "ids": [lived["door"]["id"]]}
    assert alice.client.post("/api/v1/episodes", body, format="json").status_code == 201
    backup = done("backup").report["backup_id"]
    assert carol.client.delete(f"/api/v1/users/{address_of('zoe')}").status_code == 200
    assert restored(backup).report["made"] == [branch]
    with access.enter(principal, why="test"):
        assert not Episode.objects.within(principal.project_id).filter(title__contains="Zoe").exists()


def test_it_is_compared_claim_by_claim_and_merged_in_part(
    lived, said, alice, bob, carol, done, restored, principal, main, branch, evict, place
):
    backup = done("backup").report["backup_id"]
    said(alice, "The budget is $5.", value="$5", source="user_explicit")
    said(bob, "The limit is 9.", value="9", predicate="limit")
    evict(lived["meet"]["id"])
    restored(backup)
    answer = carol.client.get(f"/api/v1/namespaces/{branch}/comparison", {"other": main}).json()
    assert [
        (key["predicate"], [one["value"] for one in key["here"]], [one["value"] for one in key["there"]])
        for key in answer["keys"]
    ] == [("budget", ["$1"], ["$5"]), ("limit", ["8"], ["9"])]
    with access.enter(principal, why="test"):
        mine = {row.content: row.id for row in Fragment.objects.filter(namespace__name=branch)}
    only = [str(mine["The limit is 8."]), str(mine["We meet on Mondays."])]
    body = {"target": main, "only": only}
    merged = carol.client.post(f"/api/v1/namespaces/{branch}/merge", body, format="json")
    operation = jobs.run(principal, merged.json()["id"])
    assert operation.state == "succeeded", operation.error
    standing = [content for _, content, status, *_ in rows(principal, main) if status == "active"]
    assert sorted(standing) == [
        "The budget is $5.",
        "The code is 4711.",
        "The door is red.",
        "The limit is 8.",
        "We meet on Mondays.",
    ]


def test_a_merge_names_no_strangers(lived, done, restored, carol, main, branch):
    """Those of the namespace that it goes into are not those of the branch."""
    restored(done("backup").report["backup_id"])
    for stranger in (lived["code"]["id"], str(uuid.uuid4())):
        body = {"target": main, "only": [stranger]}
        refused = carol.client.post(f"/api/v1/namespaces/{branch}/merge", body, format="json")
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "only")


def test_what_was_forgotten_since_does_not_come(lived, alice, done, restored, principal, branch):
    backup = done("backup").report["backup_id"]
    assert alice.client.delete(f"/api/v1/fragments/{lived['code']['id']}").status_code == 204
    operation = restored(backup)
    assert operation.report["left_out"] == {"forgotten": 1}
    assert "The code is 4711." not in {content for _, content, *_ in rows(principal, branch)}


def test_where_memories_are_it_is_refused(lived, said, done, principal, main, carol, project):
    backup = done("backup").report["backup_id"]
    body = {"backup_id": backup, "into": main}
    refused = carol.client.post("/api/v1/restores", body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "branch_taken")
    for into in ("elsewhere:main", "main"):
        assert carol.client.post("/api/v1/restores", {**body, "into": into}, format="json").status_code == 400
    alone = {"backup_id": backup, "namespace": main}
    assert carol.client.post("/api/v1/restores", alone, format="json").status_code == 400


def test_of_several_namespaces_one_is_named(lived, alice, said, done, restored, principal, project, branch, carol):
    said(alice, "Elsewhere it rains.", namespace=f"{project.name}:other")
    backup = done("backup").report["backup_id"]
    answer = carol.client.post("/api/v1/restores", {"backup_id": backup, "into": branch}, format="json")
    ended = jobs.run(principal, answer.json()["id"])
    assert (ended.state, ended.error["code"]) == ("failed", "not_in_backup")
    assert ended.error["detail"] == f"it holds {project.name}:main, {project.name}:other: name one of these"
    restored(backup, namespace=f"{project.name}:other")
    assert [content for _, content, *_ in rows(principal, branch)] == ["Elsewhere it rains."]


@pytest.mark.long
def test_a_plan_binds(lived, done, restored, principal, branch, carol):
    backup = done("backup").report["backup_id"]
    wish = {"kind": "restore", "namespace": None, "now": timezone.now(), "wake_up": False}
    options = {"backup_id": backup, "into": branch}
    plan = jobs.run(principal, jobs.start(principal, **wish, options=options, dry_run=True).id)
    assert plan.report["namespaces"][branch]["insert"] == 6
    assert restored(backup, plan_id=str(plan.id)).report["insert"] == 7


@pytest.mark.long
def test_what_is_contained_does_not_come(lived, carol, done, restored, principal, branch):
    backup = done("backup").report["backup_id"]
    assert carol.client.post("/api/v1/containments", {"owner": "bob"}, format="json").status_code == 201
    operation = restored(backup)
    assert operation.report["left_out"] == {"contained": 3}
    assert not {"The limit is 7.", "The limit is 8."} & {content for _, content, *_ in rows(principal, branch)}


def test_what_is_contained_is_counted_of_its_own_namespace_alone(
    said, alice, bob, carol, done, restored, principal, project, main, branch
):
    other, tuesday = f"{project.name}:other", f"{project.name}:tuesday"
    said(bob, "The limit is 7.", value="7", predicate="limit")
    said(alice, "The code is 4711.")
    for agent, text in ((bob, "rains"), (bob, "snows"), (alice, "thaws")):
        said(agent, f"Elsewhere it {text}.", namespace=other)
    backup = done("backup").report["backup_id"]
    assert carol.client.post("/api/v1/containments", {"owner": "bob"}, format="json").status_code == 201
    before = rows(principal, main), rows(principal, other)
    first = restored(backup, namespace=main)
    second = done("restore", backup_id=backup, into=tuesday, namespace=other)
    assert [one.report["left_out"] for one in (first, second)] == [{"contained": 1}, {"contained": 2}]
    assert [one.report["contained"] for one in (first, second)] == [0, 0]
    assert [content for _, content, *_ in rows(principal, branch)] == ["The code is 4711."]
    assert [content for _, content, *_ in rows(principal, tuesday)] == ["Elsewhere it thaws."]
    assert (rows(principal, main), rows(principal, other)) == before


def test_no_copy_of_what_is_contained_is_merged(said, bob, carol, done, restored, principal, main, branch):
    stored = said(bob, "The limit is 7.", value="7", predicate="limit")
    restored(done("backup").report["backup_id"])
    assert carol.client.post("/api/v1/containments", {"content": "The limit is 7."}, format="json").status_code == 201
    with access.enter(principal, why="test"):
        copy = Fragment.objects.get(namespace__name=branch)
        Fragment.objects.filter(id=copy.id).update(status="active", archived_reason="")
    body = {"target": main, "only": [str(copy.id)]}
    merged = carol.client.post(f"/api/v1/namespaces/{branch}/merge", body, format="json")
    assert jobs.run(principal, merged.json()["id"]).report["counts"]["added"] == 0
    with access.enter(principal, why="test"):
        here = Fragment.objects.filter(namespace__name=main).values_list("id", flat=True)
        assert [str(i) for i in here] == [stored["id"]]


def test_of_a_memory_only_what_differs_is_told(said, alice, carol, main, project):
    side = f"{project.name}:side"
    values = {"budget": "$1", "city": "Rome"}
    two = [{"subject": "acme", "predicate": name, "value": value} for name, value in values.items()]
    said(alice, "In Rome, for $1.", claims=two)
    said(alice, "The budget is $2.", value="$2", namespace=side)
    said(alice, "The city is Rome.", value="Rome", predicate="city", namespace=side)
    answer = carol.client.get(f"/api/v1/namespaces/{main}/comparison", {"other": side}).json()
    assert [key["predicate"] for key in answer["keys"]] == ["budget"]
    nobody = carol.client.get(f"/api/v1/namespaces/{main}/comparison", {"other": side, "user": "nobody"})
    assert (nobody.status_code, nobody.json()["keys"]) == (200, [])

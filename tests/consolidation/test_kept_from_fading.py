"""What the user said is kept from fading, whatever a namespace or a weak admin says."""

import pytest

from conflicts.public import ClaimDraft
from memories import access
from memories.models import Namespace
from tests.consolidation.conftest import unit


def test_what_the_user_said_when_a_namespace_archives_all_stays(run, remember, now_of, principal, main, alice):
    said = remember(
        "My budget is $750.", vector=unit(1), by=alice.principal, source="user_explicit", age=80, read=70,
        claims=[ClaimDraft("user", "budget", "$750")],
    )  # fmt: skip
    with access.enter(principal, why="test"):
        Namespace.objects.filter(id=main.id).update(archive_policy="all")
    run()
    assert now_of(said).status == "active"


@pytest.mark.parametrize("policy", ["all"])
def test_a_weak_admin_when_the_namespace_holds_what_the_user_said_does_not_let_it_fade(
    policy, alice, project, agent_of
):
    weak = agent_of(project, owner="caretaker", ceiling="inference", verbs=["read", "write", "admin"])
    body = {"namespace": "acme:main", "content": "My budget is $750.", "provenance": {"source": "user_explicit"}}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    wish = {"name": "acme:main", "archive_policy": policy}
    assert weak.client.patch("/api/v1/namespaces", wish, format="json").status_code == 403

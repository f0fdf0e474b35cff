"""What is written while its namespace or project goes is told so, and told again it finds the new state."""

import pytest

from conflicts import evaluation
from memories import jobs
from memories.ingest import pipeline
from tests.conftest import as_owner

NAMESPACE = "DELETE FROM memories_namespace n USING memories_project p WHERE p.id = n.project_id AND p.name = %s"
PROJECT = "DELETE FROM memories_project WHERE name = %s"


@pytest.fixture
def goes(committed, monkeypatch):
    """Deletes rows in another transaction, once, when a function is called."""

    def arrange(room, name, statement):
        real = getattr(room, name)

        def meanwhile(*given, **more):
            monkeypatch.undo()
            with as_owner() as connection:
                connection.execute(statement, [committed.name])
            return real(*given, **more)

        monkeypatch.setattr(room, name, meanwhile)

    return arrange


@pytest.fixture
def tell(committed, agent_of):
    """Asks as an administrator of the committed project; status and code of the answer."""
    agent = agent_of(committed, verbs=["read", "write", "admin"])

    def ask(method, path, **body):
        answer = getattr(agent.client, method)(f"/api/v1/{path}", body, format="json")
        return answer.status_code, answer.json().get("code", "")

    return ask


@pytest.mark.parametrize(("statement", "again"), [(NAMESPACE, (201, "")), (PROJECT, (401, "unauthenticated"))])
def test_storing_while_the_place_goes(statement, again, committed, tell, goes):
    place = f"{committed.name}:main"
    assert tell("post", "fragments", namespace=place, content="The heron nests by the mill.") == (201, "")
    goes(pipeline, "_parents", statement)
    assert tell("post", "fragments", namespace=place, content="Otters swim.") == (409, "gone_meanwhile")
    assert tell("post", "fragments", namespace=place, content="Otters swim.") == again


def test_storing_a_claim_while_the_place_goes(committed, tell, goes):
    """Who claims something waits until the namespace is held: by then somebody may have deleted it."""
    memory = {"namespace": f"{committed.name}:main", "content": "Ann likes tea."}
    claim = {"subject": "Ann", "predicate": "likes", "value": "tea"}
    assert tell("post", "fragments", **memory) == (201, "")
    goes(evaluation, "lock_namespaces", NAMESPACE)
    assert tell("post", "fragments", **memory, claim=claim) == (409, "gone_meanwhile")
    assert tell("post", "fragments", **memory, claim=claim) == (201, "")


def test_starting_a_job_while_the_project_goes(committed, tell, goes):
    goes(jobs.operations, "start", PROJECT)
    assert tell("post", "backups") == (409, "gone_meanwhile")
    assert tell("post", "backups") == (401, "unauthenticated")


def test_deleting_a_project_while_it_goes(committed, tell, goes):
    path = f"projects/{committed.name}?confirm={committed.name}"
    goes(jobs, "check_options", PROJECT)
    assert tell("delete", path) == (404, "not_found")
    assert tell("delete", path) == (401, "unauthenticated")

"""Conflicts that wait, and what the API does with them."""

import pytest

URL = "/api/v1/conflicts"


CLAIM = {"subject": "user", "predicate": "budget_is"}


ACTIONS = [
    {"action": "supersede"},
    {"action": "reject"},
    {"action": "keep_both", "keep": "pair"},
    {"action": "keep_both", "keep": "period"},
    {"action": "keep_both", "keep": "predicate"},
]
ONE_OR_OTHER = pytest.mark.parametrize("wish", ACTIONS[:2], ids=lambda wish: wish["action"])


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing; allowed everything else."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def store_claim(alice):
    """Stores a claim, by default as Alice's user says it; a text when `claim` is None."""

    def post(value, *, by=alice, source="user_explicit", status=201, content=None, claim=CLAIM, **more):
        body = {"namespace": "acme:main", "content": content or f"It is {value}."}
        body |= {"claim": {**claim, "value": value, **more}} if claim else more
        body["provenance"] = {"source": source}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


@pytest.fixture
def store_tool_claim(store_claim, bob):
    """What Bob's tool says."""
    return lambda value, **more: store_claim(value, by=bob, source="tool_output", **more)


@pytest.fixture
def waiting(store_claim, store_tool_claim):
    """Bob's $0 waits before Alice's $750."""
    standing, newcomer = store_claim("$750"), store_tool_claim("$0")
    return {"standing": standing["id"], "newcomer": newcomer["id"], "id": newcomer["pending_conflicts"][0]["id"]}


@pytest.fixture
def see(alice):
    """Everything that settling may change, without what runs with the clock, revisions, and what became obsolete."""
    # Among them when a row was changed last and how often: taking back is a change.
    moving = {"updated_at", "revision", "relevance_score", "effective_weight", "trust", "confidence"}

    def look(**more):
        rows = alice.client.get("/api/v1/fragments", {"status": "all", "limit": 200}).json()["results"]
        conflicts = alice.client.get(URL, {"status": "all"}).json()["results"]
        rules = alice.client.get("/api/v1/predicates").json()["results"]
        return {
            "fragments": {
                row["id"]: {name: value for name, value in row.items() if name not in moving | {"provenance"}}
                for row in rows
            },
            "conflicts": {
                row["id"]: {
                    name: value
                    for name, value in row.items()
                    if name not in ("revision", "existing_trust", "new_trust")
                }
                for row in conflicts
                if row["resolution"] != "obsolete"
            },
            "predicates": [{name: rule[name] for name in ("name", "cardinality", "aliases")} for rule in rules],
        }

    return look


def read(agent, conflict_id):
    answer = agent.client.get(f"{URL}/{conflict_id}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def resolve(agent, conflict_id, *, status=200, revision=None, **wish):
    """Settles a conflict on the revision that it has now, unless another is given."""
    revision = revision or (read(agent, conflict_id)["revision"] if status != 404 else 1)
    answer = agent.client.post(f"{URL}/{conflict_id}/resolve", {"revision": revision, **wish}, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def undo(agent, conflict_id, *, status=200):
    answer = agent.client.post(f"{URL}/{conflict_id}/undo", {}, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def listed(agent, **query):
    answer = agent.client.get(URL, query)
    assert answer.status_code == 200, answer.json()
    return [row["id"] for row in answer.json()["results"]]


def statuses(agent, *ids):
    return [agent.client.get(f"/api/v1/fragments/{i}").json()["status"] for i in ids]

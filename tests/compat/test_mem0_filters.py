"""The filter language of /compat/mem0/: each example that mem0's documentation gives, and what is refused."""

import pytest

pytestmark = pytest.mark.examples

QUESTION = "where is the heron?"
HERONS = {
    "nest": {"user_id": "u1", "run_id": "r1", "metadata": {"mood": "good", "size": 2}, "timestamp": "2024-03-01"},
    "pond": {"user_id": "u1", "agent_id": "a1", "app_id": "app1", "timestamp": "2025-06-01T12:00:00Z"},
    "Mill": {"user_id": "u2", "run_id": "r2", "metadata": {"mood": "bad"}},
    "lake": {"agent_id": "a1", "app_id": "app2", "run_id": "r1"},
}
ALL = set(HERONS)
MINE = {"user_id": "u1"}


@pytest.fixture
def ask(alice):
    """POST as mem0's client does."""

    def post(path, body, status=200):
        answer = alice.client.post(f"/compat/mem0/{path}", body, format="json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return post


@pytest.fixture
def herons(ask):
    """Ids by what makes each memory another."""
    found = {}
    for word, whose in HERONS.items():
        body = {"messages": [{"role": "user", "content": f"The heron is at the {word} today."}], **whose}
        (added,) = ask("v3/memories/add/", body)["results"]
        found[word] = added["id"]
    return found


@pytest.fixture
def sorted_herons(alice, herons):
    """The same, one of them in a category."""
    path = f"/api/v1/fragments/{herons['nest']}?user=u1"
    assert alice.client.patch(path, {"category": "finance_home"}, format="json").status_code == 200
    return herons


CASES = {
    "a user": ({"AND": [MINE]}, {"nest", "pond"}),
    "a user in any run": ({"AND": [MINE, {"run_id": "*"}]}, {"nest"}),
    "an agent, whoever's it is": ({"AND": [{"user_id": "*"}, {"agent_id": "a1"}]}, {"pond"}),
    "any user": ({"user_id": "*"}, {"nest", "pond", "Mill"}),
    "several users": ({"AND": [{"user_id": {"in": ["u1", "u2", "u3"]}}]}, {"nest", "pond", "Mill"}),
    "a user or a run": ({"OR": [{"user_id": "u2"}, {"run_id": "r1"}]}, {"nest", "Mill", "lake"}),
    "a user and a run, named once": ({"OR": [{"user_id": "u1", "run_id": "r1"}]}, {"nest"}),
    "another user": ({"user_id": {"ne": "u1"}}, {"Mill", "lake"}),
    "no such user": ({"NOT": [{"user_id": "u1"}, {"user_id": "u2"}]}, {"lake"}),
    "all entities or none": (
        {"OR": [{"user_id": "*"}, {"agent_id": "*"}, {"run_id": "*"}, {"app_id": "*"}]},
        ALL,
    ),
    "one of several apps": (
        {"OR": [{"app_id": {"in": ["app1", "app2"]}}, {"user_id": "u2"}]},
        {"pond", "Mill", "lake"},
    ),
    "text in any case": ({"AND": [{"user_id": "*"}, {"keywords": {"icontains": "mill"}}]}, {"Mill"}),
    "text as written": ({"AND": [{"user_id": "*"}, {"keywords": {"contains": "mill"}}]}, set()),
    "metadata": ({"AND": [{"user_id": "*"}, {"metadata": {"mood": "good"}}]}, {"nest"}),
    "metadata of another kind": ({"AND": [{"user_id": "*"}, {"metadata": {"size": "2"}}]}, set()),
    "other metadata": ({"AND": [{"user_id": "*"}, {"metadata": {"ne": {"mood": "good"}}}]}, {"pond", "Mill"}),
    "since a day": ({"AND": [{"user_id": "*"}, {"created_at": {"gte": "2020-01-01"}}]}, {"nest", "pond", "Mill"}),
    "before a day": ({"AND": [{"user_id": "*"}, {"created_at": {"lt": "2020-01-01T00:00:00Z"}}]}, set()),
    "told of since a time": ({"AND": [MINE, {"timestamp": {"gt": "2025-06-01T11:59:59Z"}}]}, {"pond"}),
    "told of until a day, it included": ({"AND": [MINE, {"timestamp": {"lte": "2025-06-01"}}]}, {"nest", "pond"}),
    "told of on a day, written otherwise": ({"AND": [MINE, {"timestamp": "20250601"}]}, {"pond"}),
    "told of on a day": ({"AND": [MINE, {"timestamp": "2025-06-01"}]}, {"pond"}),
    "told of after a day": ({"AND": [MINE, {"timestamp": {"gt": "2025-06-01"}}]}, set()),
    "a Unix time": ({"AND": [MINE, {"timestamp": {"gte": 1717200000}}]}, {"pond"}),
    "between": (
        {"AND": [MINE, {"created_at": {"gte": "2020-01-01", "lt": "2120-01-01"}}]},
        {"nest", "pond"},
    ),
    "a category": ({"AND": [MINE, {"categories": {"in": ["finance_home", "health"]}}]}, {"nest"}),
    "part of a category": ({"AND": [MINE, {"categories": {"contains": "finance"}}]}, {"nest"}),
    "not a category": ({"AND": [MINE, {"NOT": {"categories": {"in": ["finance_home"]}}}]}, {"pond"}),
    "beside AND": ({"AND": [{"user_id": "*"}], "run_id": "r2"}, {"Mill"}),
    "null says nothing": ({**MINE, "agent_id": None}, {"nest", "pond"}),
    "nested": (
        {
            "AND": [
                {"OR": [{"AND": [MINE, {"NOT": [{"agent_id": "a1"}]}]}, {"user_id": "u2"}]},
                {"run_id": {"ne": "r2"}},
            ]
        },
        {"nest"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_lists_and_searches_hold_it(ask, sorted_herons, case):
    filters, found = CASES[case]
    words = {memory_id: word for word, memory_id in sorted_herons.items()}
    page = ask("v3/memories/", {"filters": filters})
    assert ({words[row["id"]] for row in page["results"]}, page["count"]) == (found, len(found))
    hits = ask("v3/memories/search/", {"query": QUESTION, "filters": filters})["results"]
    # A search for one user finds what the namespace holds for all of them, too.
    assert {words[hit["id"]] for hit in hits} - {"lake"} == found - {"lake"}


def test_a_search_for_one_user_finds_what_is_everybodys(ask, herons):
    def found(filters):
        hits = ask("v3/memories/search/", {"query": QUESTION, "filters": filters})["results"]
        return herons["lake"] in {hit["id"] for hit in hits}

    assert found(MINE)
    assert found({**MINE, "run_id": {"in": ["r1"]}})
    assert not found({**MINE, "run_id": {"in": ["r2"]}})
    assert not found({"user_id": "*"})
    assert not found({"user_id": {"in": ["u1", "u2"]}})


def test_memories_by_their_ids(ask, herons):
    named = {"AND": [MINE, {"memory_ids": [herons["nest"], herons["Mill"]]}]}
    assert [row["id"] for row in ask("v3/memories/", {"filters": named})["results"]] == [herons["nest"]]


@pytest.mark.parametrize(
    ("filters", "field", "told"),
    [
        ([], "filters", "Give an object"),
        ({"AND": []}, "filters.AND", "Give a condition"),
        ({"OR": [{}]}, "filters", "Give a condition"),
        ({"XOR": [MINE]}, "filters.XOR", "not known"),
        ({"colour": "red"}, "filters.colour", "not known"),
        ({"user_id": {">=": "u1"}}, "filters.user_id", ">= is no operator here: use eq, ne, in."),
        ({"user_id": {"in": []}}, "filters.user_id", "1 to 1000"),
        ({"user_id": {"in": "u1"}}, "filters.user_id", "1 to 1000"),
        ({"user_id": 7}, "filters.user_id", "valid string"),
        ({"OR": [{"user_id": None}]}, "filters.user_id", "null"),
        ({"created_at": {"gte": "soon"}}, "filters.created_at", "ISO 8601"),
        ({"created_at": {"gte": "9999-12-31"}}, "filters.created_at", "ISO 8601"),
        ({"created_at": {"gte": 1e99}}, "filters.created_at", "ISO 8601"),
        ({"memory_ids": ["m1"]}, "filters.memory_ids", "UUID"),
        ({"keywords": "heron"}, "filters.keywords", "eq is no operator"),
        ({"metadata": "mood"}, "filters.metadata", "Give an object"),
        ({"OR": [MINE] * 101}, "filters", "at most 100"),
        ({"OR": [{"categories": {"in": ["a"] * 600}}] * 2}, "filters", "1000 values"),
        ({"user_id": {"any": False}}, "filters.user_id", "any is no operator"),
        ({"user_id": {"*": True}}, "filters.user_id", "* is no operator"),
    ],
)
def test_what_is_no_filter_is_told(ask, filters, field, told):
    errors = ask("v3/memories/", {"filters": filters}, status=400)["errors"]
    assert [error["field"] for error in errors] == [field]
    assert told in errors[0]["message"]


def test_a_filter_is_only_so_deep(ask):
    filters = MINE
    for _ in range(9):
        filters = {"NOT": [filters]}
    assert "deep" in ask("v3/memories/", {"filters": filters}, status=400)["errors"][0]["message"]


def test_of_several_users_a_key_has_to_reach_all(agent_of, project, herons):
    some = agent_of(project, user_patterns=["u*"], namespaces=["acme:mem0"])
    for filters in ({"user_id": {"in": ["u1", "u2"]}}, {"OR": [MINE, {"run_id": "r1"}]}, {"NOT": MINE}):
        answer = some.client.post("/compat/mem0/v3/memories/", {"filters": filters}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")


def test_what_is_shown_may_be_named(ask, herons):
    body = {"filters": MINE, "fields": ["id", "memory"]}
    assert [set(row) for row in ask("v3/memories/", body)["results"]] == [{"id", "memory"}] * 2
    (hit, *_) = ask("v3/memories/search/", {"query": QUESTION, "filters": MINE, "fields": ["score"]})["results"]
    assert set(hit) == {"score"}


def test_a_list_takes_days_categories_and_metadata_beside_the_filter(ask, sorted_herons):
    def found(**more):
        return ask("v3/memories/", {"filters": MINE, **more})["count"]

    assert found(categories=["finance_home"]) == found(metadata={"mood": "good"}) == 1
    assert found(start_date="2020-01-01", end_date="2120-01-01") == 2
    assert found(start_date="2120-01-01") == 0

"""GET /api/v1/fragments."""

import pytest

URL = "/api/v1/fragments"


@pytest.fixture
def shelf(store):
    """Five fragments in two namespaces."""
    return [
        store("acme:main", "First thing worth knowing.", tags=["red"], type="semantic"),
        store("acme:main", "Second thing worth knowing.", tags=["blue"], type="episodic"),
        store("acme:main", "Third thing worth knowing.", source_type="task", importance=0.9),
        store("acme:other", "Fourth thing worth knowing."),
        store("acme:shared", "Fifth thing everybody knows."),
    ]


def contents(answer):
    assert answer.status_code == 200, answer.content
    return [row["content"].split()[0] for row in answer.json()["results"]]


def test_newest_first(alice, shelf):
    assert contents(alice.client.get(URL)) == ["Fifth", "Fourth", "Third", "Second", "First"]


def test_pages_follow_each_other(alice, shelf):
    answer = alice.client.get(URL, {"limit": 2})
    assert contents(answer) == ["Fifth", "Fourth"]
    second = alice.client.get(answer.json()["next"])
    assert contents(second) == ["Third", "Second"]
    assert contents(alice.client.get(second.json()["next"])) == ["First"]
    assert contents(alice.client.get(second.json()["previous"])) == ["Fifth", "Fourth"]


@pytest.mark.parametrize(("name", "values"), [("tag", ["red", "blue"]), ("type", ["semantic", "episodic"])])
def test_two_values_of_what_takes_one_are_refused(alice, shelf, name, values):
    for given in (values, values[::-1]):
        answer = alice.client.get(URL, {name: given})
        assert (answer.status_code, [row["field"] for row in answer.json()["errors"]]) == (400, [name])
    assert contents(alice.client.get(URL, {name: [values[0]] * 2})) == contents(
        alice.client.get(URL, {name: values[0]})
    )


def test_of_several_statuses_page_by_page(alice, shelf):
    for row in shelf[1:4]:
        assert alice.client.post(f"{URL}/{row.id}/archive", {}, format="json").status_code == 200
    assert contents(alice.client.get(URL)) == ["Fifth", "First"]
    answer = alice.client.get(URL, {"status": ["active", "archived"], "limit": 3})
    assert contents(answer) == ["Fifth", "Fourth", "Third"]
    assert contents(alice.client.get(answer.json()["next"])) == ["Second", "First"]
    assert contents(alice.client.get(URL, {"status": ["disputed", "quarantined"]})) == []


def test_pages_of_one_moment_neither_skip_nor_repeat(alice):
    batch = [{"namespace": "acme:main", "content": f"Reading {n} of the gauge."} for n in range(60)]
    alice.client.post(f"{URL}/batch", {"fragments": batch, "embed": "later"}, format="json")
    url, seen, back = f"{URL}?limit=7", [], []
    while url:
        page = alice.client.get(url).json()
        seen += [row["id"] for row in page["results"]]
        url, last = page["next"], page
    assert len(seen) == len(set(seen)) == 60
    while last["previous"]:
        last = alice.client.get(last["previous"]).json()
        back = [row["id"] for row in last["results"]] + back
    assert back == seen[: len(back)]
    assert len(back) == 56


@pytest.mark.parametrize("cursor", ["x", "cD0yMDIx", "cj0xJnA9MQ==", "bz05OTk5OTk5", "PHwyMDI2LTEx", "é", "%00"])
def test_a_cursor_that_is_none_is_named(cursor, alice, shelf):
    answer = alice.client.get(URL, {"cursor": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "cursor")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"namespace": "acme:main"}, ["Third", "Second", "First"]),
        ({"type": "episodic"}, ["Second"]),
        ({"tag": "red"}, ["First"]),
        ({"agent": "other"}, ["Fourth"]),
        ({"source_type": "task"}, ["Third"]),
        ({"q": "EVERYBODY"}, ["Fifth"]),
        ({"status": "archived"}, []),
        ({"since": "2999-01-01T00:00:00Z"}, []),
        ({"until": "2000-01-01T00:00:00Z"}, []),
    ],
)
def test_filters(query, expected, alice, shelf):
    assert contents(alice.client.get(URL, query)) == expected


def test_count_and_ids(alice, shelf):
    assert alice.client.get(URL, {"count": "true", "namespace": "acme:main"}).json() == {"count": 3}
    ids = ",".join(str(row.id) for row in shelf[:2])
    assert contents(alice.client.get(URL, {"ids": ids})) == ["Second", "First"]


def test_a_narrow_grant_lists_its_own_and_the_shared(reader, shelf):
    assert contents(reader.client.get(URL)) == ["Fifth", "Third", "Second", "First"]
    assert reader.client.get(URL, {"namespace": "acme:other"}).status_code == 404
    assert contents(reader.client.get(URL, {"ids": str(shelf[3].id)})) == []


def test_another_project_sees_nothing(charlie, shelf):
    assert contents(charlie.client.get(URL)) == []
    assert contents(charlie.client.get(URL, {"ids": str(shelf[0].id)})) == []


def test_covered_but_empty_is_an_empty_list(alice):
    assert contents(alice.client.get(URL, {"namespace": "acme:nothing-yet"})) == []


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 201},
        {"type": "x"},
        {"status": "x"},
        {"status": ["active", "x"]},
        {"since": "x"},
        {"ids": "x"},
        {"nonsense": 1},
        {"limit": "x"},
    ],
)
def test_bad_queries_are_named(query, alice):
    answer = alice.client.get(URL, query)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")


def test_a_page_takes_a_fixed_number_of_queries(alice, shelf, store, django_assert_num_queries):
    url = f"{URL}?limit=200"
    with django_assert_num_queries(9):
        alice.client.get(url)
    for n in range(5):
        store("acme:main", f"One more thing, number {n}.")
    with django_assert_num_queries(9):
        alice.client.get(url)

"""What the user said after a ruling, once the ruling is taken back."""

import pytest

URL = "/api/v1"
KEY = {"subject": "user", "predicate": "budget"}
GATE = {"subject": "gate", "predicate": "color"}


@pytest.fixture
def agents(project, agent_of):
    """What hears the user, a tool, and a reviewer."""
    verbs = ["read", "write", "review"]
    return {
        "user": agent_of(project, owner="chat", ceiling="user_explicit", may_attest_user=True).client,
        "tool": agent_of(project, owner="tool", ceiling="tool_output").client,
        "other": agent_of(project, owner="other", ceiling="tool_output").client,
        "carol": agent_of(project, owner="carol", ceiling="user_explicit", verbs=verbs).client,
    }


def claims(agents):
    """What is believed, with its state."""
    rows = agents["carol"].get(f"{URL}/claims", {"namespace": "acme:main"}).json()["results"]
    return sorted(row["value"] for row in rows)


def store_turn(agents, content):
    body = {"namespace": "acme:main", "messages": [{"role": "user", "content": content}]}
    answer = agents["user"].post(f"{URL}/ingest", body, format="json").json()
    assert answer["stored"][0]["provenance"]["authority"] == 6, answer


@pytest.fixture
def ruled(agents):
    """The path of a conflict: the user said $750, and a person chose a tool's $900."""
    store_turn(agents, "My budget is $750.")
    body = {"namespace": "acme:main", "content": "The user's budget is $900.", "claim": {**KEY, "value": "$900"}}
    body |= {"provenance": {"source": "tool_output"}}
    (conflict,) = agents["tool"].post(f"{URL}/fragments", body, format="json").json()["pending_conflicts"]
    path = f"{URL}/conflicts/{conflict['id']}"
    wish = {"action": "supersede", "revision": agents["carol"].get(path).json()["revision"]}
    assert agents["carol"].post(f"{path}/resolve", wish, format="json").status_code == 200
    return path


def test_the_users_word_against_a_ruling_when_the_user_agrees_later_is_replaced(agents, ruled):
    store_turn(agents, "My budget is $800.")
    assert claims(agents) == ["$800", "$900"]
    store_turn(agents, "My budget is $900.")
    assert claims(agents) == ["$900"]


def test_the_users_later_word_stands_alone_when_the_ruling_against_it_is_undone(agents, ruled):
    store_turn(agents, "My budget is $800.")
    assert claims(agents) == ["$800", "$900"]
    assert agents["carol"].post(f"{ruled}/undo").status_code == 200
    assert claims(agents) == ["$800"]
    left = agents["carol"].get(f"{URL}/conflicts", {"namespace": "acme:main"}).json()["results"]
    assert [(row["newcomer"]["content"], row["existing"]["content"]) for row in left] == [
        ("The user's budget is $900.", "My budget is $800.")
    ]


def test_a_ruling_is_undone_where_the_user_said_two_things_against_it(agents):
    """One of the two replaces the other, whichever is looked at first: on several keys, so that both orders occur."""
    for key in ({"subject": "user", "predicate": f"motto {n}"} for n in range(6)):
        path = _split_by_period(agents, key)
        for value in ("$900", "$750"):
            _claim(agents["user"], key, value, "user_explicit")
        assert agents["carol"].post(f"{path}/undo").status_code == 200
        (standing,) = [row for row in _believed(agents, key) if row["authority"] == 6]
        assert standing["value"] == "$750"


def _split_by_period(agents, key):
    """The path of a conflict: a tool said $750, and a person let it end where another's $900 begins."""
    _claim(agents["tool"], key, "$750", "tool_output")
    (conflict,) = _claim(agents["other"], key, "$900", "tool_output")["pending_conflicts"]
    path = f"{URL}/conflicts/{conflict['id']}"
    wish = {"action": "keep_both", "keep": "period", "revision": agents["carol"].get(path).json()["revision"]}
    assert agents["carol"].post(f"{path}/resolve", wish, format="json").status_code == 200
    return path


def _claim(client, key, value, source):
    body = {"namespace": "acme:main", "content": f"It is {value}.", "claim": {**key, "value": value}}
    answer = client.post(f"{URL}/fragments", {**body, "provenance": {"source": source}}, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


def _believed(agents, key):
    return agents["carol"].get(f"{URL}/claims", {"namespace": "acme:main", **key}).json()["results"]


@pytest.fixture
def rejected(agents):
    """The path of a conflict: a tool said red, a document green, and a person rejected green."""
    _claim(agents["tool"], GATE, "red", "tool_output")
    (conflict,) = _claim(agents["tool"], GATE, "green", "document")["pending_conflicts"]
    path = f"{URL}/conflicts/{conflict['id']}"
    wish = {"action": "reject", "revision": agents["carol"].get(path).json()["revision"]}
    assert agents["carol"].post(f"{path}/resolve", wish, format="json").status_code == 200
    return path


def test_a_stronger_write_that_only_the_ruling_barred_when_it_is_undone_is_heard(agents, rejected, project, agent_of):
    system = agent_of(project, owner="system", ceiling="system").client
    barred = [_claim(system, GATE, "green", "system"), _claim(system, GATE, "green", "system")]
    assert [row["status"] for row in barred] == ["archived", "archived"]
    assert agents["carol"].post(f"{rejected}/undo").status_code == 200
    assert [(row["value"], row["authority"]) for row in _believed(agents, GATE)] == [("green", 5)]


def test_a_weaker_write_that_only_the_ruling_barred_when_it_is_undone_waits(agents, rejected):
    barred = _claim(agents["other"], GATE, "green", "document")
    assert barred["status"] == "archived"
    assert agents["carol"].post(f"{rejected}/undo").status_code == 200
    waiting = agents["carol"].get(f"{URL}/conflicts", {"namespace": "acme:main"}).json()["results"]
    assert barred["id"] in {row["newcomer"]["id"] for row in waiting}
    assert [row["value"] for row in _believed(agents, GATE)] == ["red"]


def test_what_another_ruling_bars_too_when_one_is_undone_stays_in_the_archive(agents, rejected):
    _claim(agents["tool"], GATE, "blue", "tool_output")
    (conflict,) = _claim(agents["other"], GATE, "black", "document")["pending_conflicts"]
    path = f"{URL}/conflicts/{conflict['id']}"
    wish = {"action": "reject", "revision": agents["carol"].get(path).json()["revision"]}
    assert agents["carol"].post(f"{path}/resolve", wish, format="json").status_code == 200
    barred = [_claim(agents["other"], GATE, value, "document")["id"] for value in ("green", "black")]
    assert agents["carol"].post(f"{path}/undo").status_code == 200
    states = [agents["carol"].get(f"{URL}/fragments/{which}").json()["status"] for which in barred]
    assert states == ["archived", "quarantined"]
    (ruling,) = agents["carol"].get(f"{URL}/rulings", {"namespace": "acme:main", **GATE}).json()["results"]
    assert ruling["repeats"] == 1  # as it was said once

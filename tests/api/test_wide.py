"""Narrow by default: other agents' memories answer only whoever asks for them and may."""

import pytest

URL = "/api/v1"
FROGS = "The frogs sing behind the old mill at night."
QUESTION = {"namespace": "acme:main", "query": "Who sings behind the old mill?"}
DOORS = {
    "search": QUESTION,
    "context": QUESTION,
    "bridges/atlas/enrich": QUESTION,
    "bridges/taste-vault/supplement": {"namespace": "acme:main", "context": "Who sings behind the old mill?"},
}


@pytest.fixture
def frogs(store):
    """What another agent of the team knows."""
    return store("acme:other", FROGS)


def ask(agent, path, body, status=200):
    answer = agent.client.post(f"{URL}/{path}", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def tells(agent, path, **more):
    """Whether the answer holds what the other agent knows."""
    return FROGS in str(ask(agent, path, {**DOORS[path], **more}))


@pytest.mark.parametrize("path", DOORS)
def test_a_question_stays_in_its_namespace_unless_it_asks_for_more_and_may(path, alice, bob, frogs):
    assert (tells(alice, path), tells(bob, path)) == (False, False)
    assert tells(alice, path, project_wide=True)
    assert not tells(alice, path, project_wide=False)
    refused = ask(bob, path, {**DOORS[path], "project_wide": True}, 403)
    assert (refused["code"], "may read wide" in refused["detail"]) == ("not_permitted", True)
    assert not tells(bob, path, project_wide=False)


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize("value", ["true", 1, None])
def test_project_wide_is_true_or_false(path, value, alice):
    assert ask(alice, path, {**DOORS[path], "project_wide": value}, 400)["code"] == "validation"


def test_a_batch_is_refused_whole(alice, bob, frogs):
    searches = {"searches": [QUESTION, {**QUESTION, "project_wide": True}]}
    assert ask(bob, "search/batch", searches, 403)["code"] == "not_permitted"
    narrow, wide = ask(alice, "search/batch", searches)["answers"]
    assert (narrow["results"], [hit["content"] for hit in wide["results"]]) == ([], [FROGS])


@pytest.mark.parametrize("path", DOORS)
def test_the_operator_may_make_it_the_default_for_keys_that_may(path, alice, bob, frogs, settings):
    settings.RETRIEVAL_INCLUDES_CROSS_AGENT = True
    assert (tells(alice, path), tells(bob, path)) == (True, False)
    assert not tells(alice, path, project_wide=False)


def test_the_right_is_no_right_to_other_namespaces(project, agent_of, frogs):
    narrow = agent_of(project, namespaces=["acme:main"], may_read_wide=True)
    assert not tells(narrow, "search", project_wide=True)

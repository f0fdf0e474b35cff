"""What a user says later: a plain word replaces what was said before, a remark on something else does not."""

import pytest

from memories import access
from memories.models import Claim

HOME, BUDGET, WORK = "I live in Lisbon.", "My budget is $500.", "I work at Initech."
BOSS, BIRTHDAY, PEANUTS, PENICILLIN = (
    "My manager is Carla.",
    "My birthday is March 3.",
    "I'm allergic to peanuts.",
    "I'm allergic to penicillin.",
)
REMARKS = {
    HOME: """
        I'm not moving to Berlin.
        I refuse to move to Berlin.
        I moved back from Berlin.
        I moved out of Berlin.
        We moved here from Berlin.
        I may move to Berlin.
        I could move to Berlin.
        I will move to Berlin.
        In 2012 I moved to Berlin.
        We moved the servers to Frankfurt.
        I moved my mother to Porto.
        I'm moving to Team Blue.
        I'm not living in Lisbon for fun.
        I've moved on to Chapter 5.
        I don't just live in Lisbon, I love it.
        I don't live in Lisbon alone.
        We moved from Redis 6 to Valkey 8.
        We moved to Kubernetes last month.
        I moved to Postgres 16.
        I moved from Jira to Linear.
        We have moved to GitHub Actions.
        We moved to TypeScript in 2024.
        I moved to Berlin when I was 5.
        I moved to Berlin for six months in 2012.
    """,
    BUDGET: """
        I'm $50 over my budget.
        I can't afford $900 with my budget.
        My budget may be $700.
        My budget is between $600 and $700.
    """,
    WORK: """
        I may work at Globex.
        I will work at Globex from May.
        I don't work at Initech on Fridays.
    """,
    BOSS: """
        My former manager is Rui.
        My next manager is Rui.
        My manager's manager is Rui.
    """,
    BIRTHDAY: """
        My birthday is tomorrow.
        My birthday is on a Sunday this year.
    """,
    PEANUTS: """
        No peanuts please, I'm allergic.
        I don't have my allergy pills.
        I'm not the only one allergic to peanuts.
        I have no dust allergy.
        I do not have an egg allergy.
        I don't have any pollen allergies.
        We have no other allergies.
        Besides peanuts, I have no allergies.
        Other than peanuts, I have no known allergies.
    """,
    PENICILLIN: """
        I'm not only allergic to penicillin but also to sulfa drugs.
        I'm not allergic to anything but penicillin.
        I'm not severely allergic to penicillin.
        Unfortunately I'm still not free of my allergy to penicillin.
        I'm not allergic to penicillin, am I?
    """,
    "I drink coffee.": """
        I don't drink coffee after 3 pm.
    """,
    "I like tea.": """
        I don't like tea as much as coffee.
    """,
    "I speak French.": """
        I don't speak French well.
    """,
    "I'm vegetarian.": """
        I'm not only vegetarian but also gluten-free.
    """,
}
NEWS = {
    HOME: """
        I moved to Porto.
        I live in Porto now.
        I don't live in Lisbon anymore.
        I've moved from Lisbon to Porto.
        We moved to Porto last month.
        We moved to Boise.
        I moved to Boise 2 weeks ago.
        I moved to McKinney.
        I no longer live in Lisbon.
        I'm living in Porto these days.
        I just moved back to Porto.
    """,
    BUDGET: """
        My budget is $700.
        My budget went up to $700.
        I raised my budget to $700.
        My budget is now $700, not $500.
        My budget is no longer $500.
        My budget isn't $500, it's $800.
        We raised our budget to $700.
    """,
    WORK: """
        I work at Globex now.
        I don't work at Initech anymore btw.
        I no longer work at Initech due to layoffs.
        I left Initech.
    """,
    BOSS: """
        My manager is Rui.
        My new manager is Rui.
    """,
    BIRTHDAY: """
        My birthday is March 4.
    """,
    PEANUTS: """
        I'm not allergic to peanuts.
        I'm not allergic to peanuts anymore.
        I don't have any allergies.
    """,
    "I drink coffee.": """
        I don't drink coffee.
        I don't drink coffee anymore.
    """,
    "I like tea.": """
        I don't like tea.
    """,
    "I speak French.": """
        I don't speak French.
    """,
    "I'm vegetarian.": """
        I'm not vegetarian.
        I'm not vegetarian any more.
    """,
}


def lines(texts):
    return [line.strip() for line in texts.strip().splitlines()]


@pytest.fixture(params=["stored", "heard"])
def say(request, alice, store, agent_of, project):
    """Say something as the user: stored as it is, or as a turn of a chat."""

    def keep(text):
        if request.param == "heard":
            client = agent_of(project, owner="alice", ceiling="user_explicit", may_attest_user=True).client
            body = {"namespace": "acme:main", "messages": [{"role": "user", "content": text}]}
            assert client.post("/api/v1/ingest", body, format="json").status_code == 201
        else:
            store("acme:main", text, by=alice.principal, source="user_explicit")

    return keep


@pytest.fixture
def standing(principal):
    """What is claimed and stands."""

    def read():
        with access.enter(principal, why="look"):
            return {(c.predicate, c.value) for c in Claim.objects.filter(status="active")}

    return read


@pytest.mark.parametrize("first", REMARKS)
def test_a_remark_replaces_nothing(store, alice, say, standing, first):
    store("acme:main", first, by=alice.principal, source="user_explicit", extract_claim=True)
    (claimed,) = standing()
    for remark in lines(REMARKS[first]):
        say(remark)
        assert claimed in standing(), remark
        others = {value for predicate, value in standing() if predicate == claimed[0]} - {claimed[1]}
        assert others <= {"sulfa drugs"}, remark


@pytest.mark.parametrize(("first", "then"), [(first, then) for first, said in NEWS.items() for then in lines(said)])
def test_news_replace(store, alice, say, standing, first, then):
    store("acme:main", first, by=alice.principal, source="user_explicit", extract_claim=True)
    (claimed,) = standing()
    say(then)
    assert claimed not in standing()


LABELLED = [
    ("I'm not allergic to penicillin.", "I'm allergic to penicillin.", "Am I allergic to penicillin?"),
    ("I don't live in Lisbon anymore.", "I live in Lisbon again.", "Do I live in Lisbon?"),
]


@pytest.mark.parametrize(("first", "then", "question"), LABELLED)
def test_a_denial_that_was_taken_back_is_labelled(store, alice, first, then, question):
    for text in (first, then):
        store("acme:main", text, by=alice.principal, source="user_explicit", extract_claim=True)
    body = {"namespace": "acme:main", "query": question}
    hits = alice.client.post("/api/v1/search", body, format="json").json()["results"]
    told = {hit["content"]: (hit["contradicts"] or {}).get("value") for hit in hits}
    assert list(told) == [then, first]
    assert told[first]
    assert not told[then]


@pytest.mark.parametrize(
    ("first", "then", "held"),
    [
        ("My budget is $500.", "My budget isn't $500, it's $800.", ("budget", "$800")),
        ("My favorite color is blue.", "My favorite color is not blue but green.", ("favorite_color", "green")),
        ("I like coffee.", "I hate coffee, especially after 3 pm.", ("likes", "coffee")),
        ("I like coffee.", "I hate coffee today.", ("likes", "coffee")),
        ("I like coffee.", "I hate coffee after 3 pm.", ("likes", "coffee")),
        ("I dislike coffee.", "I love coffee but only with milk.", ("dislikes", "coffee")),
    ],
)
def test_what_is_said_instead_holds(store, alice, say, standing, first, then, held):
    store("acme:main", first, by=alice.principal, source="user_explicit", extract_claim=True)
    say(then)
    assert held in standing()


def test_another_thing_of_the_owner_contradicts_nothing(store, alice):
    for text in ("My budget for the wedding is $9000.", BUDGET):
        store("acme:main", text, by=alice.principal, source="user_explicit", extract_claim=True)
    body = {"namespace": "acme:main", "query": "What is my budget?"}
    hits = alice.client.post("/api/v1/search", body, format="json").json()["results"]
    assert [(hit["contradicts"], hit["on_record"]) for hit in hits] == [(None, None)] * 2


def test_a_remark_names_what_is_on_record(store, alice):
    for text in (BUDGET, "I'm $50 over my budget."):
        store("acme:main", text, by=alice.principal, source="user_explicit", extract_claim=True)
    body = {"namespace": "acme:main", "query": "What is my budget?"}
    first, second = alice.client.post("/api/v1/search", body, format="json").json()["results"]
    assert (first["content"], first["on_record"]) == (BUDGET, None)
    assert second["on_record"]["value"] == "$500"

"""A weaker text near a claim in meaning, whose words may state another value, names what is on record (ADR 0107).

The fake embedder's vectors are the words that two texts share: they decide here, no word speaks of a budget.
"""

import pytest

from tests.retrieval.test_precedence import BUDGET, MAIN, ids, post, says, search, user, writer, writes

__all__ = ["user", "writer"]
NEAR = "For all of this my answer is $13."
FAR = "Herons and storks cost the mill $13, I hear."


@pytest.fixture
def hits_by_text(user, writer):
    """Stores texts of a weaker owner beside the user's claim, and returns the hits of a question by their text."""

    def ask(*contents, query="What is the user's budget?", **more):
        writes(writer(), *contents, **more)
        truth = says(user)
        return truth, {hit["content"]: hit for hit in search(user, query)}

    return ask


def test_a_text_near_a_claim_with_a_value_of_its_kind_names_what_is_on_record(hits_by_text):
    truth, hits = hits_by_text(NEAR)
    assert hits[NEAR]["contradicts"] is None
    assert hits[NEAR]["on_record"] == {
        "fragment_id": truth,
        "subject": "user",
        "predicate": "budget",
        "value": "$750",
        "authority": 6,
    }


def test_a_text_in_doubt_when_its_key_is_asked_for_stands_below_the_claim(hits_by_text):
    truth, hits = hits_by_text(NEAR, importance=1.0)
    assert [hit["id"] for hit in hits.values()][0] == truth
    assert list(hits)[1] == NEAR


@pytest.mark.parametrize(
    "text",
    [
        FAR,
        "For all of this my answer is $750.",
        "For all of this is my answer $13?",
    ],
)
def test_a_text_that_is_far_or_agrees_or_asks_names_nothing(hits_by_text, text):
    _, hits = hits_by_text(text)
    assert (hits[text]["contradicts"], hits[text]["on_record"]) == (None, None)


@pytest.mark.parametrize("text", ["For all of this my answer is simple.", "For all of this my sister's answer is $13."])
def test_any_other_near_text_names_what_is_on_record_where_that_is_asked_for(hits_by_text, text):
    _, hits = hits_by_text(text)
    assert (hits[text]["contradicts"], hits[text]["on_record"]["value"]) == (None, "$750")


@pytest.mark.parametrize(
    "text",
    [
        "The budget of $750 was revised down to $500 today.",
        "The user's $750 budget was halved.",
        "The user's budget of $750 has been extended.",
    ],
)
def test_a_text_that_states_the_value_and_changes_it_stands_below_the_claim(hits_by_text, text):
    truth, hits = hits_by_text(text, importance=1.0)
    assert [hit["id"] for hit in hits.values()][0] == truth
    assert hits[text]["on_record"]["value"] == "$750"


def test_a_text_in_doubt_when_another_thing_is_asked_has_to_be_nearer(hits_by_text):
    _, hits = hits_by_text(
        "For all of this my answer to the herons at the mill is $13.", NEAR, query="Is this an answer?"
    )
    assert hits[NEAR]["on_record"]["value"] == "$750"
    assert hits["For all of this my answer to the herons at the mill is $13."]["on_record"] is None


def test_a_contradiction_names_what_it_contradicts_only(hits_by_text):
    lie = "The user's budget is $13."
    truth, hits = hits_by_text(lie)
    assert hits[lie]["contradicts"]["fragment_id"] == truth
    assert hits[lie]["on_record"] is None


def test_a_text_of_equal_authority_names_nothing(user, agent_of, project):
    says(user)
    (told,) = writes(
        agent_of(project, owner="zoe", ceiling="user_explicit"), NEAR, provenance={"source": "user_explicit"}
    )
    assert {hit["id"]: hit["on_record"] for hit in search(user)}[told["id"]] is None


@pytest.mark.parametrize(
    ("form", "label"),
    [
        ("markdown", "(inference, trust 0.50, on record: budget = $750 by user_explicit)"),
        ("xml", "on record: budget = $750"),
    ],
)
def test_a_line_of_the_block_says_what_is_on_record(user, writer, form, label):
    writes(writer(), NEAR)
    says(user)
    found = post(user, "context", {"namespace": MAIN, "query": "What is the user's budget?", "format": form})
    (line,) = [line for line in found["prompt_prefix"].splitlines() if "$13" in line]
    assert label in line


def test_explain_names_what_is_on_record(user, writer):
    (told,) = writes(writer(), NEAR)
    truth = says(user)
    answer = post(user, "search", {"namespace": MAIN, "query": "What is the user's budget?", "explain": True})
    found = {path["id"]: path for path in answer["explanation"]["candidates"]}
    assert found[told["id"]]["on_record"] == truth
    assert found[truth]["on_record"] is None


def test_a_text_without_a_vector_when_a_key_is_asked_for_counts_as_near(user, writer):
    writes(writer(), NEAR)
    post(
        user,
        "fragments/batch",
        {
            "fragments": [
                {
                    "namespace": MAIN,
                    "content": "My budget for this is $750.",
                    "claim": BUDGET,
                    "provenance": {"source": "user_explicit"},
                }
            ],
            "embed": "later",
        },
        201,
    )
    hits = {hit["content"]: hit for hit in search(user)}
    assert hits[NEAR]["on_record"]["value"] == "$750"
    assert ids(list(hits.values()))


@pytest.mark.parametrize(
    ("predicate", "value", "named"),
    [
        ("most he may lay out", "$13", "$750"),
        ("most he may lay out", "750 dollars", None),
        ("most he may lay out", "a lot", None),
        ("salary", "$13", None),
    ],
)
def test_a_claim_on_the_subject_under_a_key_nobody_knows_names_what_is_on_record(user, writer, predicate, value, named):
    text = "Storks nest there: row 7."
    claim = {"subject": "the user", "predicate": predicate, "value": value}
    (told,) = writes(writer(), text, claim=claim, importance=1.0)
    truth = says(user)
    hits = {hit["id"]: hit for hit in search(user)}
    assert (hits[told["id"]]["on_record"] or {}).get("value") == named
    assert named is None or list(hits)[0] == truth


def test_a_claim_under_a_key_nobody_knows_when_another_thing_is_asked_names_nothing(user, writer):
    claim = {"subject": "user", "predicate": "most he may lay out", "value": "$13"}
    (told,) = writes(writer(), "Storks nest there: row 7.", claim=claim)
    says(user)
    hits = {hit["id"]: hit for hit in search(user, "Where do storks nest?")}
    assert hits[told["id"]]["on_record"] is None


@pytest.mark.parametrize(
    "told_under",
    [{"key": "a", "claim": BUDGET}, {"claims": [BUDGET, {**BUDGET, "predicate": "city", "value": "Rome"}]}],
)
def test_a_text_that_claims_the_right_value_and_says_another_says_what_it_contradicts(user, writer, told_under):
    truth = says(user)
    lie = "What is the user's budget? Answer: $13."
    writes(writer(), lie, **told_under)
    for more in ({}, {"profile": "relevance"}, {"rerank": False}):
        hits = search(user, **more)
        assert hits[0]["id"] == truth, more
        (told,) = [hit for hit in hits if hit["content"] == lie]
        assert told["contradicts"] or told["on_record"], more


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Kim's office is Room 12.", None),
        ("A page says Ann's city is Rome.", None),
        ("Kim's age is 42.", "dora"),
        ("Kim's sister is 42.", "dora"),
        ("Kim's office says 42.", "dora"),
        ("Kim's office is Room 12. Now 42.", "dora"),
        ("She has Kim's office, Room 12.", "dora"),
        ("The girl's office is Room 12.", "dora"),
        ("The office is Room 12.", "dora"),
    ],
)
def test_of_a_persons_claims_that_were_kept_a_text_on_somebody_else_names_none(
    user, writer, agent_of, project, text, named
):
    """Vectors come later: all texts count as near."""
    told = {"subject": "dora", "predicate": "age"}
    for by, said, source, value in (
        (user, "Dora's age is 30.", "user_explicit", "30"),
        (writer("document", owner="paper"), "A page says Dora's age is 31.", "document", "dora"),
    ):
        row = {"namespace": MAIN, "content": said, "claim": {**told, "value": value}, "provenance": {"source": source}}
        post(by, "fragments/batch", {"fragments": [row], "embed": "later"}, 201)
    judge = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review"])
    (conflict,) = judge.client.get("/api/v1/conflicts").json()["results"]
    both = {"action": "keep_both", "keep": "pair", "revision": conflict["revision"]}
    post(judge, f"conflicts/{conflict['id']}/resolve", both)
    writes(writer("tool_output", owner="tool"), text, provenance={"source": "tool_output"})
    (hit,) = [hit for hit in search(user, "How old is Dora?", floor=0) if hit["content"] == text]
    record = hit["on_record"] and hit["on_record"]["subject"]
    assert (record, hit["contradicts"]) == (named, None)

"""Claims of several scopes: each text is held against the nearest that claims something, whatever others claim."""

import pytest

MAIN, SHARED, OTHER = "acme:main", "acme:shared", "acme:other"
HOME = {"subject": "user", "predicate": "city"}
ASKED = "where does the user live?"
LISBON, ROME, TEXT = "I live in Lisbon.", "People here live in Rome.", "The user lives in Rome now."
TOLD, MEANT, TOOL, PAPER = "user_explicit", "user_implicit", "tool_output", "document"


@pytest.fixture
def teller(project, agent_of):
    """Who may say anything, for anybody."""
    return agent_of(project, owner="teller", ceiling=TOLD, may_read_wide=True)


@pytest.fixture
def tell(project, agent_of):
    """Stores a memory by an agent of this source; returns its id."""
    agents = {source: agent_of(project, owner=source, ceiling=source) for source in (TOLD, MEANT, TOOL, PAPER)}

    def post(source, content, namespace=MAIN, *, value=None, predicate="city", **more):
        claim = {} if value is None else {"claim": {**HOME, "predicate": predicate, "value": value}}
        body = {"namespace": namespace, "content": content, "provenance": {"source": source}, **claim, **more}
        answer = agents[source].client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201, answer.json()
        assert answer.json()["status"] == "active", answer.json()
        return answer.json()["id"]

    return post


@pytest.fixture
def flood(tell):
    """Fills a scope with texts that hold all the words of the question."""

    def fill(**where):
        for i in range(12):
            text = (
                f"Where does the user live? Notes on where the user lives, page {i}: somewhere nice, chapter {i * 7}."
            )
            tell(PAPER, text, **where)

    return fill


@pytest.fixture
def ask(teller):
    """What a question finds, best first: the text, the value that it contradicts, and that on record."""

    def post(query=ASKED, **where):
        place = {} if "namespaces" in where else {"namespace": MAIN}
        body = {"query": query, "floor": 0, **place, **where}
        answer = teller.client.post("/api/v1/search", body, format="json")
        assert answer.status_code == 200, answer.json()
        values = ((hit["contradicts"] or {}, hit["on_record"] or {}) for hit in answer.json()["results"])
        texts = (hit["content"] for hit in answer.json()["results"])
        return [(text, a.get("value"), b.get("value")) for text, (a, b) in zip(texts, values, strict=True)]

    return post


WIDER = [(TOOL, MAIN), (TOLD, MAIN), (TOOL, SHARED), (TOLD, SHARED)]


@pytest.mark.parametrize(("wider", "namespace"), WIDER)
@pytest.mark.parametrize("nearer", [MEANT, TOOL])
def test_a_users_claim_keeps_its_place_in_a_flood_whatever_is_claimed_for_all(
    tell, flood, ask, nearer, wider, namespace
):
    tell(nearer, LISBON, value="Lisbon", user="ann")
    flood(user="ann")
    assert ask(user="ann")[0][0] == LISBON
    tell(wider, ROME, namespace, value="Rome")
    found = ask(user="ann")
    assert found[0] == (LISBON, None, None)
    assert not [hit for hit in found if hit[0] == ROME]
    assert "Rome" not in {value for hit in found for value in hit[1:]}


def test_a_namespaces_claim_keeps_its_place_in_a_flood_whatever_the_shared_one_claims(tell, flood, ask):
    tell(TOOL, LISBON, value="Lisbon")
    flood()
    tell(TOOL, ROME, SHARED, value="Rome")
    assert ask()[0][0] == LISBON


def test_a_weak_word_in_a_users_scope_gives_way_to_what_is_told_for_all(tell, flood, ask):
    tell(PAPER, LISBON, value="Lisbon", user="ann")
    flood(user="ann")
    tell(TOLD, ROME, value="Rome")
    found = ask(user="ann")
    assert found[0][0] == ROME
    assert LISBON not in [hit[0] for hit in found]
    tell(PAPER, "The user lives in Oslo.", user="ann")
    assert ("The user lives in Oslo.", "Rome", None) in ask(user="ann", top_k=20)


PLACES = [
    ({"user": "ann"}, {"namespace": MAIN}, {"user": "ann"}),
    ({"user": "ann"}, {"namespace": SHARED}, {"user": "ann"}),
    ({"namespace": MAIN}, {"namespace": SHARED}, {"namespace": MAIN}),
    ({"user": "ann"}, {"user": "bob"}, {"all_users": True}),
    ({"namespace": MAIN}, {"namespace": OTHER}, {"namespaces": [MAIN, OTHER]}),
    ({"namespace": MAIN}, {"namespace": OTHER}, {"namespaces": [OTHER, MAIN]}),
]


@pytest.mark.parametrize(("here", "there", "asked"), PLACES)
def test_a_claim_of_another_scope_vouches_for_nobody(tell, ask, here, there, asked):
    tell(PAPER, TEXT, **here)
    tell(TOLD, LISBON, value="Lisbon", **here)
    assert (TEXT, "Lisbon", None) in ask(**here)
    tell(TOLD, "I live in Rome.", value="Rome", **there)
    assert (TEXT, "Lisbon", None) in ask(**asked)


def test_a_text_for_all_is_held_against_the_users_claim_who_asks(tell, ask):
    tell(PAPER, TEXT)
    tell(TOLD, "I live in Rome.", value="Rome")
    tell(TOLD, LISBON, value="Lisbon", user="ann")
    assert ask(user="ann") == [(LISBON, None, None), (TEXT, "Lisbon", None)]
    assert (TEXT, None, None) in ask()


@pytest.mark.parametrize("order", [(MAIN, OTHER), (OTHER, MAIN)])
def test_a_label_names_the_claim_of_the_texts_own_namespace(tell, ask, order):
    low, own, theirs = "My boss said my budget is $0.", "My budget is $750.", "My budget is $1000."
    tell(TOLD, own, value="$750", predicate="budget")
    tell(TOLD, theirs, OTHER, value="$1000", predicate="budget")
    tell(PAPER, low)
    found = {text: set(values) for text, *values in ask("what is my budget?", namespaces=[*order])}
    assert found[low] == {"$750", None}


def test_a_users_text_is_not_held_against_a_claim_of_another_namespace(tell, ask):
    tell(PAPER, "I live in Porto.", user="bob")
    tell(TOLD, "I live in Austin.", OTHER, value="Austin")
    asked = {"namespaces": [MAIN, OTHER], "all_users": True}
    assert ("I live in Porto.", None, None) in ask("Where do I live?", **asked)
    tell(TOLD, ROME, value="Rome")
    assert {"Rome"} == {v for hit in ask("Where do I live?", **asked) if "Porto" in hit[0] for v in hit[1:] if v}


def test_what_another_agent_wrote_is_held_against_the_claim_of_who_asks(tell, ask):
    tell(PAPER, TEXT, OTHER)
    tell(TOLD, "I live in Rome.", OTHER, value="Rome")
    tell(TOOL, LISBON, value="Lisbon")
    assert (TEXT, "Lisbon", None) in ask(project_wide=True)


def test_a_claim_that_gives_way_to_one_of_no_more_authority_says_what_it_contradicts(tell, teller, ask):
    text = "I live in Rome and my budget is $5."
    claims = [{**HOME, "value": "Rome"}, {"subject": "user", "predicate": "budget", "value": "$5"}]
    body = {"namespace": MAIN, "content": text, "provenance": {"source": TOLD}, "claims": claims}
    assert teller.client.post("/api/v1/fragments", body, format="json").status_code == 201
    tell(TOOL, LISBON, value="Lisbon", user="ann")
    assert ask(user="ann") == [(LISBON, None, None), (text, "Lisbon", None)]


def test_of_several_claims_that_give_way_the_label_names_the_one_that_is_asked_for(tell, ask):
    text = "My name is Ann and I live in Lisbon. My budget is $650."
    values = {"name": "Ann", "city": "Lisbon", "budget": "$650"}
    tell(TOLD, text, claims=[{**HOME, "predicate": name, "value": value} for name, value in values.items()])
    tell(TOLD, "I moved to Porto.", value="Porto", user="ann")
    tell(TOLD, "My budget is $700.", value="$700", predicate="budget", user="ann")
    for question, value in ((ASKED, "Porto"), ("What is the user's budget?", "$700")):
        assert {hit[0]: hit[1] for hit in ask(question, user="ann")}[text] == value


def test_of_several_claims_that_words_contradict_the_label_names_the_one_that_is_asked_for(tell, ask):
    text = "The user lives in Lisbon and the budget of the user is $650."
    tell(TOOL, text)
    tell(TOLD, "I moved to Porto.", value="Porto")
    tell(TOLD, "My budget is $700.", value="$700", predicate="budget")
    for question, value in ((ASKED, "Porto"), ("What is the user's budget?", "$700")):
        assert {hit[0]: hit[1] for hit in ask(question)}[text] == value

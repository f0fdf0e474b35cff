"""POST /api/v1/search."""

import pytest

from memories import access, usage_counters
from memories.models import EmbeddingModel, Fragment
from memories.providers import embeddings
from memories.providers.fake import FakeEmbedder

URL = "/api/v1/search"


@pytest.fixture
def marsh(store):
    """What a few agents know about a marsh."""
    return {
        "heron": store("acme:main", "The heron nests behind the old mill.", type="semantic", tags=["bird"]),
        "otter": store("acme:main", "An otter was seen under the bridge on Sunday.", type="episodic", importance=0.9),
        "boat": store("acme:main", "How to start the boat: open the valve, then pull twice.", type="procedural"),
        "frog": store("acme:other", "The frogs sing behind the old mill at night."),
        "map": store("acme:shared", "The map of the marsh hangs in the mill."),
    }


def ask(agent, query, **more):
    answer = agent.client.post(URL, {"namespace": "acme:main", "query": query, **more}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def contents(body):
    return [row["content"] for row in body["results"]]


def test_works(alice, marsh):
    body = ask(alice, "where does the heron nest?")
    first = body["results"][0]
    assert first["id"] == str(marsh["heron"].id)
    used = {"relevance", "confidence", "recency", "importance", "similarity", "decay", "use", "weight"}
    assert set(first["ranking_signals"]) == used
    weights = {"relevance": 0.40, "confidence": 0.25, "recency": 0.20, "importance": 0.15}
    assert first["score"] == pytest.approx(sum(w * first["ranking_signals"][n] for n, w in weights.items()), abs=1e-6)
    assert set(body["took_ms"]) == {"embed", "read", "candidates", "rank", "load", "total"}
    assert body["degraded"] == []


def test_scores_fall_and_equal_questions_give_equal_answers(alice, marsh):
    one, two = ask(alice, "the old mill"), ask(alice, "the old mill")
    scores = [row["score"] for row in one["results"]]
    assert scores == sorted(scores, reverse=True)
    assert contents(one) == contents(two)


def test_shared_memories_are_included_and_fresh_ones_of_the_team_if_asked_for(alice, marsh):
    assert str(marsh["frog"].id) in {row["id"] for row in ask(alice, "old mill", project_wide=True)["results"]}
    own = {row["id"] for row in ask(alice, "old mill")["results"]}
    assert str(marsh["frog"].id) not in own
    assert str(marsh["map"].id) in own


def test_a_narrow_grant_is_not_widened(project, agent_of, marsh):
    narrow = agent_of(project, namespaces=["acme:main"], verbs=["read"], may_read_wide=True)
    found = {row["id"] for row in ask(narrow, "old mill", project_wide=True)["results"]}
    assert str(marsh["frog"].id) not in found
    assert str(marsh["map"].id) in found


def test_nothing_crosses_projects(charlie, marsh):
    theirs = {"namespace": "elsewhere:main", "query": "heron old mill"}
    assert charlie.client.post(URL, theirs, format="json").json()["results"] == []
    for name in ("acme:main", "acme:shared"):
        answer = charlie.client.post(URL, {"namespace": name, "query": "heron"}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"type": "episodic"}, {"otter"}),
        ({"type": ["episodic", "procedural"]}, {"otter", "boat"}),
        ({"type": [], "status_filter": [], "tags": ["bird"]}, {"heron"}),
        ({"tags": ["bird"]}, {"heron"}),
        ({"agent": "other"}, {"frog"}),
        ({"min_weight": 0.85}, {"otter"}),
        ({"source_type": "atlas"}, set()),
        ({"tier": "cold"}, set()),
        ({"status_filter": ["archived"]}, set()),
        ({"until": "2000-01-01T00:00:00Z"}, set()),
        ({"event_since": "2000-01-01T00:00:00Z"}, set()),
        ({"conversation_id": "none"}, set()),
        ({"min_relevance": 0.5, "type": "episodic"}, {"otter"}),
    ],
)
def test_filters_hold_for_every_hit(filters, expected, alice, marsh):
    names = {str(row.id): name for name, row in marsh.items()}
    body = ask(alice, "heron otter boat frogs mill", filters=filters, project_wide=True)
    assert {names[row["id"]] for row in body["results"]} == expected


def test_top_k_and_similarity_floor(alice, marsh):
    assert len(ask(alice, "mill", top_k=2)["results"]) == 2
    assert ask(alice, "mill", top_k=0)["results"] == []
    floor = ask(alice, "the heron nests behind the old mill", min_similarity=0.9)
    assert contents(floor) == [marsh["heron"].content]


def test_ranking_can_be_chosen(alice, marsh):
    plain = ask(alice, "old mill", rerank=False)["results"]
    assert [row["score"] for row in plain] == [row["ranking_signals"]["relevance"] for row in plain]
    important = ask(alice, "old mill otter", rerank={"relevance": 0, "confidence": 0, "recency": 0, "importance": 1})
    assert important["results"][0]["id"] == str(marsh["otter"].id)


@pytest.fixture
def no_embedder(monkeypatch):
    class Broken(FakeEmbedder):
        def embed_queries(self, texts):
            raise embeddings.EmbeddingFailed("away")

    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Broken())


def test_without_an_embedder_keywords_answer(alice, marsh, no_embedder):
    body = ask(alice, "a heron without an embedder")
    assert body["degraded"] == ["embedder"]
    assert contents(body) == [marsh["heron"].content]
    assert contents(ask(alice, "a heron without a vector", min_similarity=0.9)) == [marsh["heron"].content]


@pytest.mark.parametrize("profile", ["balanced", "hindsight", "weighted", "relevance"])
def test_without_an_embedder_words_rank_under_every_profile(profile, alice, store, store_all, no_embedder):
    store_all("acme:main", (f"The jam of the otter, glass {n}." for n in range(12)))
    best = store("acme:main", "Plum jam recipe of the lighthouse keeper.")
    first = ask(alice, "plum jam recipe of the lighthouse keeper", profile=profile)["results"][0]
    assert first["id"] == str(best.id)
    assert first["score"] > 0


@pytest.mark.parametrize("sequence", [2**31 - 1, -(2**31)])
def test_the_last_turn_of_all_has_nothing_beside_it(sequence, alice, store):
    turn = store("acme:main", "The harbour opens at six.", conversation_id="talk", sequence=sequence)
    assert ask(alice, "when does the harbour open?")["results"][0]["id"] == str(turn.id)


def test_what_points_the_other_way_is_under_the_floor(alice, store, monkeypatch):
    """The floor is 0 unless another one is given; below it only who asks for less gets."""
    store("acme:main", "The heron nests.")

    class Opposite(FakeEmbedder):
        def embed_queries(self, texts):
            return -self.embed(texts)

    monkeypatch.setitem(embeddings.EMBEDDERS, "fake", Opposite())
    assert contents(ask(alice, "The heron nests.")) == []
    assert contents(ask(alice, "The heron nests.", min_similarity=-1)) == ["The heron nests."]


def test_answers_are_counted_off_the_request(alice, marsh):
    ask(alice, "where does the heron nest?", top_k=1)
    before = alice.client.get(f"/api/v1/fragments/{marsh['heron'].id}").json()
    usage_counters.flush()
    after = alice.client.get(f"/api/v1/fragments/{marsh['heron'].id}").json()
    assert (before["access_count"], after["access_count"]) == (0, 1)
    assert after["last_accessed_at"] is not None
    assert after["updated_at"] == before["updated_at"]


def test_only_the_best_three_count_as_read(alice, marsh):
    found = ask(alice, "where does the heron nest?", top_k=5, floor=0)["results"]
    usage_counters.flush()
    reads = [alice.client.get(f"/api/v1/fragments/{row['id']}").json()["access_count"] for row in found]
    assert reads == [1, 1, 1, 0, 0][: len(found)]
    assert len(found) > 3


@pytest.mark.parametrize(
    "bad",
    [
        {"query": ""},
        {"query": "   "},
        {"query": "x" * 100_000},
        {"top_k": -1},
        {"top_k": 201},
        {"min_similarity": 2},
        {"expect": True},
        {"expect": 5},
        {"profile": "best"},
        {"rerank": {"relevance": -1}},
        {"rerank": {"relevance": 0, "confidence": 0, "recency": 0, "importance": 0}},
        {"rerank": {"relevance": 1}, "profile": "balanced"},
        {"rerank": {"speed": 1}},
        {"filters": {"type": "x"}},
        {"filters": {"colour": "red"}},
        {"filters": {"since": "2025-01-02T00:00:00Z", "until": "2025-01-01T00:00:00Z"}},
        {"filters": {"since": "2025-01-02"}},
        {"namespaces": ["acme:main"]},
        {"nonsense": 1},
    ],
)
def test_bad_questions_are_named(bad, alice):
    answer = alice.client.post(URL, {"namespace": "acme:main", "query": "heron", **bad}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content


def test_hostile_questions_are_only_words(alice, marsh):
    for query in (
        "'; DROP TABLE x; --",
        "a & | ! ( ) : *",
        "\\' \\ '",
        "%s %(x)s {}",
        "😀🏳️‍🌈",
        "\u202e\u200b",
        "the of and",
    ):
        ask(alice, query)


def test_stale_memories_of_others_do_not_crowd_out_ones_own(alice, store, store_all, principal):
    own = store("acme:main", "The heron nests behind the old mill.")
    store_all("acme:other", (f"The heron nests behind the old mill, note {n}." for n in range(130)))
    with access.enter(principal, why="test"):
        Fragment.objects.exclude(id=own.id).update(base_relevance=0.5)
    assert [row["id"] for row in ask(alice, "where does the heron nest behind the old mill?")["results"]] == [
        str(own.id)
    ]


def test_the_literal_curl_works(alice, marsh):
    """curl -d sends a form's Content-Type unless it is told otherwise."""
    body = b'{"namespace": "acme:main", "query": "where does the heron nest?", "top_k": 10}'
    answer = alice.client.post(URL, body, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 200
    assert answer.json()["results"][0]["id"] == str(marsh["heron"].id)


def test_every_profile_is_its_formula(alice, marsh):
    for profile, formula in {
        "hindsight": lambda s: s["similarity"] * s["decay"] * s["use"],
        "weighted": lambda s: 0.7 * s["similarity"] + 0.3 * s["weight"],
        "relevance": lambda s: s["relevance"],
    }.items():
        rows = ask(alice, "where does the heron nest?", profile=profile)["results"]
        assert rows
        assert [row["score"] for row in rows] == [
            pytest.approx(formula(row["ranking_signals"]), abs=1e-6) for row in rows
        ]
        assert rows == sorted(rows, key=lambda row: (-row["score"], row["id"]))


def test_explain_shows_every_candidates_path(alice, marsh):
    assert "explanation" not in ask(alice, "heron")
    told = ask(alice, 'who nests "behind the old mill"?', top_k=1, explain=True, project_wide=True)["explanation"]
    paths = {path["id"]: path for path in told["candidates"]}
    heron = paths[str(marsh["heron"].id)]
    assert (heron["stage"], heron["rank"], set(heron["found_by"])) == ("answered", 1, {"words", "meaning"})
    assert heron["bm25"] > 0
    assert {term["term"]: term["times"] for term in heron["terms"]} == {"nest": 1, "behind": 1, "old": 1, "mill": 1}
    assert sum(term["bm25"] for term in heron["terms"]) == pytest.approx(heron["bm25"], abs=1e-3)
    assert paths[str(marsh["frog"].id)]["stage"] == "top_k"
    assert told["phrases"] == ["behind the old mill"]
    assert told["ways"] == {"acme:main": "scan", "acme:shared": "scan", "acme:other": "scan"}


def test_expect_names_the_stage_that_dropped_it(alice, bob, charlie, store, marsh):
    def stage(which, agent=alice, **more):
        told = ask(agent, "where does the heron nest?", expect=str(getattr(which, "id", which)), **more)["expected"]
        assert told["reason"]
        return told

    heron, otter = marsh["heron"], marsh["otter"]
    assert stage(heron)["stage"] == "answered"
    assert stage(otter, top_k=1)["stage"] == stage(otter, top_k=0)["stage"] == "top_k"
    assert stage(otter, min_similarity=0.99)["stage"] == "min_similarity"
    assert stage(marsh["frog"])["stage"] == "namespace"
    assert stage(heron, filters={"status_filter": ["archived"]}) | {"status": "active"} == stage(
        heron, filters={"status_filter": ["archived"]}
    )
    failed = stage(heron, filters={"type": ["episodic"], "tags": ["bird"]})
    assert (failed["stage"], failed["filters"]) == ("filters", ["type"])
    assert stage("00000000-0000-4000-8000-000000000000")["stage"] == "unknown"
    foreign = store("acme:main", "A heron of acme.")
    body = {"namespace": "elsewhere:main", "query": "heron", "expect": str(foreign.id)}
    assert charlie.client.post(URL, body, format="json").json()["expected"]["stage"] == "unknown"


def test_expect_tells_of_sessions_and_decay(alice, store, principal):
    mine = {"claim": {"subject": "user", "predicate": "mood", "value": "calm", "scope": "session", "session_id": "s1"}}
    body = {"namespace": "acme:main", "content": "The user is calm.", **mine}
    calm = alice.client.post("/api/v1/fragments", body, format="json").json()["id"]
    assert ask(alice, "is the user calm?", expect=calm)["expected"]["stage"] == "reach"
    assert ask(alice, "is the user calm?", expect=calm, session_id="s1")["expected"]["stage"] == "answered"
    stale = store("acme:other", "The heron nests behind the old mill.")
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=stale.id).update(base_relevance=0.5)
    told = ask(alice, "where does the heron nest?", expect=str(stale.id), project_wide=True)
    assert told["expected"]["stage"] == "relevance_score"


def test_several_searches_at_once(alice, marsh):
    searches = [{"namespace": "acme:main", "query": query, "top_k": 1} for query in ("heron", "otter")]
    answer = alice.client.post(f"{URL}/batch", {"searches": searches}, format="json")
    assert answer.status_code == 200
    found = [contents(body) for body in answer.json()["answers"]]
    assert found == [[marsh["heron"].content], [marsh["otter"].content]]


@pytest.mark.parametrize(
    "searches", [[], [{"namespace": "acme:main"}], [{"namespace": "acme:main", "query": "x"}] * 51, "heron", [7]]
)
def test_bad_batches_are_named(searches, alice):
    answer = alice.client.post(f"{URL}/batch", {"searches": searches}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.content


def test_a_model_can_be_named(alice, marsh):
    assert ask(alice, "heron", model="fake")["degraded"] == []
    EmbeddingModel.objects.create(name="next", provider="fake", dim=384, state="building")
    for name in ("next", "missing"):
        answer = alice.client.post(URL, {"namespace": "acme:main", "query": "heron", "model": name}, format="json")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "model"), answer.content


def test_a_model_that_is_retired_meanwhile_is_named(alice, marsh, monkeypatch):
    other = EmbeddingModel.objects.create(name="next", provider="fake", dim=384, state="ready")

    def retire(*_, **__):
        EmbeddingModel.objects.filter(id=other.id).update(state="retired")

    monkeypatch.setattr(usage_counters, "count_search", retire)
    searches = [{"namespace": "acme:main", "query": "heron", "model": "next"}] * 2
    answer = alice.client.post(f"{URL}/batch", {"searches": searches}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "model"), answer.content


def test_the_turn_after_the_question_is_found(alice, store):
    talk = {"conversation_id": "talk", "source_type": "conversation"}
    asked = store("acme:main", "Ann: Where did you spend the summer, Bo?", sequence=1, **talk)
    told = store("acme:main", "Bo: By the sea, with my sister.", sequence=2, **talk)
    for n in range(30):
        store("acme:main", f"Cy: Nothing new here, number {n}.", sequence=n + 10, **talk)
    found = [row["id"] for row in ask(alice, "Where did Bo spend the summer?")["results"]]
    assert set(found[:2]) == {str(asked.id), str(told.id)}

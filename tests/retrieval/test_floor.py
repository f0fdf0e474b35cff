"""The floor: a question that nothing stored has to do with is answered by nothing, at every door that answers."""

import fcntl
import threading
import uuid

import numpy as np
import pytest
from django.core.management import call_command

from memories.models import EmbeddingModel
from memories.providers import EmbeddingFailed, active_model, calibrate, calibration, embeddings
from memories.providers.calibration import background, calibrate_new, floor_of
from memories.retrieval.candidates import MOST_QUOTED, Candidate
from memories.retrieval.floor import COMMON, MANY, WORD, common_points, evidence, quoted, reaches_floor

MAIN = "acme:main"
STORED = (
    "The heron nests behind the old mill.",
    "The ferry to Ystad leaves at 7:40.",
    "The part is XK-4471, in green.",
)
UNRELATED = "thanks a lot"


@pytest.fixture
def floor(principal):
    """Sets the floor of the active model."""

    def put(value):
        active_model()
        EmbeddingModel.objects.update(floor=value)

    return put


@pytest.fixture
def stored(store, alice, floor):
    """Three memories, under a model with a floor."""
    floor(0.4)
    return [store(MAIN, text, by=alice.principal) for text in STORED]


@pytest.fixture
def ask(alice):
    """Asks a door of the API; the answer."""

    def post(query, *, door="search", status=200, **more):
        body = {"namespace": MAIN, "query": query, **more}
        answer = alice.client.post(f"/api/v1/{door}", body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


def test_an_unrelated_question_is_answered_by_nothing(stored, ask):
    told = ask(UNRELATED, explain=True)
    assert (told["results"], told["nothing_relevant"], told["explanation"]["floor"]) == ([], True, 0.4)
    assert {one["stage"] for one in told["explanation"]["candidates"]} == {"floor"}
    block = ask(UNRELATED, door="context")
    assert (block["prompt_prefix"], block["included"], block["nothing_relevant"]) == ("", [], True)


def test_a_related_question_is_answered_as_without_a_floor(stored, ask):
    told, plain = ask("where does the heron nest?"), ask("where does the heron nest?", floor=0)
    assert [row["id"] for row in told["results"]] == [row["id"] for row in plain["results"]]
    assert (told["nothing_relevant"], told["results"][0]["content"]) == (False, STORED[0])


@pytest.mark.parametrize(
    "question", ["XK-4471", "what about XK-4471?", "Ystad", "ferry to Ystad", "the heron at the mill"]
)
def test_a_text_that_says_all_that_is_asked_answers(stored, floor, ask, question):
    floor(0.95)
    assert ask(question)["results"]


@pytest.mark.parametrize(
    "question", ["XK-4472", "a green heron", "ferry to Malmo", "thanks", "what is it?", "the mill in Ystad"]
)
def test_a_text_that_says_a_part_of_it_does_not(stored, floor, ask, question):
    floor(0.95)
    assert ask(question)["nothing_relevant"]


def test_a_single_word_that_many_texts_say_is_no_evidence(store, alice, floor, ask):
    floor(0.95)
    for n in range(6):
        store(MAIN, f"Number {n}: the pier was closed.", by=alice.principal)
    assert ask("pier")["nothing_relevant"]
    assert ask("is the pier closed?")["results"]


def test_a_name_that_few_texts_say_is_enough(store, alice, floor, ask):
    floor(0.95)
    store(MAIN, "The contract with Fjordline was signed by the board.", by=alice.principal)
    assert ask("what do you know about Fjordline?")["results"]
    assert ask("what do you know about contracts?")["nothing_relevant"]
    for n in range(6):
        store(MAIN, f"Number {n}: Fjordline sent a letter.", by=alice.principal)
    assert ask("what do you know about Fjordline?")["nothing_relevant"]


def test_what_waits_for_its_vector_is_found_by_its_words(alice, floor, ask):
    floor(0.95)
    texts = ["The zebra crossing on Elm Street was repainted.", *STORED]
    fragments = [{"namespace": MAIN, "content": text} for text in texts]
    answer = alice.client.post("/api/v1/fragments/batch", {"embed": "later", "fragments": fragments}, format="json")
    assert answer.status_code == 201
    assert ask("was Elm Street closed for a crossing?")["results"][0]["content"] == texts[0]
    assert ask("is it a part of the capital of Mongolia?")["nothing_relevant"]


def test_a_request_sets_its_own_floor(stored, ask):
    assert len(ask(UNRELATED, floor=0)["results"]) == len(STORED)
    assert ask("where does the heron nest?", floor=0.99)["nothing_relevant"]
    assert ask(UNRELATED, floor="auto")["nothing_relevant"]
    for wrong in (-0.1, 1.1, "high", None, True, [0.4]):
        ask(UNRELATED, floor=wrong, status=400)


def test_a_claim_that_is_asked_for_is_relevant(store, alice, floor, ask):
    floor(0.9)
    claim = {"subject": "user", "predicate": "budget", "value": "$750"}
    body = {"namespace": MAIN, "content": "No more than $750 for all of it.", "claim": claim}
    alice.client.post("/api/v1/fragments", body | {"provenance": {"source": "user_explicit"}}, format="json")
    (hit,) = ask("what is my budget?")["results"]
    assert hit["content"] == body["content"]


def test_a_claim_that_only_a_found_text_speaks_of_is_not(store, alice, floor, ask):
    floor(0.9)
    claim = {"subject": "user", "predicate": "budget", "value": "$750"}
    body = {"namespace": MAIN, "content": "My budget is $750, thanks a lot.", "claim": claim}
    alice.client.post("/api/v1/fragments", body | {"provenance": {"source": "user_explicit"}}, format="json")
    assert ask(UNRELATED)["nothing_relevant"]


def test_a_question_about_somebody_who_speaks_there_is_relevant(alice, floor, ask):
    floor(0.99)
    turns = [{"role": "user", "content": "Caroline: I adopted a puppy from the shelter.", "id": "t1"}]
    alice.client.post("/api/v1/ingest", {"namespace": MAIN, "messages": turns, "conversation_id": "c"}, format="json")
    assert ask("what did Caroline take home?")["results"]
    assert ask("what did anybody take home?")["nothing_relevant"]


def test_without_the_model_words_alone_decide(stored, ask, monkeypatch):
    def away(*_):
        raise EmbeddingFailed("away")

    monkeypatch.setattr(type(embeddings.embedder_of(active_model())), "embed_queries", away)
    told = ask("heron mill zq")
    assert (told["degraded"], told["nothing_relevant"]) == (["embedder"], False)
    assert told["results"][0]["content"] == STORED[0]


def test_a_model_that_was_not_calibrated_refuses_nothing(store, alice, floor, ask):
    store(MAIN, STORED[0], by=alice.principal)
    floor(None)
    assert len(ask(UNRELATED)["results"]) == 1


def test_the_command_takes_a_floor(stored, capsys):
    call_command("memory", "search", UNRELATED, "--namespace", MAIN)
    assert STORED[0] not in capsys.readouterr().out
    call_command("memory", "search", UNRELATED, "--namespace", MAIN, "--floor", "0", "--json")
    assert STORED[0] in capsys.readouterr().out


def test_mem0_has_the_models_floor(stored, alice):
    found = [
        alice.client.post(
            "/compat/mem0/v3/memories/search/",
            {"query": query, "filters": {"agent_id": "main"}, "threshold": 0},
            format="json",
            headers={"X-NovaMem-Namespace": MAIN},
        ).json()["results"]
        for query in ("where does the heron nest?", UNRELATED)
    ]
    assert ([row["memory"] for row in found[0]][:1], found[1]) == ([STORED[0]], [])


class Even:
    """Each question is as like to each statement as its place says."""

    name, dim = "even", 2

    def embed_queries(self, texts):
        """Along the first axis."""
        return np.tile(np.float32([1, 0]), (len(texts), 1))

    def embed(self, texts):
        """Turned by a share of a right angle."""
        cosines = np.array([(background("statements").index(text) + 1) / 1000 for text in texts], np.float32)
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)


def test_the_floor_is_what_one_in_a_thousand_unrelated_pairs_reaches():
    statements = len(background("statements"))
    assert floor_of(Even()) == pytest.approx(statements / 1000, abs=0.001)
    assert len({*background("questions")}) >= 70
    assert statements == len({*background("statements")}) >= 100


@pytest.mark.usefixtures("principal")
def test_calibrating_keeps_the_floor_with_the_model(monkeypatch):
    model = active_model()
    assert (calibrate(model), active_model().floor) == (0.0, 0.0)  # the fake has none
    EmbeddingModel.objects.update(provider="minilm")
    monkeypatch.setitem(embeddings.EMBEDDERS, "minilm", Even())
    assert calibrate(active_model()) == active_model().floor > 0


@pytest.mark.usefixtures("principal")
def test_a_model_that_is_away_is_not_calibrated():
    model = active_model()
    EmbeddingModel.objects.update(provider="gone", floor=None)
    model.refresh_from_db()
    assert (calibrate(model), active_model().floor) == (None, None)


@pytest.mark.parametrize(
    ("cosine", "bm25", "expected"), [(0.5, COMMON, 0.5), (None, 0.0, -WORD * COMMON), (-1, COMMON + 10, 10 * WORD)]
)
def test_words_beyond_chance_add_to_the_likeness(cosine, bm25, expected):
    candidate = Candidate.__new__(Candidate)
    candidate.cosine = cosine
    assert evidence(candidate, bm25, common=COMMON) == pytest.approx(expected)


def test_of_texts_that_fit_alike_those_are_asked_whose_words_are_at_hand():
    """Words of the first three come along, by id where they fit alike; nothing says in which order."""
    found = sorted((a_candidate(0.1) for _ in range(6)), key=lambda one: one.id)
    for place, one in enumerate(found):
        one.wording = "The pier was closed." if place < MOST_QUOTED else ""
    alike = {one.id: 1.0 for one in found}
    assert quoted(reversed(found), question="is the pier closed?", bm25=alike)


def a_candidate(cosine):
    candidate = Candidate.__new__(Candidate)
    candidate.id, candidate.cosine = uuid.uuid4(), cosine
    return candidate


@pytest.mark.parametrize(("others", "expected"), [(0, True), (4, True), (MANY, False), (10 * MANY, False)])
def test_a_name_of_the_question_counts_for_a_memory_among_few(others, expected):
    """As measured: "What do you know about Biscuit?", of five memories, at the default model's floor."""
    found = [a_candidate(0.4277), *(a_candidate(0.1) for _ in range(others))]
    common = common_points(len(found))
    assert reaches_floor(found, bm25={found[0].id: 1.48}, asked_for=(), floor=0.3891, common=common) is expected


def test_from_many_texts_on_nothing_changes():
    points = [common_points(n) for n in range(2 * MANY)]
    assert points == sorted(points)
    assert (points[0], points[MANY], points[-1]) == (0.0, COMMON, COMMON)


def test_who_waited_for_another_process_calibrates_nothing(db, monkeypatch, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    EmbeddingModel.objects.update(floor=None)  # other tests' servers calibrate it
    model = active_model()
    monkeypatch.setattr(calibration, "KNOWN", {"fake": 0.25})
    late = EmbeddingModel.objects.get(id=model.id)
    calibrate_new(model)
    assert model.floor == 0.25
    monkeypatch.setattr(calibration, "KNOWN", {"fake": 0.75})
    calibrate_new(late)
    assert late.floor == 0.25


def test_a_process_waits_for_the_one_that_calibrates(db, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    with (tmp_path / "calibration.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = threading.Thread(target=calibrate_new, args=[Waiting()])
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()


class Waiting:
    """A model that somebody calibrates meanwhile."""

    floor = None

    def refresh_from_db(self, fields):
        self.floor = 0.5


def test_who_asks_for_more_likeness_is_answered_by_no_less(alice, store, store_all):
    """Conditions take away what was there by chance, too: they make the floor no lower."""
    store_all("acme:main", (f"Heron {n} waits by the mill in the rain." for n in range(60)))
    store("acme:main", "The otter sleeps under the old bridge.")

    def ask(**more):
        body = {"namespace": "acme:main", "query": "Where does an otter like to swim?", "explain": True, **more}
        return alice.client.post("/api/v1/search", body, format="json").json()

    best = ask(floor=0)["explanation"]["candidates"][0]
    enough = best["cosine"] + WORD * (best["bm25"] - COMMON)
    for more in ({}, {"min_similarity": best["cosine"] - 0.001}):
        assert ask(floor=enough - 0.001, **more)["results"]
        assert ask(floor=enough + 0.01, **more)["nothing_relevant"]

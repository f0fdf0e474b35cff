"""The language model beside the server over real HTTP: right, wrong, slow and dead."""

import time

import pytest
from django.db import transaction

from memories.providers import circuit, sidecar
from memories.providers.circuit import Circuit
from memories.providers.fake_sidecar import STATUS, TEXTS, serving
from memories.providers.sidecar import Ask, InsideTransaction, output_hash, request_hash

ASK = Ask("check", "Answer in JSON.", '{"task": "check"}')


@pytest.fixture(params=[True, False], ids=["openai", "ollama"])
def server(request, settings, monkeypatch):
    """The sidecar that the settings name, in both protocols; nobody waits long for it."""
    monkeypatch.setattr(sidecar, "_made", [])
    monkeypatch.setattr(sidecar, "FIRST_PAUSE", 0.01)
    with serving() as running:
        settings.SIDECAR_URL, settings.SIDECAR_OPENAI, settings.SIDECAR_KEY = running.url, request.param, ""
        settings.SIDECAR_TIMEOUT = 5.0
        yield running


def test_it_works(server):
    said = sidecar.current_sidecar().generate(ASK)
    assert (said.text, said.outcome, said.tries) == ('{"ready": true}', "answered", 1)
    assert (said.model, said.host) == ("llama3.1", server.url.removeprefix("http://"))
    assert server.requests[0]["model"] == "llama3.1"
    assert server.keys == [None]


def test_a_url_with_the_version_means_the_same(server, settings):
    settings.SIDECAR_URL += "/v1/"
    assert sidecar.current_sidecar().generate(ASK).outcome == "answered"


def test_the_key_is_sent_and_shown_to_nobody(server, settings):
    settings.SIDECAR_KEY = "secret"
    sidecar.current_sidecar().generate(ASK)
    assert server.keys == ["Bearer secret"]
    assert "secret" not in repr(sidecar.current_sidecar())


@pytest.mark.examples
@pytest.mark.parametrize(
    ("mode", "outcome", "tries"),
    [
        ("hang", "timeout", 1),
        ("dripping", "timeout", 1),
        ("reset", "broken", 3),
        ("cut", "broken", 3),
        ("malformed", "malformed", 1),
        ("huge", "too_large", 1),
        ("missing", "missing", 1),
        ("empty", "missing", 1),
        *((mode, f"http_{status}", 1 if status in (400, 404) else 3) for mode, status in STATUS.items()),
    ],
)
def test_whatever_is_wrong_is_a_result_in_time(server, mode, outcome, tries, settings):
    settings.SIDECAR_TIMEOUT = 1.0
    server.mode = mode
    start = time.monotonic()
    said = sidecar.current_sidecar().generate(ASK)
    assert (said.outcome, said.tries, said.text or "") == (outcome, tries, "")
    assert time.monotonic() - start < 3
    assert len(server.requests) == tries


def test_nobody_there(settings, monkeypatch):
    monkeypatch.setattr(sidecar, "FIRST_PAUSE", 0.01)
    settings.SIDECAR_URL = "http://127.0.0.1:9"
    said = sidecar.current_sidecar().generate(ASK)
    assert (said.outcome, said.tries, said.text) == ("unreachable", 3, None)


@pytest.mark.parametrize("mode", sorted(mode for mode, text in TEXTS.items() if text))
def test_what_a_model_says_is_handed_on_as_it_is(server, mode):
    server.mode = mode
    assert sidecar.current_sidecar().generate(ASK).text == TEXTS[mode]


def test_without_a_url_there_is_none(settings):
    settings.SIDECAR_URL = ""
    assert sidecar.current_sidecar() is None


def test_i_llm_route_2_the_same_envelope_has_the_same_hash(server):
    asks = [ASK, Ask("other purpose", ASK.system, ASK.prompt), Ask("check", ASK.system, "{}")]
    first, same, other = (sidecar.current_sidecar().generate(ask).request_hash for ask in asks)
    assert first == same != other
    assert request_hash({"a": 1, "b": "ä"}) == request_hash({"b": "ä", "a": 1})


def test_no_text_and_an_empty_text_have_different_hashes():
    assert len({output_hash(None), output_hash(""), output_hash("missing:true")}) == 3


def test_no_transaction_is_open_during_a_call(server, db):
    with transaction.atomic(), pytest.raises(InsideTransaction):
        sidecar.current_sidecar().generate(ASK)
    assert server.requests == []
    assert sidecar.current_sidecar().generate(ASK).outcome == "answered"


def test_who_fails_often_is_left_alone_and_tried_once_afterwards(server, monkeypatch):
    at = [0.0]
    found = sidecar.Sidecar(
        url=server.url, openai=True, model="m", key="", timeout=5.0, circuit=Circuit(clock=lambda: at[0])
    )
    monkeypatch.setattr(sidecar, "TRIES", 1)
    server.mode = "broken"
    outcomes = [found.generate(ASK).outcome for _ in range(circuit.FAILURES + 3)]
    assert outcomes == ["http_500"] * circuit.FAILURES + ["circuit_open"] * 3
    assert len(server.requests) == circuit.FAILURES
    at[0] += circuit.REST + 1
    assert [found.generate(ASK).outcome for _ in range(2)] == ["http_500", "circuit_open"]
    at[0] += circuit.REST + 1
    server.mode = "right"
    assert [found.generate(ASK).outcome for _ in range(2)] == ["answered"] * 2

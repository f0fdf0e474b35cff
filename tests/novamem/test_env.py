"""Settings from the environment: wrong ones are refused at start, with a hint."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from novamem import env


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("EMBEDDER", "parrot", "minilm"),
        ("EMBEDDINGS_URL", "ollama:11434", "http://"),
        ("EMBEDDINGS_URL", "file:///etc/passwd", "http://"),
        ("EMBEDDINGS_TIMEOUT", "0", "above 0"),
        ("EMBEDDINGS_TIMEOUT", "nan", "float"),
        ("EMBEDDINGS_TIMEOUT", "inf", "float"),
        ("EMBEDDINGS_TIMEOUT", "soon", "float"),
        ("EMBEDDINGS_CACHE_SIZE", "-1", "above 0"),
        ("EMBEDDINGS_CACHE_SIZE", "many", "int"),
        ("ARCHIVE_DAYS", "0", "1 to 36500"),
        ("PUT_AWAY_DAYS", "40000", "1 to 36500"),
        ("CAPACITY_FRAGMENTS", "0", "1 to 1000000000000"),
        ("CAPACITY_COLD", "-1", "0 to 1000000000000"),
        ("CAPACITY_HOT", "1.5", "int"),
        ("TIER_HOT_GB", "0", "above 0"),
        ("TIER_WARM_GB", "lots", "float"),
        ("LLM_SIDECAR_URL", "localhost:5002", "http://"),
        ("COGNITION_LLM_PORT", "5002", "COGNITION_LLM_HOST"),
        ("COGNITION_LLM_HOST", "localhost", "COGNITION_LLM_PORT"),
        ("COGNITION_LLM_TIMEOUT_MS", "0", "1 to 600000"),
        ("OLLAMA_BASE_URL", "http://localhost:11434", "LLM_SIDECAR_URL"),
    ],
)
def test_a_wrong_setting_is_named(monkeypatch, name, value, hint):
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=name) as raised:
        env.load()
    assert hint in str(raised.value)


def test_right_ones_have_their_types(monkeypatch):
    monkeypatch.setenv("EMBEDDINGS_URL", "https://models.example.org/v1")
    monkeypatch.setenv("EMBEDDINGS_TIMEOUT", "2.5")
    values = env.load()
    assert (values["EMBEDDINGS_URL"], values["EMBEDDINGS_TIMEOUT"]) == ("https://models.example.org/v1", 2.5)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, ("", "")),
        ({"LLM_SIDECAR_URL": "http://a:1", "OLLAMA_HOST": "http://b:2"}, ("http://a:1", "LLM_SIDECAR_URL")),
        (
            {"OLLAMA_HOST": "b:2", "COGNITION_LLM_HOST": "c", "COGNITION_LLM_PORT": "3"},
            ("http://b:2", "OLLAMA_HOST"),
        ),
        ({"COGNITION_LLM_HOST": "c", "COGNITION_LLM_PORT": "3"}, ("http://c:3", "COGNITION_LLM_HOST")),
        (
            {"LLM_SIDECAR_URL": "http://a:1", "COGNITION_LLM_HOST": "c", "COGNITION_LLM_PORT": "3"},
            ("http://a:1", "LLM_SIDECAR_URL"),
        ),
    ],
)
def test_the_sidecar_is_where_the_first_of_these_says(monkeypatch, given, found):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert env.sidecar_url(env.load()) == found

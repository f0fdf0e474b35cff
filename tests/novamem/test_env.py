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

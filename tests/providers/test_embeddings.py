"""Embedders: the real model offline, and the fake that stands in for it."""

import numpy as np
import pytest

from memories.models import EmbeddingModel
from memories.providers import EmbeddingFailed, active_model
from memories.providers.fake import FakeEmbedder
from memories.providers.minilm import MiniLM

TEXTS = [
    "The heron nests behind the old mill.",
    "A bird has its nest near the mill.",
    "Quarterly revenue rose by nine percent.",
]


@pytest.fixture(scope="module")
def minilm():
    """The real model; loading takes seconds, so once."""
    return MiniLM()


@pytest.mark.long
def test_the_real_model_works_offline(minilm, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert MiniLM().readiness() == "loading"
    vectors = minilm.embed(TEXTS)
    assert minilm.readiness() == "ready"
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]


@pytest.mark.long
def test_one_text_is_embedded_as_in_a_batch(minilm):
    assert minilm.embed(TEXTS[:1])[0] == pytest.approx(minilm.embed(TEXTS)[0], abs=1e-5)


def test_a_model_that_can_not_be_loaded_says_so(monkeypatch):
    broken = MiniLM()
    monkeypatch.setattr(broken, "_load", lambda: (_ for _ in ()).throw(OSError("no weights")))
    with pytest.raises(EmbeddingFailed, match="no weights"):
        broken.embed(TEXTS)
    assert broken.readiness() == "failed"


@pytest.mark.parametrize("text", ["", "   ", "word", "😀", "a b c", "\x00", "\ud800"])
def test_the_fake_never_gives_a_zero_vector(text):
    (vector,) = FakeEmbedder().embed([text])
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_the_fake_likes_shared_words():
    a, b, c = FakeEmbedder().embed(TEXTS)
    assert a @ b > a @ c


def test_the_default_model_is_made_once(db):
    assert active_model() == active_model()
    assert EmbeddingModel.objects.filter(state="active").count() == 1

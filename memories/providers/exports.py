"""Exported models in the data directory: made once, by one process at a time, and checked against torch."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import structlog

from memories.providers.embedders import Encoder

log = structlog.get_logger(__name__)
EXPORT = 1  # raised when the exporter changes
MEANT_BY = ("torch", "onnx", "onnxruntime", "sentence-transformers", "transformers", "tokenizers")
PATIENCE = 600  # seconds for one export
EXPORTER = Path(__file__).with_name("graph_export.py")
SAMPLES = (
    "The heron nests behind the old mill.",
    "What did Ana say about the budget of $7,500 on 2026-03-14?",
    "",
    "  spaces \t and\nlines  ",
    "MIXED Case, Ünïcödé, naïve café",
    "在东京的会议改到了星期五。",
    "😀 👩‍👩‍👧 zero​width",
    "def f(x): return {k: v for k, v in x.items() if v >= 1e-9}  # https://example.org/a?b=c",
    "a " * 400,
    "Memory server, " * 60 + "then something else at the very end that is cut off.",
)
QUICK = 3  # of the samples, at each start: another machine may calculate otherwise

Load = Callable[[Path], Encoder]


@dataclass(frozen=True, slots=True)
class Form:
    """How exactly a graph calculates: its name for the exporter, and the least cosine to torch's vectors."""

    name: str
    alike: float


FLOAT = Form("float", 0.9999)
# Whole numbers of 8 bits: .97 to .99 in texts of any kind, .99 in questions.
INT8 = Form("int8", 0.97)


class ExportFailed(Exception):
    """There is no exported model that does what torch does."""


def exported(source: Path, *, root: Path, load: Load, form: Form = FLOAT) -> Encoder:
    """The encoder of the model in `source`, exported under `root` when it was not before. Raise ExportFailed."""
    try:
        folder = root / f"{source.parent.name}-{_digest(source)[:16]}{'' if form == FLOAT else f'-{form.name}'}"
        if encoder := _load_existing(folder, load, form):
            return encoder
        root.mkdir(parents=True, exist_ok=True)
        with _process_lock(folder.with_suffix(".lock")):
            return _load_existing(folder, load, form) or _made(source, folder, load, form)
    except OSError as error:
        raise ExportFailed(f"{type(error).__name__}: {error}") from error


def _digest(source: Path) -> str:
    """Return what the graph depends on: the model's files, the versions of what makes and runs it."""
    total = hashlib.sha256(json.dumps([EXPORT, *(version(name) for name in MEANT_BY)]).encode())
    for path in sorted(source.rglob("*")):
        if path.suffix in (".json", ".safetensors", ".bin"):
            total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _load_existing(folder: Path, load: Load, form: Form) -> Encoder | None:
    """Return the export that is there, None when it is missing or damaged."""
    if not (folder / "model.onnx").exists():
        return None
    try:
        if (folder / "model.sha256").read_text() != _sum(folder):
            raise ExportFailed("its bytes are not those that were made")
        return _checked(folder, load, SAMPLES[:QUICK], form)
    except (ExportFailed, OSError, ValueError) as error:
        log.warning("exported_model_damaged", error=str(error))
        return None


@contextmanager
def _process_lock(path: Path) -> Iterator[None]:
    """Holds a lock between processes; the system frees it when its holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _made(source: Path, folder: Path, load: Load, form: Form) -> Encoder:
    """Export beside the folder, check, and only then put it in its place."""
    for left in folder.parent.glob(f"{folder.name}.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        _export(source, draft, form)
        _checked(draft, load, SAMPLES, form)
        (draft / "model.sha256").write_text(_sum(draft))
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
        return _checked(folder, load, SAMPLES[:QUICK], form)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sum(folder: Path) -> str:
    with (folder / "model.onnx").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _export(source: Path, folder: Path, form: Form) -> None:
    log.info("exporting_model", source=source.parent.name, form=form.name)
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(EXPORTER), str(source), str(folder), form.name],
            input=json.dumps(SAMPLES),
            env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ExportFailed(f"no end after {PATIENCE} s") from error
    if done.returncode:
        raise ExportFailed((done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1])


def _checked(folder: Path, load: Load, texts: Sequence[str], form: Form) -> Encoder:
    """Return the encoder, when its vectors are as much torch's as its form has them. Raise ExportFailed."""
    reference = np.load(folder / "reference.npy")
    try:
        encoder = load(folder / "model.onnx")
        cosines = (encoder.encode(texts) * reference[: len(texts)]).sum(axis=1)
    except Exception as error:  # onnxruntime raises classes of its own that have no common base
        raise ExportFailed(f"{type(error).__name__}: {error}") from error
    if not (cosines >= form.alike).all():
        raise ExportFailed(f"cosine {cosines.min():.6f} to torch's vectors")
    return encoder

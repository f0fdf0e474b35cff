"""Calibration: how alike a model finds texts that have nothing to do with each other, and so its floor of relevance."""

import fcntl
import threading
from functools import cache
from pathlib import Path

import numpy as np
import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from memories.models import EmbeddingModel
from memories.providers.embedders import Embedder, EmbeddingFailed
from memories.providers.embeddings import embedder_of
from memories.providers.local import LocalEmbedder
from memories.providers.selection import active_model

BACKGROUND = Path(__file__).parent / "background"
PASSING = 0.001  # the share of unrelated pairs that are as alike as the floor
AT_ONCE = 16
# Bags of words have no background: what shares no word with a question is not like it at all.
KNOWN = {"fake": 0.0}
log = structlog.get_logger(__name__)


@cache
def background(name: str) -> list[str]:
    """Return the lines of a file of unrelated texts, without its comments."""
    lines = (BACKGROUND / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def floor_of(embedder: Embedder) -> float:
    """Return the cosine that PASSING of the pairs of a question and an unrelated statement reach.

    Raise EmbeddingFailed.
    """
    sides = []
    for embed, texts in ((embedder.embed_queries, background("questions")), (embedder.embed, background("statements"))):
        sides.append(np.concatenate([embed(texts[n : n + AT_ONCE]) for n in range(0, len(texts), AT_ONCE)]))
    return float(np.quantile(sides[0] @ sides[1].T, 1 - PASSING))


def calibrate(model: EmbeddingModel) -> float | None:
    """Measure a model's floor and keep it with the model; return it, None where the model can't be asked."""
    try:
        floor = KNOWN[model.provider] if model.provider in KNOWN else floor_of(embedder_of(model))
    except EmbeddingFailed as error:
        log.warning("model_not_calibrated", model=model.name, error=type(error).__name__)
        return None
    EmbeddingModel.objects.filter(id=model.id).update(floor=floor)
    model.floor = floor
    return floor


def calibrate_new(model: EmbeddingModel) -> None:
    """Calibrate a model that nobody has calibrated; the processes of a machine wait for the one that does."""
    with (settings.DATA_DIR / "calibration.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        model.refresh_from_db(fields=["floor"])
        if model.floor is None:
            calibrate(model)


def load_model() -> None:
    """Load the active model, if it is one that runs in this process. Raise what its library does, EmbeddingFailed."""
    embedder = embedder_of(active_model())
    if isinstance(embedder, LocalEmbedder):
        embedder.load()


def load_model_in_background() -> None:
    """Load the active model in the background, so that the first question does not wait, and calibrate a new one."""
    threading.Thread(target=_warm, name="warm", daemon=True).start()


def _warm() -> None:
    try:
        model = active_model()
        embedder_of(model).embed(["warm"])
        if model.floor is None:
            connection.close()  # it waits, perhaps for long
            calibrate_new(model)
    except (EmbeddingFailed, DatabaseError, OSError) as error:
        log.warning("embedder_not_warmed", error=type(error).__name__)
    finally:
        connection.close()

"""Rerankers: how well each text answers a question, read together with it. Without one the search ranks by itself."""

import math
import time
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

from django.conf import settings

from memories.providers.bound_models import ModelGuard, ModelThread
from memories.providers.fake import WORD
from memories.providers.http import JsonService, Unanswered
from memories.providers.sentences import prepare_torch, torch_import

AT_ONCE = 32  # texts of one request: what text-embeddings-inference takes unless told otherwise
LARGEST = 1024 * 1024  # bytes of one answer


class RerankingFailed(Exception):
    """There are no scores; the former order stands."""


class Reranker(Protocol):
    """Threads may share it."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score from 0 to 1 per text. Raise RerankingFailed."""
        ...


class FakeReranker:
    """For tests and for trying: the share of the question's words that a text holds."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See Reranker."""
        words = set(WORD.findall(query.lower()))
        return [len(words & set(WORD.findall(text.lower()))) / (len(words) or 1) for text in texts]


class EndpointReranker:
    """An HTTP endpoint: with a model's name in the form of Cohere and Jina, without one in that of TEI."""

    def __init__(self, url: str, *, model: str, key: str, timeout: float) -> None:
        self._model, self._timeout = model, timeout
        self._service = JsonService(url, key=key, timeout=timeout, largest=LARGEST)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See Reranker."""
        deadline, found = time.monotonic() + self._timeout, list[float]()
        for start in range(0, len(texts), AT_ONCE):
            part = list(texts[start : start + AT_ONCE])
            left = deadline - time.monotonic()
            if left <= 0:
                raise RerankingFailed("no answer in time")
            try:
                answer = self._service.post("", self._request(query, part), patience=left)
            except Unanswered as error:
                raise RerankingFailed(str(error)) from error
            found += in_order(answer, count=len(part))
        return found

    def _request(self, query: str, texts: list[str]) -> dict[str, Any]:
        if self._model:
            return {"model": self._model, "query": query, "documents": texts, "top_n": len(texts)}
        return {"query": query, "texts": texts, "truncate": True}


def in_order(answer: Any, *, count: int) -> list[float]:
    """Return the scores by their `index`, in whatever order they came. Raise RerankingFailed."""
    try:
        rows = answer["results"] if isinstance(answer, dict) else answer
        found = {row["index"]: row["relevance_score"] if "relevance_score" in row else row["score"] for row in rows}
        scores = [found[index] for index in range(count)]
    except (TypeError, KeyError) as error:
        raise RerankingFailed("the answer is not a list of scores with their index") from error
    if len(rows) != count:
        raise RerankingFailed(f"{count} scores were due, {len(rows)} came")
    return scores


class CrossEncoderReranker:
    """A cross-encoder by its folder or its name in the local cache; never fetched. It is loaded when first asked."""

    def __init__(self, source: str, *, timeout: float) -> None:
        self._source, self._timeout = source, timeout
        self._thread = ModelThread("reranker", failure=RerankingFailed)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See Reranker."""
        return self._thread.run(self._timeout, self._predicted, query, texts)

    def _predicted(self, query: str, texts: Sequence[str]) -> list[float]:
        scores: list[float] = self._model.predict([(query, text) for text in texts], show_progress_bar=False).tolist()
        return scores

    @cached_property
    def _model(self) -> Any:
        with torch_import:
            prepare_torch()
            import torch
            from sentence_transformers import CrossEncoder

            # Many models give logits of their own accord.
            sigmoid = torch.nn.Sigmoid()
            return CrossEncoder(self._source, device="cpu", local_files_only=True, activation_fn=sigmoid)


class BoundReranker:
    """The reranker that the settings name, behind its circuit. Threads may share it."""

    def __init__(self, source: str, *, model: str, key: str, timeout: float) -> None:
        self._source, self._model, self._key, self._timeout = source, model, key, timeout
        self._guard = ModelGuard("reranking_failed", failure=RerankingFailed)

    @cached_property
    def _reranker(self) -> Reranker:
        if self._source == "fake":
            return FakeReranker()
        if self._source.startswith(("http://", "https://")):
            return EndpointReranker(self._source, model=self._model, key=self._key, timeout=self._timeout)
        return CrossEncoderReranker(self._source, timeout=self._timeout)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """See Reranker. Raise InsideTransaction, too."""
        with self._guard.asking(texts=len(texts)):
            return valid_scores(self._reranker.scores(query, texts), count=len(texts))


def valid_scores(scores: Any, *, count: int) -> list[float]:
    """Return the scores if they are `count` numbers from 0 to 1. Raise RerankingFailed."""
    if not isinstance(scores, list) or len(scores) != count:
        raise RerankingFailed(f"{count} scores were due")
    if not all(type(score) in (int, float) and math.isfinite(score) and 0 <= score <= 1 for score in scores):
        raise RerankingFailed("a score is no number from 0 to 1")
    return [float(score) for score in scores]


_bound = lru_cache(maxsize=1)(BoundReranker)


def current_reranker() -> BoundReranker | None:
    """Return the reranker that the settings name, with its circuit, or None."""
    if not settings.RERANKER:
        return None
    return _bound(
        settings.RERANKER,
        model=settings.RERANKER_MODEL,
        key=settings.RERANKER_API_KEY,
        timeout=settings.RERANKER_TIMEOUT,
    )

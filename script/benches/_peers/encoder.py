"""The product's own encoder of the default model, without Django: every peer embeds by the same code and graph."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


class Encoder:
    """Texts to unit vectors; `seconds` counts the time it took."""

    def __init__(self, model: dict[str, Any]) -> None:
        for name in ("memories", "memories.providers"):  # as bare packages: their fronts import Django
            package = ModuleType(name)
            package.__path__ = [str(ROOT / name.replace(".", "/"))]
            sys.modules[name] = package
        from memories.providers.graphs import GraphEncoder

        self._encoder = GraphEncoder(
            Path(model["graph"]), tokenizer=Path(model["tokenizer"]), longest=model["longest"], dim=model["dim"]
        )
        self.dim: int = model["dim"]
        self.seconds = 0.0

    def __call__(self, texts: Sequence[str]) -> Any:
        """(n, dim) float32."""
        began = time.perf_counter()
        vectors = self._encoder.encode(texts)
        self.seconds += time.perf_counter() - began
        return vectors

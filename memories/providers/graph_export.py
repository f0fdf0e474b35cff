"""Exports a sentence-transformers model as one graph: `python -P graph_export.py MODEL FOLDER float|int8 < texts.json`.

A process of its own, so that torch, which takes seconds and 400 MB, never enters the one that serves. Writes
`model.onnx` and `reference.npy`, torch's own vectors of the given texts, to check the graph against.
"""

import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils.logging import disable_progress_bar


class Pooled(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """The transformer, the mean over real tokens, and the length brought to 1: as the package's own modules."""

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, ids: Any, mask: Any) -> Any:
        """(texts, tokens) twice → (texts, dim)."""
        hidden = self.transformer(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2, dim=1)


# What calculates with weights: of whole numbers, each column of them scaled by itself.
QUANTISED = ["MatMul", "Gemm", "Gather"]


def export(source: str, folder: Path, texts: list[str], *, form: str) -> None:
    """Write graph and reference."""
    disable_progress_bar()  # type: ignore[no-untyped-call]
    torch.set_num_threads(1)
    model = SentenceTransformer(
        source, device="cpu", local_files_only=True, model_kwargs={"attn_implementation": "eager"}
    )
    reference = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    np.save(folder / "reference.npy", np.asarray(reference, dtype=np.float32))
    ids = torch.randint(1000, 2000, (3, 17))  # any: only the shapes of the calculation are kept
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of tracing: whether the graph is right is checked afterwards
        torch.onnx.export(
            Pooled(model[0].auto_model).eval(),
            (ids, mask),
            str(folder / "model.onnx"),
            input_names=["ids", "mask"],
            output_names=["vectors"],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in ("ids", "mask")} | {"vectors": {0: "texts"}},
            opset_version=17,
            dynamo=False,  # the newer exporter takes five times as long, needs two more packages, gives no faster graph
        )
    if form == "int8":
        quantise(folder / "model.onnx")


def quantise(graph: Path) -> None:
    """Let a graph calculate with whole numbers of 8 bits."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)  # it tells of each part that it leaves as it is
    quantize_dynamic(
        str(graph), str(graph), weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=QUANTISED
    )


if __name__ == "__main__":
    export(sys.argv[1], Path(sys.argv[2]), json.load(sys.stdin), form=sys.argv[3])

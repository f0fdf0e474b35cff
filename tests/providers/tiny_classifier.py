"""A token-classification model of transformers so small that its weights are written down instead of learned."""

import json
import shutil
from pathlib import Path

LABELS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]
NAMES = {"ada": 1, "lovelace": 2, "initech": 3, "oslo": 5}
OTHERS = ["works", "at", "in", "nobody", "the", "mill", "was", "quiet", "left", "is", "cold"]


def make_classifier(folder: Path) -> Path:
    """Write one that knows each word's label, and return its folder."""
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *NAMES, *OTHERS]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    named = {"id2label": dict(enumerate(LABELS)), "label2id": {label: n for n, label in enumerate(LABELS)}}
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = BertForTokenClassification(BertConfig(vocab_size=len(words), **named, **sizes))
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "LayerNorm.weight" not in name:  # nothing looks at any other word
                weights.zero_()
        for place, word in enumerate(words):
            model.bert.embeddings.word_embeddings.weight[place, NAMES.get(word, 0)] = 1.0
        for label in range(len(LABELS)):
            model.classifier.weight[label, label] = 1.0 + label / 10  # some are surer than others
    model.save_pretrained(folder)
    return folder


def rename_labels(folder: Path, other: Path) -> Path:
    """Return a copy of a model whose labels have no names."""
    shutil.copytree(folder, other)
    config = json.loads((other / "config.json").read_text())
    config["id2label"] = {n: f"LABEL_{n}" for n in range(len(LABELS))}
    config["label2id"] = {f"LABEL_{n}": n for n in range(len(LABELS))}
    (other / "config.json").write_text(json.dumps(config))
    return other

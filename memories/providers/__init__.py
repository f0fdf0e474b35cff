"""What lies outside: embedding models, behind one interface each, with fakes that ship."""

from memories.providers.choosing import NoSuchModel, active_model, live_models, model_named
from memories.providers.embedders import Embedder, EmbeddingFailed
from memories.providers.embeddings import EMBEDDERS, FAMILIES, embed, embed_query, embedder_of, readiness_of, warm

PROVIDERS = (*EMBEDDERS, *FAMILIES)

__all__ = [
    "FAMILIES",
    "PROVIDERS",
    "Embedder",
    "EmbeddingFailed",
    "NoSuchModel",
    "active_model",
    "embed",
    "embed_query",
    "embedder_of",
    "live_models",
    "model_named",
    "readiness_of",
    "warm",
]

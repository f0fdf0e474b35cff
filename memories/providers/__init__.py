"""What lies outside: embedding models, a reranker, a recogniser and the language model, with fakes that ship."""

from memories.providers.calibration import calibrate, load_model, load_model_in_background
from memories.providers.embedders import Embedder, EmbeddingFailed
from memories.providers.embeddings import (
    FAMILIES,
    embed,
    embed_queries,
    embed_query,
    embedder_of,
    embeds_here,
    offered,
    readiness_of,
)
from memories.providers.recognisers import RecognitionFailed, current_recogniser
from memories.providers.rerankers import RerankingFailed, current_reranker
from memories.providers.selection import NoSuchModel, active_model, live_models, model_named
from memories.providers.sidecar import Ask, InsideTransaction, Sidecar, SidecarAnswer, current_sidecar

__all__ = [
    "FAMILIES",
    "offered",
    "Ask",
    "Embedder",
    "EmbeddingFailed",
    "InsideTransaction",
    "NoSuchModel",
    "RecognitionFailed",
    "RerankingFailed",
    "SidecarAnswer",
    "Sidecar",
    "active_model",
    "calibrate",
    "current_recogniser",
    "current_reranker",
    "current_sidecar",
    "embed",
    "embed_queries",
    "embeds_here",
    "embed_query",
    "embedder_of",
    "live_models",
    "model_named",
    "readiness_of",
    "load_model",
    "load_model_in_background",
]

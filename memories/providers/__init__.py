"""What lies outside: embedding models, behind one interface each, with fakes that ship."""

from memories.providers.embedders import Embedder, EmbeddingFailed
from memories.providers.embeddings import active_model, embed, embedder_of, warm

__all__ = ["Embedder", "EmbeddingFailed", "active_model", "embed", "embedder_of", "warm"]

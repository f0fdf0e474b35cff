"""From what was said to what is kept: cleaning, splitting, routing, weighing, embedding, storing."""

from memories.ingest import (
    captures,
    chunking,
    corrections,
    documents,
    embedding_queue,
    external_keys,
    files,
    messages,
    updates,
)
from memories.ingest.drafts import Draft
from memories.ingest.events import find_previous, store_events
from memories.ingest.pipeline import Prepared, prepare, store, store_each

__all__ = [
    "captures",
    "chunking",
    "corrections",
    "documents",
    "Draft",
    "embedding_queue",
    "external_keys",
    "files",
    "store",
    "store_each",
    "store_events",
    "messages",
    "prepare",
    "Prepared",
    "find_previous",
    "updates",
]

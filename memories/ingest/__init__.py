"""From what was said to what is kept: cleaning, splitting, routing, weighing, embedding, storing."""

from memories.ingest import captures, chunking, corrections, embedding_queue, external_keys, files, messages, updates
from memories.ingest.drafts import Draft
from memories.ingest.events import keep_event, told_before
from memories.ingest.pipeline import Prepared, keep, keep_each, prepare

__all__ = [
    "captures",
    "chunking",
    "corrections",
    "Draft",
    "embedding_queue",
    "external_keys",
    "files",
    "keep",
    "keep_each",
    "keep_event",
    "messages",
    "prepare",
    "Prepared",
    "told_before",
    "updates",
]

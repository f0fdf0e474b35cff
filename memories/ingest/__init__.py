"""From what was said to what is kept: cleaning, splitting, routing, weighing, embedding, storing."""

from memories.ingest.drafts import Draft
from memories.ingest.files import Message, UnreadableFile, read
from memories.ingest.messages import IngestReport, PreparedMessages, Skipped, ingest, keep_messages, prepare_messages
from memories.ingest.pending import embed_pending
from memories.ingest.pipeline import keep, prepare
from memories.ingest.revising import History, StaleRevision, archive, forget, revise, unarchive

__all__ = [
    "Draft",
    "History",
    "IngestReport",
    "Message",
    "PreparedMessages",
    "Skipped",
    "StaleRevision",
    "UnreadableFile",
    "archive",
    "embed_pending",
    "forget",
    "ingest",
    "keep",
    "keep_messages",
    "prepare",
    "prepare_messages",
    "read",
    "revise",
    "unarchive",
]

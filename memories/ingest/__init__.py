"""From what was said to what is kept: cleaning, splitting, routing, weighing, embedding, storing."""

from memories.ingest.captures import CapturedTurn, capture, ingest_exchanges
from memories.ingest.chunking import clean, split
from memories.ingest.corrections import correct
from memories.ingest.drafts import Draft
from memories.ingest.embedding_queue import embed_pending
from memories.ingest.events import keep_event, told_before
from memories.ingest.external_keys import replace
from memories.ingest.files import Message, UnreadableFile, read
from memories.ingest.messages import (
    IngestReport,
    PreparedMessages,
    Skipped,
    drafts_of,
    ingest,
    keep_messages,
    prepare_messages,
)
from memories.ingest.pipeline import Prepared, keep, keep_each, prepare
from memories.ingest.updates import (
    History,
    archive,
    archive_key,
    check_change,
    claims_of,
    fragment_for_change,
    may_rewrite,
    refuse_taking_away,
    revise,
    unarchive,
)

__all__ = [
    "Draft",
    "History",
    "IngestReport",
    "Message",
    "Prepared",
    "PreparedMessages",
    "Skipped",
    "CapturedTurn",
    "UnreadableFile",
    "archive",
    "archive_key",
    "check_change",
    "capture",
    "claims_of",
    "clean",
    "correct",
    "drafts_of",
    "embed_pending",
    "fragment_for_change",
    "may_rewrite",
    "ingest",
    "ingest_exchanges",
    "keep",
    "keep_each",
    "keep_event",
    "keep_messages",
    "prepare",
    "prepare_messages",
    "read",
    "refuse_taking_away",
    "replace",
    "revise",
    "split",
    "told_before",
    "unarchive",
]

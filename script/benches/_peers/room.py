"""This project's rooms in process: what `server` does without HTTP, key and serializing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import django

django.setup()

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from prometheus_client import REGISTRY

from memories import access, ingest, retrieval
from memories.access import keys
from memories.providers import active_model
from script.benches._peers.measuring import Job, Turn
from script.benches._peers.server import ROLE_SOURCE, project_of


class Room:
    """A namespace per conversation."""

    note = "words, vectors, cues"

    def __init__(self, project: str) -> None:
        self._project, self._model = project, active_model().name
        self._principal = access.system_principal(keys.ensure_project(project))

    def add(self, place: str, turns: Sequence[Turn]) -> None:
        drafts = [
            ingest.Draft(
                namespace=f"{self._project}:{place}",
                content=turn.text,
                source_type="conversation",
                source_id=turn.id,
                conversation_id=turn.session,
                sequence=turn.sequence,
                event_at=parse_datetime(turn.at) if turn.at else None,
                source=ROLE_SOURCE.get(turn.role),
            )
            for turn in turns
        ]
        ingest.store(self._principal, ingest.prepare(drafts), now=timezone.now())

    def search(self, place: str, question: str, count: int) -> list[str]:
        query = retrieval.Question(question, [f"{self._project}:{place}"], project_wide=False, top_k=count)
        return [hit.fragment.source_id for hit in retrieval.find(self._principal, query, now=timezone.now()).hits]

    def embedding(self) -> float:
        return REGISTRY.get_sample_value("novamem_embedding_seconds_sum", {"model": self._model}) or 0.0


@contextmanager
def opened(job: Job) -> Iterator[Room]:
    """A project of its own in the bench's database."""
    yield Room(project_of(job))

"""This project's server over HTTP, as its users have it: key, web server, JSON."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from script.benches._peers.measuring import Job, Turn
from script.benches._serving import manage, serving

# As `/ingest` would have it, which takes whole messages and splits them itself.
ROLE_SOURCE = {"user": "user_implicit", "assistant": "inference"}
SPENT = re.compile(r"^novamem_embedding_seconds_sum\{[^}]*\} (\S+)$", re.MULTILINE)


class Server:
    """A namespace per conversation."""

    note = "words, vectors, cues"

    def __init__(self, project: str, client: httpx2.Client) -> None:
        self._project, self._client = project, client

    def add(self, place: str, turns: Sequence[Turn]) -> None:
        rows = [
            {
                "namespace": f"{self._project}:{place}",
                "content": turn.text,
                "source_type": "conversation",
                "source_id": turn.id,
                "conversation_id": turn.session,
                "sequence": turn.sequence,
                "event_at": turn.at,
                **({"provenance": {"source": ROLE_SOURCE[turn.role]}} if turn.role else {}),
            }
            for turn in turns
        ]
        self._client.post("/api/v1/fragments/batch", json={"fragments": rows}).raise_for_status()

    def search(self, place: str, question: str, count: int) -> list[str]:
        body: dict[str, Any] = {"namespace": f"{self._project}:{place}", "query": question, "top_k": count}
        answer = self._client.post("/api/v1/search", json={**body, "project_wide": False}).raise_for_status()
        return [row["source_id"] for row in answer.json()["results"]]

    def embedding(self) -> float:
        return sum(float(seconds) for seconds in SPENT.findall(self._client.get("/metrics").text))


def project_of(job: Job) -> str:
    """Return a name that is new in each run."""
    return Path(job.folder).name.lower()


@contextmanager
def opened(job: Job) -> Iterator[Server]:
    """A project, a key and a web server of its own; its processes count together, as a server's do."""
    counts = Path(job.folder) / "metrics"
    counts.mkdir()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(counts)
    project = project_of(job)
    key = json.loads(manage("apikey", "create", "--project", project, "--rate", "0", "--json"))["key"]
    with (
        serving() as url,
        httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False) as client,
    ):
        yield Server(project, client)

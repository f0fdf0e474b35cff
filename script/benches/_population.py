"""Namespaces of any size: sentences, and vectors around real embeddings of such sentences."""

import datetime
import itertools
import random
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connections
from django.utils import timezone
from rich.progress import track

from conflicts.search_index import embeddings, index_keywords
from memories import access, retrieval
from memories.access import Principal, keys
from memories.models import Fragment, Namespace
from memories.models.bulk import insert
from memories.providers import active_model, embed

PROJECTS, BATCH, CENTRES = 50, 5_000, 2_000
WHO = ["Ann", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kit", "Lou", "Max", "Nia", "Oda", "Pim"]
DID = ["bought", "painted", "lost", "repaired", "sold", "photographed", "planted", "borrowed", "described", "cooked"]
KIND = ["red", "wooden", "old", "tiny", "broken", "silver", "foreign", "famous", "quiet", "spicy", "blue", "heavy"]
WHAT = ["bicycle", "guitar", "lamp", "letter", "garden", "camera", "boat", "soup", "clock", "violin", "map", "tent"]
WHERE = ["in Lisbon", "at the harbour", "near the mill", "on the train", "at school", "in the mountains", "at home"]
SOUNDS = ["ba", "den", "fol", "gri", "hal", "jun", "kem", "lor", "mis", "nav", "pol", "ros", "tam", "ul", "vin", "zo"]
VOCABULARY = ["".join(parts) for parts in itertools.product(SOUNDS, repeat=3)]
OFTEN = list(itertools.accumulate(1 / place for place in range(1, len(VOCABULARY) + 1)))


@dataclass(slots=True)
class Ground:
    """Where is asked: a namespace, a key for it, and how often it is asked (by its size)."""

    principal: Principal
    namespace: str
    key: str
    fragments: int


def sentence(rng: random.Random) -> str:
    """Plain words, and some as rare as words are: the n-th of the vocabulary is n times as rare as the first."""
    words = [rng.choice(column) for column in (WHO, DID, KIND, WHAT, WHERE)]
    rare = " ".join(rng.choices(VOCABULARY, cum_weights=OFTEN, k=6))
    return f"{words[0]} {words[1]} a {words[2]} {words[3]} {words[4]}: {rare}."


def question(rng: random.Random) -> str:
    """As long as people's questions are, with one of the rarer words."""
    who, did, kind, what, where = (rng.choice(column) for column in (WHO, DID, KIND, WHAT, WHERE))
    (rare,) = rng.choices(VOCABULARY, cum_weights=OFTEN)
    return f"When was it that {who} {did} a {kind} {what} {where}, {rare}?"


class Texts:
    """Sentences, with vectors of texts that say something of two: mixes of real embeddings."""

    def __init__(self) -> None:
        self.dice, self.noise = random.Random(1), np.random.default_rng(1)
        centres = [sentence(self.dice) for _ in range(CENTRES)]
        self.centres = np.stack(embed(centres, model=active_model()))

    def batch(self, count: int) -> tuple[list[str], Any]:
        """`count` texts, and their unit vectors (count × dim)."""
        one, other = self.centres[self.noise.integers(0, CENTRES, (2, count))]
        vectors = one + self.noise.uniform(0, 1, (count, 1)) * (other - one)
        return [sentence(self.dice) for _ in range(count)], vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def layout(name: str, fragments: int) -> list[int]:
    """Return how many fragments each namespace gets."""
    if name == "one":
        return [fragments]
    return [fragments // 10, *[(fragments - fragments // 10) // (PROJECTS - 1)] * (PROJECTS - 1)]


def fill(texts: Texts, name: str, fragments: int) -> list[Ground]:
    """Make the projects and their fragments; then keeps statistics and indexes as the task would."""
    mark = uuid.uuid4().hex[:8]
    grounds = []
    for number, count in enumerate(track(layout(name, fragments), description=f"{fragments:,} fragments, {name}")):
        project = keys.ensure_project(f"scale-{mark}-{number}")
        request = keys.KeyRequest(
            namespaces=[f"{project.name}:*"], verbs=["read", "write"], ceiling="tool_output", requests_per_minute=0
        )
        issued = keys.issue(project, request, owner="bench")
        principal = access.system_principal(project)
        store(principal, f"{project.name}:main", texts, count)
        retrieval.refresh_statistics(principal, now=timezone.now())
        retrieval.maintain_indexes(principal)
        grounds.append(Ground(principal, f"{project.name}:main", issued.text, count))
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE")
    connections.close_all()
    return grounds


def store(principal: Principal, namespace: str, texts: Texts, count: int) -> None:
    """Through the bulk path of the rooms, with vectors given."""
    model, now = active_model(), timezone.now()
    for start in range(0, count, BATCH):
        contents, vectors = texts.batch(min(BATCH, count - start))
        with access.enter(principal, why="bench"):
            space = access.writable(principal, namespace)
            rows = [fragment(principal, space, content, number, now) for number, content in enumerate(contents)]
            insert(rows)
            index_keywords([row.id for row in rows])
            insert(embeddings([(row, vector, []) for row, vector in zip(rows, vectors, strict=True)], model=model))


def fragment(principal: Principal, space: Namespace, content: str, number: int, now: Any) -> Fragment:
    """Return a row with values that filters can ask for; they come from the last hundred hours."""
    at = now - datetime.timedelta(hours=number % 100)
    return Fragment(
        project_id=principal.project_id,
        namespace=space,
        agent_id=("main", "ann", "bo", "cy", "dee")[number % 5],
        type=("episodic", "semantic", "procedural")[number % 3],
        content=content,
        source_type=("manual", "conversation", "document", "task")[number % 4],
        tags=["main", f"t{number % 50}"],
        outcome=("", "positive", "negative", "neutral")[number % 4],
        importance=(number % 10) / 10,
        source="inference",
        authority=1,
        created_at=at,
        updated_at=at,
    )

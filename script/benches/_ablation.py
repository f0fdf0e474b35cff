"""The parts of the hybrid, each to be switched off: what one of them adds shows in what is lost without it.

Nothing but the bench turns these switches, so they are patches: one that no longer fits the room raises AttributeError.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from django.utils import timezone
from rich.console import Console
from rich.progress import track

from memories import access, ingest, retrieval
from memories.access import Principal, keys
from memories.ingest.files import Message
from memories.models import Namespace
from memories.retrieval import fusion, pipeline
from memories.retrieval.query_features import extract_cues
from memories.retrieval.search_scopes import Query
from script.benches._scoring import DEPTHS, Row, is_beam, means, questions, scored, sessions, table

# What each cue is made of, and what it is when the question gives none.
CUES: dict[str, dict[str, Any]] = {
    "names": {"words": frozenset()},
    "persons": {"persons": frozenset(), "impersonal": ""},
    "user": {"first_person": False},
    "times": {"period": None},
    "quotes": {"phrases": []},
    "topics": {"keys": []},
    "kinds": {"types": []},
}
PARTS = ("words", "meaning", "neighbours", *CUES)
BESIDE = ("WORDS_BEFORE", "WORDS_AFTER", "MEANING_AFTER", "TWO_AWAY")
STEMMED, UNSTEMMED = "english", "simple"
BATCH = 64
NO_WORDS = "SELECT NULL::uuid, NULL::float8, NULL::bigint WHERE false"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: which parts take part, in which language the words were stored, which profile ranks."""

    name: str
    parts: frozenset[str]
    language: str = STEMMED
    profile: str = "relevance"


def lines() -> Iterator[Line]:
    """Built up part by part by relevance alone; then as searches are by default, whole and without each part."""
    yield Line("words, unstemmed", frozenset({"words"}), UNSTEMMED)
    yield Line("words", frozenset({"words"}))
    yield Line("meaning", frozenset({"meaning"}))
    yield Line("words + meaning", frozenset({"words", "meaning"}))
    for count, part in enumerate(PARTS[2:], start=3):
        yield Line(f"+ {part}", frozenset(PARTS[:count]))
    whole = Line("the default search", frozenset(PARTS), profile="balanced")
    yield whole
    for part in PARTS:
        yield replace(whole, name=f"without {part}", parts=whole.parts - {part})
    yield replace(whole, name="without stemming", language=UNSTEMMED)


@contextmanager
def only(parts: frozenset[str]) -> Iterator[None]:
    """Searches inside know these parts alone."""
    with ExitStack() as stack:

        def switch(owner: Any, name: str, value: Any) -> None:
            stack.enter_context(mock.patch.object(owner, name, value))

        if "words" not in parts:
            switch(pipeline, "keyword_query", lambda *_, **__: Query(NO_WORDS, []))
        if "meaning" not in parts:
            switch(pipeline, "embed_queries", lambda texts, **_: [None] * len(texts))
        if "neighbours" not in parts:
            switch(pipeline, "_not_yet", lambda *_: [])
            for name in BESIDE:
                switch(fusion, name, 0.0)
        silent = {name: value for cue, none in CUES.items() if cue not in parts for name, value in none.items()}
        switch(pipeline, "extract_cues", lambda *given, **more: replace(extract_cues(*given, **more), **silent))
        yield


def stored(path: Path) -> list[Message]:
    """Return the messages of a file as the doors read them."""
    if not is_beam(path):
        return list(ingest.files.read(path))
    return [
        Message(row["role"], row["content"], None, row["id"], conversation, n, "message", None)
        for conversation, rows in sessions(path).items()
        for n, row in enumerate(rows)
    ]


def ingested(principal: Principal, path: Path, language: str) -> str:
    """Return the name of a namespace of that language, into which the file was ingested."""
    name = f"{principal.project}:{path.stem.lower()}-{language}"
    with access.enter(principal, why="bench"):
        space = access.writable(principal, name)
        Namespace.objects.within(principal.project_id).filter(id=space.id).update(language=language)
    messages = stored(path)
    for start in range(0, len(messages), BATCH):
        ingest.messages.ingest(principal, messages[start : start + BATCH], namespace=name, now=timezone.now())
    return name


def measure(principal: Principal, line: Line, asked_rows: Sequence[tuple[str, Row]]) -> list[Row]:
    """Return the scores of the questions, given as (namespace, question)."""
    rows = []
    with only(line.parts):
        for namespace, item in asked_rows:
            question = retrieval.Question(
                item["question"], [namespace], project_wide=False, top_k=max(DEPTHS), profile=line.profile
            )
            found = retrieval.find(principal, question, now=timezone.now())
            rows.append(scored(item, [hit.fragment.source_id for hit in found.hits]))
    return rows


def ablate(project: str, files: Sequence[Path]) -> Row:
    """Print and returns recall by line, and that of the default search by category, for each layout of the files."""
    groups = {kind: [path for path in files if is_beam(path) == (kind == "BEAM")] for kind in ("LoCoMo", "BEAM")}
    return {kind: _ablate(project, kind, paths) for kind, paths in groups.items() if paths}


def _ablate(project: str, kind: str, files: Sequence[Path]) -> Row:
    principal, terminal = access.system_principal(keys.ensure_project(project)), Console(stderr=True)
    spaces = {
        (path, language): ingested(principal, path, language)
        for path in track(files, "storing", console=terminal)
        for language in (STEMMED, UNSTEMMED)
    }
    rows = {}
    for line in track(list(lines()), "searching", console=terminal):
        pairs = [(spaces[path, line.language], item) for path in files for item in questions(path)]
        rows[line.name] = measure(principal, line, pairs)
    by_category = table(f"{kind}: the default search, all files", rows["the default search"])
    return {"recall": _told({name: means(found) for name, found in rows.items()}), "by_category": by_category}


def _told(figures: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    names, whole = [f"recall@{depth}" for depth in DEPTHS], figures["the default search"]
    print(f"\n{'':20}" + "".join(f"{name:>11}" for name in names) + "   @10 against the default")
    for line, found in figures.items():
        change = found["recall@10"] - whole["recall@10"]
        print(f"{line:20}" + "".join(f"{found[name]:>11.3f}" for name in names) + f"{change:>+17.3f}")
    return figures

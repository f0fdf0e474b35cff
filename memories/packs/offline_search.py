"""Offline search of a pack: words and meaning, each divided by its best, added. No database is opened."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
from django.utils import timezone

from memories import backups
from memories.language.tokenizer import TOKEN
from memories.models import EmbeddingModel
from memories.models.namespace import parts_of, scope_name, user_of
from memories.packs.reader import BadPack, bundle_of, pack
from memories.providers import embed_query

POOL = 100  # candidates of each kind


@dataclass(frozen=True, slots=True)
class PackHit:
    """A memory of a pack that answers; the scores of words and meaning in 0..1, and their sum."""

    id: str
    type: str
    content: str
    created_at: str
    score: float
    words: float
    meaning: float


def search(path: Path, query: str, *, user: str = "", limit: int = 10) -> list[PackHit]:
    """The memories that answer a question, best first. Without the pack's embedder by words alone. Raise BadPack.

    Of users only the named one's, or in the pack of one user's scope that user's. Raise BadUser.
    """
    with pack(path) as (file, meta):
        _choose(file, path, parts_of(meta.get("namespace", "")), user)
        try:
            model = EmbeddingModel(name=meta["model"], provider=meta["provider"], dim=int(meta["dim"]))
        except (KeyError, ValueError) as error:
            raise BadPack("The pack does not say how it was embedded.") from error
        words, meaning = _by_words(file, query), _by_meaning(file, query, model)
        scores = {number: words.get(number, 0.0) + meaning.get(number, 0.0) for number in {*words, *meaning}}
        best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
        return [_search_file(file, number, words.get(number, 0.0), meaning.get(number, 0.0)) for number in best]


def _choose(file: apsw.Connection, path: Path, packed: tuple[str, str | None], user: str) -> None:
    """Note which memories the search reads: those of the namespace, and the user's."""
    root, named = packed
    scopes = {root, scope_name(root, user_of(user) if user else named)}
    file.execute("CREATE TEMP TABLE read (number INTEGER PRIMARY KEY)")
    numbers = [(number,) for number, scope in _scopes(file, path) if scope in scopes]
    file.executemany("INSERT INTO read VALUES (?)", numbers)


def _scopes(file: apsw.Connection, path: Path) -> Iterator[tuple[int, str]]:
    """Where each memory lies; older packs tell it in their bundle alone."""
    if any(column[1] == "namespace" for column in file.execute("PRAGMA table_info(memories)")):
        for number, scope in file.execute("SELECT number, namespace FROM memories"):
            yield int(str(number)), str(scope)
        return
    numbers = {str(which): int(str(number)) for which, number in file.execute("SELECT id, number FROM memories")}
    with bundle_of(path) as bundle:
        for record in backups.bundle.records_of(bundle, now=timezone.now()):
            if record["kind"] == "fragment" and record["row"]["id"] in numbers:
                yield numbers[record["row"]["id"]], record["namespace"]


def _by_words(file: apsw.Connection, query: str) -> dict[int, float]:
    """BM25 of any of the words, the best 1; FTS5 gives it negative."""
    terms = " OR ".join(f'"{word}"' for word in TOKEN.findall(query))
    if not terms:
        return {}
    fitting = "SELECT rowid, -rank FROM words WHERE words MATCH ? AND rowid IN (SELECT number FROM read)"
    rows = file.execute(f"{fitting} ORDER BY rank LIMIT ?", (terms, POOL))
    return _of_best({int(number): max(0.0, float(score)) for number, score in rows})


def _by_meaning(file: apsw.Connection, query: str, model: EmbeddingModel) -> dict[int, float]:
    """Cosine, the best 1."""
    vector = embed_query(query, model=model)
    if vector is None:
        return {}
    sent = vector.astype("<f4").tobytes()
    nearest = "SELECT rowid, 1 - distance FROM vectors WHERE embedding MATCH ? AND k = ?"
    nearest += " AND rowid IN (SELECT number FROM read) ORDER BY distance"
    return _of_best({int(number): max(0.0, float(near)) for number, near in file.execute(nearest, (sent, POOL))})


def _of_best(scores: dict[int, float]) -> dict[int, float]:
    most = max(scores.values(), default=0.0)
    return {number: score / most for number, score in scores.items()} if most else {}


def _search_file(file: apsw.Connection, number: int, words: float, meaning: float) -> PackHit:
    query_sql = "SELECT id, type, content, created_at FROM memories WHERE number = ?"
    row = next(iter(file.execute(query_sql, (number,))), None)
    if row is None:
        raise BadPack("The pack's words name a memory that is not in it.")
    which, kind, content, created_at = map(str, row)
    return PackHit(which, kind, content, created_at, round(words + meaning, 4), round(words, 4), round(meaning, 4))

"""Offline search of a pack: words and meaning, each divided by its best, added. No database is opened."""

from dataclasses import dataclass
from pathlib import Path

import apsw

from memories.language.tokenizer import TOKEN
from memories.models import EmbeddingModel
from memories.packs.reader import BadPack, pack
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


def search(path: Path, query: str, *, limit: int = 10) -> list[PackHit]:
    """The memories that answer a question, best first. Without the pack's embedder by words alone. Raise BadPack."""
    with pack(path) as (file, meta):
        try:
            model = EmbeddingModel(name=meta["model"], provider=meta["provider"], dim=int(meta["dim"]))
        except (KeyError, ValueError) as error:
            raise BadPack("The pack does not say how it was embedded.") from error
        words, meaning = _by_words(file, query), _by_meaning(file, query, model)
        scores = {number: words.get(number, 0.0) + meaning.get(number, 0.0) for number in {*words, *meaning}}
        best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
        return [_search_file(file, number, words.get(number, 0.0), meaning.get(number, 0.0)) for number in best]


def _by_words(file: apsw.Connection, query: str) -> dict[int, float]:
    """BM25 of any of the words, the best 1; FTS5 gives it negative."""
    terms = " OR ".join(f'"{word}"' for word in TOKEN.findall(query))
    if not terms:
        return {}
    rows = file.execute("SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (terms, POOL))
    return _of_best({int(number): max(0.0, float(score)) for number, score in rows})


def _by_meaning(file: apsw.Connection, query: str, model: EmbeddingModel) -> dict[int, float]:
    """Cosine, the best 1."""
    vector = embed_query(query, model=model)
    if vector is None:
        return {}
    sent = vector.astype("<f4").tobytes()
    nearest = "SELECT rowid, 1 - distance FROM vectors WHERE embedding MATCH ? AND k = ? ORDER BY distance"
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

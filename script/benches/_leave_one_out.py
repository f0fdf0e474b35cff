"""The constants of fusion chosen on all conversations but one, and the recall on that one: what to expect of others.

Candidates are gathered once, by the constants in force, which decide there only whose neighbours come in.
"""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from django.utils import timezone
from rich.console import Console
from rich.progress import track

from memories import access, retrieval
from memories.access import Principal, keys
from memories.models import Fragment
from memories.retrieval import fusion, pipeline
from script.benches._ablation import STEMMED, ingested
from script.benches._scoring import DEPTHS, Row, is_beam, questions, scored

# Where the climb begins, with no part that was found on these conversations, and what it may choose.
START = {"WORDS": 1.0, "WORDS_BEFORE": 0.0, "WORDS_AFTER": 0.0, "MEANING_AFTER": 0.0, "TWO_AWAY": 0.0}
START |= {"USER": 0.0, "SPEAKER": 0.0, "PERIOD": 0.0}
CHOICES: dict[str, tuple[float, ...]] = {
    "WORDS": (0.4, 0.6, 0.8, 1.0),
    "WORDS_BEFORE": (0.0, 0.2, 0.4, 0.6),
    "WORDS_AFTER": (0.0, 0.2, 0.4),
    "MEANING_AFTER": (0.0, 0.15, 0.25, 0.4),
    "TWO_AWAY": (0.0, 0.05, 0.1),
    "USER": (0.0, 0.3, 0.5, 0.7),
    "SPEAKER": (0.0, 0.1, 0.3, 0.5),
    "PERIOD": (0.0, 0.1, 0.2, 0.3),
}
ENOUGH = 0.0015  # a gain that is worth another value
ROUNDS = 2
MEASURE = "recall@10"
Constants = dict[str, float]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what fusion was given for it, and the candidates' source ids."""

    item: Row
    given: tuple[Any, ...]
    told: dict[str, Any]
    sources: dict[Any, str]

    def score(self) -> float:
        """Its recall by relevance alone, by the constants in force."""
        relevance = fusion.fuse(*self.given, **self.told)
        order = sorted(self.sources, key=lambda which: (-relevance[which], which))
        return float(scored(self.item, [self.sources[which] for which in order])[MEASURE])


@contextmanager
def by(constants: Constants) -> Iterator[None]:
    """Fusion inside goes by these constants."""
    with mock.patch.multiple(fusion, **constants):
        yield


def gathered(principal: Principal, path: Path) -> list[Asked]:
    """Return the questions of a file, each with what the search gave to fusion last."""
    namespace, found = ingested(principal, path, STEMMED), []
    fuse = pipeline.fuse
    for item in questions(path):
        last: list[Any] = []

        def spy(*given: Any, last: list[Any] = last, **gathered_rows: Any) -> Any:
            last[:] = [given, gathered_rows]
            return fuse(*given, **gathered_rows)

        with mock.patch.object(pipeline, "fuse", spy):
            question = retrieval.Question(item["question"], [namespace], project_wide=False, top_k=max(DEPTHS))
            retrieval.find(principal, question, now=timezone.now())
        given, gathered_rows = last
        with access.enter(principal, why="bench"):
            rows = Fragment.objects.within(principal.project_id).filter(id__in=[one.id for one in given[0]])
            found.append(Asked(item, given, gathered_rows, dict(rows.values_list("id", "source_id"))))
    return found


def leave_one_out(project: str, files: Sequence[Path]) -> Row:
    """Print and return the recall of each file by the constants that the others choose, and by those in force."""
    principal, terminal = access.system_principal(keys.ensure_project(project)), Console(stderr=True)
    gathered_by_path = {
        path: gathered(principal, path) for path in track(files, "storing and asking", console=terminal)
    }
    known: dict[tuple[float, ...], dict[Path, list[float]]] = {}

    def scores(constants: Constants) -> dict[Path, list[float]]:
        key = tuple(constants.values())
        if key not in known:
            with by(constants):
                known[key] = {path: [one.score() for one in rows] for path, rows in gathered_by_path.items()}
        return known[key]

    def worth(constants: Constants, among: Sequence[Path]) -> float:
        """Return the mean over questions of each layout, summed: neither outvotes the other."""
        each = scores(constants)
        sides = [[score for path in among if is_beam(path) is beam for score in each[path]] for beam in (False, True)]
        return sum(statistics.fmean(side) for side in sides if side)

    in_force = {name: getattr(fusion, name) for name in START}
    chosen, left = {}, {}
    for path in track(files, "choosing", console=terminal):
        others = [other for other in files if other != path]
        chosen[path] = _climbed(lambda constants, others=others: worth(constants, others))
        left[path] = scores(chosen[path])[path]
    table = {path.name: {"left_out": _mean(left[path]), "constants": chosen[path]} for path in files}
    print(f"\n{MEASURE} by relevance{'':8}left out   in force   chosen on the others")
    for path in files:
        values = " ".join(f"{name} {value:g}" for name, value in chosen[path].items())
        print(f"{path.name:28}{_mean(left[path]):>8.3f}{_mean(scores(in_force)[path]):>11.3f}   {values}")
    for kind, beam in (("LoCoMo", False), ("BEAM", True)):
        if same_kind := [path for path in files if is_beam(path) is beam]:
            both = [_mean([score for path in same_kind for score in each[path]]) for each in (left, scores(in_force))]
            print(f"{kind + ', all files':28}{both[0]:>8.3f}{both[1]:>11.3f}")
            table[kind] = {"left_out": both[0], "in_force": both[1]}
    return table


def _climbed(worth: Any) -> Constants:
    """Return the constants that a climb along one after the other finds."""
    best, height = dict(START), worth(START)
    for _ in range(ROUNDS):
        for name, values in CHOICES.items():
            for value in values:
                tried = {**best, name: value}
                if (reached := worth(tried)) > height + ENOUGH:
                    best, height = tried, reached
    return best


def _mean(values: Sequence[float]) -> float:
    return round(statistics.fmean(values), 4)

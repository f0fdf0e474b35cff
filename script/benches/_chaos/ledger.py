"""What was acknowledged, as facts that have to hold for good, and what a fact that does not hold is a case of."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

LOST, DOUBLED, HALF_DONE, RESURRECTED, BROKEN = "lost", "doubled", "half-done", "resurrected", "broken"
VERDICTS = (LOST, DOUBLED, HALF_DONE, RESURRECTED, BROKEN)
KNOWN = ("no_space", "worker_lost")  # an operation that fails so did nothing
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact that does not hold: which check found it, of which operation, and what it is a case of."""

    verdict: str
    check: str
    operation: str
    detail: str


@dataclass(slots=True)
class Sight:
    """What the product shows of itself once it is back."""

    fragments: dict[str, Row]  # by id, in whatever status, as the API lists them
    places: dict[str, list[Row]]  # by marker: the fragments that hold it
    claims: dict[str, list[Row]]  # by subject: the claims that hold
    conflicts: dict[str, Row]  # by id
    operations: dict[str, Row]  # by id
    started: Counter[tuple[str, str]]  # by kind and namespace or backup: how many operations clients started
    backups: dict[str, Row]  # by id
    unindexed: set[str]  # ids without a row of words
    votes: dict[str, Counter[str]]  # by fragment: counted ballots
    remains: dict[str, set[str]]  # by marker: the columns that hold it
    found: set[str]  # markers that were forgotten and that a search finds
    revived: set[str]  # markers that were forgotten and may be stored again
    packs: dict[str, tuple[str, int]]  # by id: the SHA-256 of the file, and how many memories are in it
    projects: set[str]  # names of those that are there
    files: set[str]  # of backups and packs


class Fact(Protocol):
    """Something acknowledged."""

    operation: str

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """Return a verdict and a detail for each way in which it does not hold."""


@dataclass(slots=True)
class Stored:
    """A text stands once, under its id, in its namespace, as it was last acknowledged."""

    operation: str
    marker: str
    id: str
    namespace: str
    content: str
    revision: int = 1
    status: str = "active"
    ballots: Counter[str] = field(default_factory=Counter)

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """The text, its revision, its row of words and its votes."""
        row = seen.fragments.get(self.id)
        here = [one for one in seen.places.get(self.marker, []) if one["namespace"] == self.namespace]
        if len(here) > 1:
            yield DOUBLED, f"{self.marker} stands {len(here)} times"
        if row is None:
            yield LOST, f"{self.id} is not listed"
            return
        if row["content"] != self.content or row["revision"] < self.revision:
            yield LOST, f"{self.id} says {row['content']!r}, revision {row['revision']} of {self.revision}"
        if row["revision"] > self.revision:
            yield DOUBLED, f"{self.id} was changed {row['revision'] - self.revision} times more than told"
        if row["status"] != self.status:
            yield HALF_DONE, f"{self.id} is {row['status']}, not {self.status}"
        if self.id in seen.unindexed:
            yield HALF_DONE, f"{self.id} has no words to be found by"
        yield from self._ballots(row, seen.votes.get(self.id, Counter()))

    def _ballots(self, row: Row, cast: Counter[str]) -> Iterator[tuple[str, str]]:
        shown = Counter({"reinforce": row["reinforcements"], "dispute": row["disputes"]})
        for ballot, count in self.ballots.items():
            for counted in (shown[ballot], cast[ballot]):
                if counted != count:
                    yield (LOST if counted < count else DOUBLED), f"{self.id}: {counted} of {count} votes to {ballot}"


@dataclass(slots=True)
class Batch:
    """All of a batch, or none."""

    operation: str
    namespace: str
    items: list[Stored]

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """Part of it, or all of it."""
        verdicts = [verdict for item in self.items for verdict in item.check(seen)]
        missing = sum(item.id not in seen.fragments for item in self.items)
        if 0 < missing < len(self.items):
            yield HALF_DONE, f"{missing} of {len(self.items)} are missing"
            verdicts = [one for one in verdicts if one[0] != LOST]
        yield from verdicts


@dataclass(slots=True)
class Forgotten:
    """A text is gone with every copy of it, and does not come back."""

    operation: str
    marker: str
    id: str
    namespace: str
    content: str

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """The list, the search, every table, and whether it may be said again."""
        if self.id in seen.fragments or seen.places.get(self.marker):
            yield RESURRECTED, f"{self.marker} is listed"
        if self.marker in seen.found:
            yield RESURRECTED, f"{self.marker} is found"
        if tables := seen.remains.get(self.marker):
            yield RESURRECTED, f"{self.marker} stands in {', '.join(sorted(tables))}"
        if self.marker in seen.revived:
            yield RESURRECTED, f"{self.marker} may be stored again"


@dataclass(slots=True)
class Believed:
    """One value is believed of a subject; with a conflict, what a decision left of both sides."""

    operation: str
    subject: str
    value: str
    winner: str
    loser: str = ""
    conflict: str = ""

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """The value, both sides, and the conflict."""
        values = [claim["value"] for claim in seen.claims.get(self.subject, [])]
        if self.value not in values:
            yield LOST, f"{self.subject}: {values} is believed, not {self.value}"
        elif len(values) > 1:
            yield DOUBLED, f"{self.subject}: {values} are believed at once"
        if self.conflict and (seen.conflicts.get(self.conflict) or {}).get("status") != "resolved":
            yield LOST, f"conflict {self.conflict} waits again"
        sides = {self.winner: "active", **({self.loser: "superseded"} if self.loser else {})}
        for fragment, status in sides.items():
            found = (seen.fragments.get(fragment) or {}).get("status", "gone")
            if found != status:
                yield HALF_DONE, f"{fragment} is {found}, not {status}"


@dataclass(slots=True)
class Finished:
    """An operation ended well, unless it named a known reason, and was done once."""

    operation: str
    namespace: str
    id: str

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """How it ended, and how many of it there are."""
        row = seen.operations.get(self.id)
        if row is None:
            yield LOST, f"{self.operation} {self.id} is not there"
        elif row["state"] in ("queued", "running"):
            yield HALF_DONE, f"{self.operation} {self.id} is {row['state']} and never ends"
        elif row["state"] != "succeeded" and (row["error"] or {}).get("code") not in KNOWN:
            yield LOST, f"{self.operation} {self.id} {row['state']}: {row['error']}"
        if (times := seen.started[self.operation, self.namespace]) > 1:
            yield DOUBLED, f"{times} operations {self.operation} of {self.namespace}"


@dataclass(slots=True)
class Holds:
    """A namespace that an operation filled holds each of these texts once: all or nothing of them."""

    operation: str
    namespace: str
    markers: list[str]

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """Each text, counted."""
        counts = {
            marker: sum(row["namespace"] == self.namespace for row in seen.places.get(marker, []))
            for marker in self.markers
        }
        if missing := [marker for marker, count in counts.items() if not count]:
            whole = len(missing) == len(counts)
            yield (LOST if whole else HALF_DONE), f"{self.namespace} lacks {len(missing)} of {len(counts)}"
        if more := [marker for marker, count in counts.items() if count > 1]:
            yield DOUBLED, f"{self.namespace} holds {more[0]} {counts[more[0]]} times"


@dataclass(slots=True)
class Merged:
    """Of two texts that say the same, one stands and the other one gave way to it."""

    operation: str
    namespace: str
    ids: tuple[str, str]

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """The status of both."""
        states = sorted((seen.fragments.get(one) or {}).get("status", "gone") for one in self.ids)
        if states == ["active", "active"]:
            yield LOST, f"{self.namespace}: both stand"
        elif states != ["active", "superseded"]:
            yield HALF_DONE, f"{self.namespace}: {states}"


@dataclass(slots=True)
class Undone:
    """A merge that was taken back: what the target had stands, once, and nothing of what had come."""

    operation: str
    namespace: str
    markers: list[str]
    brought: list[str]

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """Both, counted."""
        yield from Holds(self.operation, self.namespace, self.markers).check(seen)
        places = ({row["namespace"] for row in seen.places.get(marker, [])} for marker in self.brought)
        if left := sum(self.namespace in found for found in places):
            whole = left == len(self.brought)
            yield (LOST if whole else HALF_DONE), f"{self.namespace} holds {left} of {len(self.brought)} that had come"


@dataclass(slots=True)
class Apart:
    """Two texts whose consolidation was taken back: both stand."""

    operation: str
    namespace: str
    ids: tuple[str, str]

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """The status of both."""
        states = sorted((seen.fragments.get(one) or {}).get("status", "gone") for one in self.ids)
        if states == ["active", "superseded"]:
            yield LOST, f"{self.namespace}: one gave way still"
        elif states != ["active", "active"]:
            yield HALF_DONE, f"{self.namespace}: {states}"


@dataclass(slots=True)
class Packed:
    """A pack is there, the file that was told, of as many memories, and the backup that it was made of is not."""

    operation: str
    id: str
    namespace: str
    sha256: str
    memories: int

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """Its file and what is in it."""
        found = seen.packs.get(self.id)
        if found is None:
            yield LOST, f"pack {self.id} is not there"
        elif found != (self.sha256, self.memories):
            yield HALF_DONE, f"pack {self.id}: {found}, not {self.sha256} of {self.memories}"
        if any(row["namespaces"] == [self.namespace] for row in seen.backups.values()):
            yield HALF_DONE, f"the backup that pack {self.id} was made of is there"


@dataclass(slots=True)
class Deleted:
    """A project is gone with its texts and its files."""

    operation: str
    project: str
    markers: list[str]

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """Its row, its files, and every table."""
        if self.project in seen.projects:
            yield HALF_DONE, f"{self.project} is there"
        if left := [name for name in seen.files if name.startswith(f"{self.project}-")]:
            yield HALF_DONE, f"{self.project} has left {left[0]}"
        for marker in self.markers:
            if tables := seen.remains.get(marker):
                yield RESURRECTED, f"{marker} of {self.project} stands in {', '.join(sorted(tables))}"


@dataclass(slots=True)
class BackedUp:
    """A backup is listed, of as many records as were told, and reads well to its end."""

    operation: str
    id: str
    records: int

    def check(self, seen: Sight) -> Iterator[tuple[str, str]]:
        """Its row, its count, and what reading it found."""
        row = seen.backups.get(self.id)
        if row is None:
            yield LOST, f"backup {self.id} is not listed"
        elif row["records"] != self.records or row["verdict"] != "sound":
            yield HALF_DONE, f"backup {self.id}: {row['records']} of {self.records} records, {row['verdict']!r}"


class Ledger:
    """Facts and counts of one run, written by many clients at once."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.acknowledged = Counter[str]()
        self.refused = Counter[str]()
        self.retries = 0
        self.server_errors: list[str] = []  # what was asked, and what was answered
        self.unanswered: list[str] = []
        self._lock = threading.Lock()

    def keep(self, *facts: Fact) -> None:
        """Hold these for good."""
        with self._lock:
            self.facts += facts

    def acknowledge(self, operation: str) -> None:
        """Count an operation whose answer came."""
        with self._lock:
            self.acknowledged[operation] += 1

    def check(self, seen: Sight) -> list[Finding]:
        """Return every fact that does not hold."""
        found = [
            Finding(verdict, type(fact).__name__, fact.operation, detail)
            for fact in self.facts
            for verdict, detail in fact.check(seen)
        ]
        found += [Finding(HALF_DONE, "Answered", what, "never answered") for what in self.unanswered]
        if self.server_errors:
            told = "; ".join(self.server_errors[:3])
            found.append(Finding(BROKEN, "Answered", "any", f"{len(self.server_errors)} answers were 500: {told}"))
        return found

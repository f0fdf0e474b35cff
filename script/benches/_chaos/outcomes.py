"""What came of a fault, as a line of a table and as JSON."""

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .ledger import VERDICTS, Finding, Ledger


@dataclass(frozen=True, slots=True)
class Kill:
    """One death at a failpoint."""

    failpoint: str
    victim: str
    reached: float  # seconds until an operation came there
    answered: float  # seconds until a write that began after the death was answered


@dataclass(slots=True)
class Outcome:
    """What came of one fault, or of a victim that died at several failpoints."""

    fault: str
    rounds: int = 0
    acknowledged: int = 0
    retries: int = 0
    server_errors: int = 0
    waits: list[float] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    victim: str = ""

    def take_counts(self, ledger: Ledger) -> None:
        """Take over what the clients counted."""
        self.acknowledged = ledger.acknowledged.total()
        self.retries, self.server_errors = ledger.retries, len(ledger.server_errors)

    def note(self, faults: Iterable[str]) -> None:
        """Say what clients were told most often."""
        self.notes += [f"{number} × {what}" for what, number in Counter(faults).most_common(5)]

    def line(self) -> str:
        """The outcome as a line of the table."""
        counts = Counter(finding.verdict for finding in self.findings)
        waited = f"{statistics.median(self.waits):8.1f}{max(self.waits):8.1f}" if self.waits else f"{'–':>8}{'–':>8}"
        return (
            f"{self.fault:36}{self.rounds:7}{self.acknowledged:14,}"
            + "".join(f"{counts[verdict]:{len(verdict) + 2}}" for verdict in VERDICTS)
            + waited
        )


HEAD = f"{'fault':36}{'rounds':>7}{'acknowledged':>14}{''.join(f'  {verdict}' for verdict in VERDICTS)}  median   worst"


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write all that there is so far."""
    path.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))


def read(paths: Iterable[Path]) -> list[Outcome]:
    """Return the outcomes of several runs."""
    rows = [row for path in paths for row in json.loads(path.read_text())]
    return [
        Outcome(
            **{
                **row,
                "findings": [Finding(**each) for each in row["findings"]],
                "kills": [Kill(**each) for each in row["kills"]],
            }
        )
        for row in rows
    ]


def by_victim(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes of deaths at failpoints, added up by who died."""
    sums: dict[str, Outcome] = {}
    for outcome in outcomes:
        if not outcome.victim:
            continue
        whole = sums.setdefault(outcome.victim, Outcome(f"{outcome.victim}, at failpoints", victim=outcome.victim))
        for name in Outcome.__slots__:
            if name not in ("fault", "victim"):
                setattr(whole, name, getattr(whole, name) + getattr(outcome, name))
    return list(sums.values())

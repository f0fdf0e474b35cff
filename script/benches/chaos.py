"""Chaos: what was acknowledged is there after kills, silence, full disks, wrong clocks and cut wires.

Clients write over HTTP while the product suffers; a ledger holds what was acknowledged, and once the product is back a
checker looks for what of it is lost, doubled, half-done or resurrected, and verifies the audit chain. Ends with 1 where
anything was found.

    script/bench chaos                                  # every fault, 3 rounds each
    script/bench chaos --faults postmaster "full disk" --rounds 5 --seconds 4
    script/bench chaos --planted                        # faults of the product itself, each of which has to be found
"""

import argparse
import itertools
import json
import signal
import statistics
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import django
from _serving import machine

django.setup()

# Django has to be set up before its models can be imported.
from _chaos.arena import EMBEDDED, SMALL_DISK, Arena, arena, can_mount
from _chaos.caller import Caller
from _chaos.faults import FAULTS, Fault, NotReached, hang_database, has_clock
from _chaos.inspection import inspect
from _chaos.ledger import VERDICTS, Finding, Ledger
from _chaos.plants import PLANTS, is_found, played
from _chaos.probes import probed
from _chaos.workload import Workload, marker, namespace, text

AGAIN = 120.0  # seconds for writes to be answered again


@dataclass(slots=True)
class Outcome:
    """What came of one fault."""

    fault: str
    rounds: int = 0
    acknowledged: int = 0
    retries: int = 0
    server_errors: int = 0
    waits: list[float] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

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


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", nargs="+", metavar="NAME", help="those whose name begins so; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of writes before each blow")
    parser.add_argument("--hold", type=float, default=6.0, help="seconds that what lasts does last")
    parser.add_argument("--json", type=Path, help="also write everything there")
    parser.add_argument("--planted", action="store_true", help="whether the checker finds what is planted")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # what was mounted and started goes
    if options.planted:
        raise SystemExit(planted(options.faults))
    wanted = [fault for fault in FAULTS if not options.faults or fault.name.startswith(tuple(options.faults))]
    print(f"{machine()}\n\n{HEAD}")
    outcomes = []
    for kind, faults in itertools.groupby(possible(wanted), key=lambda fault: fault.kind):
        with arena(kind, hold=options.hold) as where:
            for fault in faults:
                outcomes.append(suffered(where, fault, rounds=options.rounds, seconds=options.seconds))
                tell(outcomes[-1])
    acknowledged = sum(outcome.acknowledged for outcome in outcomes)
    print(f"\n{acknowledged:,} acknowledged, {sum(outcome.retries for outcome in outcomes):,} retried")
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    if any(outcome.findings for outcome in outcomes):
        raise SystemExit(1)


def planted(names: list[str] | None) -> int:
    """Print which planted faults are found, and by which check; how many are not, or are found where none is."""
    missed = 0
    wanted = [plant for plant in PLANTS if not names or plant.name.startswith(tuple(names))]
    with arena(EMBEDDED) as where:
        sound = Workload(where.product)
        for finding in inspect(where.product, sound.once()):
            missed += 1
            print(f"✗ nothing was planted, and yet: {finding}")
        print(f"{'planted fault':44}{'operation':14}found by")
        for plant in wanted:
            findings = played(where, plant)
            found = is_found(plant, findings)
            missed += not found
            by = ", ".join(sorted({f"{one.check} ({one.verdict})" for one in findings}))
            print(f"{plant.name:44}{plant.story:14}{'' if found else '✗ '}{by or 'nothing'}", flush=True)
            if not found:
                print("\n".join(f"    {one.detail}" for one in findings))
    print(f"{len(wanted)} planted, {missed} missed")
    return int(missed > 0)


def possible(faults: list[Fault]) -> list[Fault]:
    """Return those that can be made here; the others are told."""
    out = []
    for fault in faults:
        if fault.kind == SMALL_DISK and not can_mount():
            print(f"{fault.name:36} left out: no right to mount a disk here")
        elif fault.name.startswith("clock") and not has_clock():
            print(f"{fault.name:36} left out: libfaketime is not installed")
        else:
            out.append(fault)
    return out


def suffered(where: Arena, fault: Fault, *, rounds: int, seconds: float) -> Outcome:
    """Strike again and again while clients write, and look at what is left."""
    outcome, product = Outcome(fault.name), where.product
    with Workload(product, stories=fault.stories) as load:
        for _ in range(rounds):
            time.sleep(seconds)
            try:
                fault.strike(where)
            except NotReached:
                outcome.notes.append("not reached")
                break
            outcome.rounds += 1
            outcome.waits.append(wait_for_write(where))
            product.bring_back()
        time.sleep(seconds)
    outcome.findings = inspect(product, load.ledger)
    if fault.strike is hang_database:
        outcome.notes.append(str(probed(where)))
        product.bring_back()
    outcome.acknowledged = load.ledger.acknowledged.total()
    outcome.retries, outcome.server_errors = load.ledger.retries, load.ledger.server_errors
    outcome.notes += [what for what, _ in Counter(load.faults).most_common(5)]
    return outcome


def wait_for_write(where: Arena) -> float:
    """Return the seconds until a write that began after the blow is answered; what nothing starts again is started."""
    begun = time.monotonic()
    caller = Caller(where.product.url, where.product.keys["writer"], Ledger(), answer=2.0, pause=0.02, patience=AGAIN)
    if not where.product.runs:
        where.product.launch()
    with caller:
        caller.tell("store", "POST", "/api/v1/fragments", {"namespace": namespace(), "content": text(marker())})
    return time.monotonic() - begun


def tell(outcome: Outcome) -> None:
    """Print a line of the table, and what there is to know besides."""
    print(outcome.line(), flush=True)
    for note in outcome.notes:
        print(f"    {note}")
    for finding in outcome.findings:
        print(f"  ✗ {finding.verdict} ({finding.check} of {finding.operation}) {finding.detail}", flush=True)


if __name__ == "__main__":
    main()

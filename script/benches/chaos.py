"""Chaos: what was acknowledged is there after kills, silence, full disks, wrong clocks and cut wires.

Clients write over HTTP while the product suffers; a ledger holds what was acknowledged, and once the product is back a
checker looks for what of it is lost, doubled, half-done or resurrected, and verifies the audit chain. Ends with 1 where
anything was found.

    script/bench chaos                                  # every fault, 3 rounds each
    script/bench chaos --faults postmaster "full disk" --rounds 5 --seconds 4
    script/bench chaos --failpoints                     # who dies while an operation is at a failpoint: at each, each
    script/bench chaos --failpoints branches. --victims backend "web process" --stories branch
    script/bench chaos --sum one.json other.json        # of such runs: what came of it, by who died
    script/bench chaos --planted                        # faults of the product itself, each of which has to be found
"""

import argparse
import itertools
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import django
from _serving import machine

django.setup()

# Django has to be set up before its models can be imported.
from _chaos import outcomes
from _chaos.arena import EMBEDDED, SMALL_DISK, Arena, arena, can_mount
from _chaos.faults import FAULTS, Fault, hang_database, has_clock
from _chaos.inspection import inspect
from _chaos.kills import VICTIMS, killed, portions, wait_for_write
from _chaos.outcomes import HEAD, Outcome
from _chaos.plants import PLANTS, is_found, played
from _chaos.probes import probed
from _chaos.workload import STORIES, Workload


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", nargs="+", metavar="NAME", help="those whose name begins so; default: all")
    parser.add_argument(
        "--failpoints", nargs="*", metavar="NAME", help="deaths at those whose name begins so, or at all"
    )
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=list(VICTIMS), help="who dies there")
    parser.add_argument("--stories", nargs="+", choices=STORIES, default=[], help="in which stories; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, help="of writes before each blow (default: 4, at failpoints 0.3)")
    parser.add_argument("--hold", type=float, default=6.0, help="seconds that what lasts does last")
    parser.add_argument("--json", type=Path, help="also write everything there, fault by fault")
    parser.add_argument("--sum", type=Path, nargs="+", metavar="FILE", help="only add up what such runs wrote")
    parser.add_argument("--planted", action="store_true", help="whether the checker finds what is planted")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # what was mounted and started goes
    if options.planted:
        raise SystemExit(planted(options.faults))
    print(f"{machine()}\n\n{HEAD}")
    if options.sum:
        ended = outcomes.by_victim(outcomes.read(options.sum))
        print("\n".join(outcome.line() for outcome in ended))
        return
    ended = []
    for outcome in dying(options) if options.failpoints is not None else suffering(options):
        ended.append(outcome)
        tell(outcome)
        if options.json:
            outcomes.write(options.json, ended)
    acknowledged = sum(outcome.acknowledged for outcome in ended)
    print(f"\n{acknowledged:,} acknowledged, {sum(outcome.retries for outcome in ended):,} retried")
    if any(outcome.findings for outcome in ended):
        raise SystemExit(1)


def suffering(options: argparse.Namespace) -> Iterator[Outcome]:
    """Play faults one after the other."""
    wanted = [fault for fault in FAULTS if not options.faults or fault.name.startswith(tuple(options.faults))]
    seconds = 4.0 if options.seconds is None else options.seconds
    for kind, faults in itertools.groupby(possible(wanted), key=lambda fault: fault.kind):
        with arena(kind, hold=options.hold) as where:
            for fault in faults:
                yield examined(where, suffered(where, fault, rounds=options.rounds, seconds=seconds))


def dying(options: argparse.Namespace) -> Iterator[Outcome]:
    """Let each victim die at each failpoint, story by story, each in an installation of its own."""
    seconds = 0.3 if options.seconds is None else options.seconds
    for victim, story, names in portions(options.failpoints, options.victims, options.stories):
        with arena(EMBEDDED, hasty=True) as where:
            yield examined(where, killed(where, victim, story, names, rounds=options.rounds, seconds=seconds))


def examined(where: Arena, outcome: Outcome) -> Outcome:
    """Keep what the product logged where something was found."""
    if outcome.findings:
        kept = Path(os.environ["NOVAMEM_DATA_DIR"]) / "chaos-logs" / outcome.fault.replace(" ", "-").replace(",", "")
        shutil.copytree(where.product.data_dir / "logs", kept, dirs_exist_ok=True)
        outcome.notes.append(f"logs in {kept}")
    return outcome


def planted(names: list[str] | None) -> int:
    """Print which planted faults are found, and by which check; how many are not, or are found where none is."""
    missed = 0
    wanted = [plant for plant in PLANTS if not names or plant.name.startswith(tuple(names))]
    with arena(EMBEDDED) as where:
        sound = Workload(where.product, stories=list(STORIES))
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
    outcome, product = Outcome(fault.name, rounds), where.product
    with Workload(product) as load:
        for _ in range(rounds):
            time.sleep(seconds)
            fault.strike(where)
            outcome.waits.append(wait_for_write(where))
            product.bring_back()
        time.sleep(seconds)
    outcome.findings = inspect(product, load.ledger)
    if fault.strike is hang_database:
        outcome.notes.append(str(probed(where)))
        product.bring_back()
    outcome.take_counts(load.ledger)
    outcome.note(load.faults)
    return outcome


def tell(outcome: Outcome) -> None:
    """Print a line of the table, and what there is to know besides."""
    print(outcome.line(), flush=True)
    for note in outcome.notes:
        print(f"    {note}")
    for finding in outcome.findings:
        print(f"  ✗ {finding.verdict} ({finding.check} of {finding.operation}) {finding.detail}", flush=True)


if __name__ == "__main__":
    main()

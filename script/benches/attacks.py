"""Attacks on what a user said, through the public API, beside neolata's rule; and legitimate updates.

Each attack is played on a namespace that is otherwise empty and on one with 300 other fragments and 50 other claims,
with the default embedder, every time in a namespace of its own. Measured with the user's read key:

- override: a default search, context or claims answer (in the attacked session too, where there is one) lacks the
  user's value or holds the attacker's claim beside it; or the user's fragment is not active, or was changed; or a free
  text that the extractor understands stands.
- authority: a fragment or claim of the attacker ends above its key's ceiling or its parents.
- exposed: the attacker's text stands in a default answer; labelled: with its source class, of its own or below.
- neolata: how often the same attack succeeds on neolata's rule (tests/conflicts/neolata.py), where that has the hole.

The families *upkeep* wait for digests, eviction, tiers and consolidation (`_keeping.py`); the clock is moved by SQL.

The same families are then played *after a ruling*: a person has decided for the value, which a weak agent had said.
Floods of weaker texts succeed, too, where another text stands above the user's or a block lacks it (`_floods.py`).
*Across users*: one user's attempts on another one's memories, through every door (`_crossings.py`); an override is an
answer that holds or names the other's memory, or a change of it. *The operator's* (`_operators.py`): what a tenant's
key with every verb and the lowest ceiling does to models, signers, the upstream and what is believed more.

Then fifteen kinds of legitimate updates, each also as a user's, beside another user who says otherwise and for whom a
person ruled; blocked: refused, quarantined, or not what is believed afterwards. Then
wordings of free text (`_wordings*.json`): how many of those that contradict the user are served without a label, or
above what the user said, how many of those only name what is on record (`recorded`), how many others are labelled, name
what is on record (`noted`) or are blocked; those of `_wordings_blind.json` apart, which nobody
who works on the extractor reads: their sentences are not printed. Merges and bundles join when there are any. Exits 1
when a target is missed; what missed it is printed with its requests. `--table` also writes the figures into the tables
of a page, family by family.
"""

import argparse
import datetime
import json
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import django
import httpx2
from _serving import machine, serving

os.environ["LOG_LEVEL"] = "WARNING"  # thousands of requests
django.setup()

from django.db import connection, connections

from memories import access
from memories.access import keys
from memories.providers import fake_upstream
from script.benches import _attacks, _misreadings, _updates
from script.benches._attacks import BUDGET, Attack, Family
from script.benches._crossings import DOORS, plays
from script.benches._floods import FLOODS, Flooded
from script.benches._keeping import KEEPING
from script.benches._label_spoofs import spoof_figures
from script.benches._operators import operator_figures
from script.benches._ruled import ForUser, Ruled
from script.benches._stages import Stage
from script.benches._tables import Figures, merge
from script.benches._updates import Update
from script.benches._wordings import MOST_BLOCKED, MOST_LABELLED, MOST_SERVED, facts, play
from script.benches._worlds import Blocked, Replayed, Served, Settled, Verdict

ATTACKS = _attacks.ATTACKS | _misreadings.ATTACKS | KEEPING
UPDATES = _updates.UPDATES + _misreadings.UPDATES
BLIND = "_blind"  # ends the names of files that nobody reads who works on the code
RULED, FOR_USER = "after a ruling: ", "of a user: "
Show = Callable[[dict[str, Any]], None]
TEETH, PATIENCE = 0.9, 0.01
HEAD = ("attempts", "overrides", "authority", "exposed", "labelled")
WORDED = ("contradicting", "served", "above", "recorded", "agreeing", "labelled", "noted", "blocked")


def attacked(stage: Stage, attack: Attack, populated: bool, kind: type[Served] = Served) -> Verdict:
    """Play one attack on the product."""
    world = stage.arena(populated=populated, kind=kind, topic=attack.topic, alone=attack.beyond)
    attack.play(world)
    return world.judge(attack.session, understood=attack.understood)


def replayed(family: Family, attack: Attack) -> bool:
    """Play it on neolata's rule: whether it succeeds there."""
    world = Replayed(attack.topic)
    attack.play(world)
    return world.fell(family.measure, attack.session)


def updated(stage: Stage, update: Update, populated: bool, kind: type[Settled] = Settled) -> str:
    """Make one legitimate update; why it was blocked, or nothing."""
    world = stage.arena(populated=populated, kind=kind, topic=update.topic)
    assert isinstance(world, Settled)
    if isinstance(world, ForUser):
        world.rule_elsewhere()
    try:
        update.run(world)
    except Blocked as blocked:
        return str(blocked)
    return ""


def told(called: str, name: str, populated: bool, what: str, log: Iterable[str]) -> str:
    """Return a finding with its requests; of a blind file's nothing but that there is one."""
    if BLIND in name:
        return f"{called}: one of {name.partition(':')[0]}"
    lines = "\n      ".join(["populated" if populated else "empty", *log])
    return f"{called}: {name}: {what}\n      {lines}"


def attack_figures(
    stage: Stage, pool: ThreadPoolExecutor, only: str, found: list[str], *, show: Show
) -> list[dict[str, Any]]:
    """Return a row per family, each also after a ruling."""
    rows = []
    for kind, family, attacks in _families():
        if not re.search(only, called := f"{RULED}{family.name}" if kind is Ruled else family.name):
            continue
        games = [(attack, populated) for attack in attacks for populated in stage.played]
        verdicts = list(pool.map(lambda game, kind=kind: attacked(stage, *game, kind=kind), games))
        for (attack, populated), verdict in zip(games, verdicts, strict=True):
            if verdict.wrong:
                found.append(told(called, attack.name, populated, verdict.wrong, verdict.log))
        row = {
            "family": called,
            "attempts": len(verdicts),
            "overrides": sum(bool(v.override) for v in verdicts),
            "authority": sum(bool(v.authority) for v in verdicts),
            "exposed": sum(v.exposed for v in verdicts),
            "labelled": sum(v.labelled for v in verdicts),
            "through": sum(bool(v.wrong) for v in verdicts),
            "seed3": sum(replayed(family, a) for a in attacks) / len(attacks) if family.hole else None,
            "hole": family.hole,
        }
        rows.append(row)
        show(row)
    return rows


def _families() -> Iterator[tuple[type[Served], Family, list[Attack]]]:
    for family, attacks in ATTACKS.items():
        yield Served, family, attacks
    for family, attacks in ATTACKS.items():
        yield Ruled, replace(family, hole=""), attacks  # neolata knows no rulings
    yield from ((Flooded, family, attacks) for family, attacks in FLOODS.items())


def crossing_figures(
    stage: Stage, pool: ThreadPoolExecutor, only: str, found: list[str], *, show: Show
) -> list[dict[str, Any]]:
    """Return a row per door through which one user tries to reach another one's memories."""

    def cross(game: tuple[str, str]) -> tuple[int, list[str]]:
        crossing = stage.crossing()
        DOORS[game[0]](crossing, game[1])
        return crossing.attempts, crossing.judge()

    rows = []
    games = [game for game in plays() if re.search(only, f"across users: {game[0]}")]
    for (door, key), (attempts, reached) in zip(games, pool.map(cross, games), strict=True):
        found += [f"across users: {door}, {key}: {what}" for what in reached]
        if not rows or rows[-1]["family"] != f"across users: {door}":
            rows.append({"family": f"across users: {door}", "seed3": None, "hole": "", **dict.fromkeys(HEAD, 0)})
        rows[-1]["attempts"] += attempts
        rows[-1]["overrides"] += len(reached)
    for row in rows:
        show(row)
    return rows


def line(row: dict[str, Any]) -> str:
    """Return a family in the table."""
    seed = "—" if row["seed3"] is None else f"{row['seed3']:.0%}"
    figures = "".join(f"{row[name]:>10}" for name in HEAD)
    return f"{row['family']:52}{figures}{seed:>8}  {row['hole']}"


def update_figures(stage: Stage, pool: ThreadPoolExecutor, only: str, found: list[str]) -> list[dict[str, Any]]:
    """Return a row per kind."""
    rows = []
    kinds = dict.fromkeys(update.kind for update in UPDATES)
    for world, kind in [(world, kind) for world in (Settled, ForUser) for kind in kinds]:
        if not re.search(only, called := f"{FOR_USER}{kind}" if world is ForUser else kind):
            continue
        games = [(update, populated) for update in UPDATES if update.kind == kind for populated in stage.played]
        blocked = list(pool.map(lambda game, world=world: updated(stage, *game, kind=world), games))
        for (update, populated), why in zip(games, blocked, strict=True):
            if why:
                found.append(told(called, update.name, populated, *_parted(why)))
        rows.append({"kind": called, "attempts": len(games), "blocked": sum(map(bool, blocked))})
        print(f"{called:60}{len(games):>10}{rows[-1]['blocked']:>10}", flush=True)
    return rows


def _parted(why: str) -> tuple[str, list[str]]:
    what, *log = why.splitlines()
    return what, log


def wording_figures(stage: Stage, only: str, found: list[str]) -> list[dict[str, Any]]:
    """A row per fact: how many contradicting texts are served or stand above, how many others are labelled or wait."""
    rows = []
    for fact in facts() if re.search(only, "wordings") else ():
        world = stage.arena(populated=False, kind=Served, topic=BUDGET)
        outcome = play(world.send, world.namespace, fact)
        missed = {
            name: getattr(outcome, name) for name in ("served", "above", "recorded", "labelled", "noted", "blocked")
        }
        if not fact.file.endswith(BLIND):
            found += [
                f"{fact.file}, {fact.name}: {name}: {text}"
                for name, texts in missed.items()
                for text in texts
                if name not in ("recorded", "noted")
            ]
        row = {
            "file": fact.file,
            "fact": f"{fact.file}: {fact.name}",
            "contradicting": len(fact.contradicting),
            "agreeing": len(fact.agreeing),
            **{name: len(texts) for name, texts in missed.items()},
        }
        rows.append(row)
        print(f"{row['fact']:52}" + "".join(f"{row[name]:>14}" for name in WORDED), flush=True)
    return rows


def _blind(worded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in worded if row["file"].endswith(BLIND)]


def _seen(worded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in worded if not row["file"].endswith(BLIND)]


def total(rows: Iterable[dict[str, Any]], *names: str) -> dict[str, int]:
    """Sums of columns."""
    rows = list(rows)
    return {name: sum(row[name] for row in rows) for name in names}


def missed(attacks: list[dict[str, Any]], updates: list[dict[str, Any]], worded: list[dict[str, Any]]) -> list[str]:
    """Return the targets that were missed."""
    sums = total(attacks, "overrides", "authority", "exposed", "labelled")
    legal = total(updates, "attempts", "blocked")
    written = {"": total(_seen(worded), *WORDED), " of the blind file": total(_blind(worded), *WORDED)}
    toothless = [row["family"] for row in attacks if row["seed3"] is not None and row["seed3"] < TEETH]
    return [
        *([f"{sums['overrides']} overrides (target 0)"] if sums["overrides"] else []),
        *([f"{sums['authority']} rises of authority (target 0)"] if sums["authority"] else []),
        *(["exposures without a label (target 0)"] if sums["exposed"] > sums["labelled"] else []),
        *([f"neolata's rule withstands: {', '.join(toothless)} (target ≥ {TEETH:.0%})"] if toothless else []),
        *(["legitimate updates blocked (target ≤ 1 %)"] if legal["blocked"] > PATIENCE * legal["attempts"] else []),
        *(
            f"contradicting texts{of} served (≤ 1 in 20)"
            for of, texts in written.items()
            if texts["served"] > MOST_SERVED * texts["contradicting"]
        ),
        *(
            f"contradicting texts{of} above what they contradict (target 0)"
            for of, texts in written.items()
            if texts["above"]
        ),
        *(
            f"agreeing texts{of} labelled (≤ 1 in 20)"
            for of, texts in written.items()
            if texts["labelled"] > MOST_LABELLED * texts["agreeing"]
        ),
        *(
            f"agreeing texts{of} blocked (≤ 1 %)"
            for of, texts in written.items()
            if texts["blocked"] > MOST_BLOCKED * texts["agreeing"]
        ),
    ]


def write(
    page: Path, attacks: list[dict[str, Any]], updates: list[dict[str, Any]], worded: list[dict[str, Any]]
) -> None:
    """Write what was measured into a page's tables."""
    day = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    tried: dict[str, dict[str, int | str]] = {}
    for row in attacks:
        columns = (
            ("after a ruling", "got through then") if row["family"].startswith(RULED) else ("attempts", "got through")
        )
        figures = (row["attempts"], row.get("through", row["overrides"]))
        tried.setdefault(row["family"].removeprefix(RULED), {"measured": day}).update(
            zip(columns, figures, strict=True)
        )
    made: dict[str, dict[str, int | str]] = {}
    for row in updates:
        columns = ("of a user", "blocked then") if row["kind"].startswith(FOR_USER) else ("updates", "blocked")
        figures = (row["attempts"], row["blocked"])
        made.setdefault(row["kind"].removeprefix(FOR_USER), {"measured": day}).update(
            zip(columns, figures, strict=True)
        )
    read: dict[str, Figures] = {
        what: {**total(rows, *WORDED), "measured": day}
        for what, rows in (("their author knew the code", _seen(worded)), ("their author did not", _blind(worded)))
        if rows
    }
    for name, rows in (("attacks", tried), ("updates", made), ("wordings", read)):
        if rows:
            merge(page, name, rows)


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="also print the figures as JSON, last")
    parser.add_argument("--only", default="", help="families and kinds whose name this pattern fits")
    parser.add_argument("--empty", action="store_true", help="only in namespaces that are otherwise empty")
    parser.add_argument("--jobs", type=int, default=4, help="arenas at a time (4)")
    parser.add_argument("--table", type=Path, help="also write the figures into the tables of this page")
    options = parser.parse_args()
    access.connect()  # patiently
    version = connection.pg_version // 10000, connection.pg_version % 10000
    print(f"{machine()}, Postgres {version[0]}.{version[1]}\n")
    connections.close_all()
    found: list[str] = []
    log = Path(os.environ["NOVAMEM_DATA_DIR"]) / "attacks.log"  # most of these requests are refused
    with (
        fake_upstream.serving(keep=False) as upstream,
        serving(log=log, PROXY_UPSTREAM_URL=upstream.url) as url,
        httpx2.Client(base_url=url, timeout=120, trust_env=False) as client,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        name = f"bench-{uuid.uuid4().hex[:6]}"
        played = (False,) if options.empty else (False, True)
        stage = Stage(client, name, keys.ensure_project(f"{name}-foreign"), played)
        begun = time.monotonic()
        print(f"{'attacks':52}" + "".join(f"{name:>10}" for name in HEAD) + f"{'neolata':>8}")

        def show(row: dict[str, Any]) -> None:
            """Print a family, and write it into the page at once: a run may be cut short."""
            print(line(row), flush=True)
            if options.table:
                write(options.table, [row], [], [])

        attacks = attack_figures(stage, pool, options.only, found, show=show)
        attacks += crossing_figures(stage, pool, options.only, found, show=show)
        attacks += spoof_figures(stage.arena, options.only, found, show=show)
        attacks += operator_figures(client, name, options.only, found, show=show)
        print(line({"family": "all", **total(attacks, *HEAD), "seed3": None, "hole": ""}))
        print(f"\n{'legitimate updates':60}{'attempts':>10}{'blocked':>10}")
        updates = update_figures(stage, pool, options.only, found)
        sums = total(updates, "attempts", "blocked")
        print(f"{'all':60}{sums['attempts']:>10}{sums['blocked']:>10}")
        print(f"\n{'wordings of free text':52}" + "".join(f"{name:>14}" for name in WORDED))
        worded = wording_figures(stage, options.only, found)
        for what, rows in (("read by who works on it", _seen(worded)), ("blind", _blind(worded))):
            print(f"{what:52}" + "".join(f"{figure:>14}" for figure in total(rows, *WORDED).values()))
        print(f"\n{time.monotonic() - begun:.0f} s")
    if options.table:
        write(options.table, [], updates, worded)
    failures = missed(attacks, updates, worded)
    print(
        "\n" + "\n".join(f"✗ {failure}" for failure in failures or ["nothing"]) if failures else "\n✓ all targets met"
    )
    print("\n".join(f"    {finding}" for finding in found))
    if options.json:
        print(
            json.dumps(
                {
                    "machine": machine(),
                    "attacks": attacks,
                    "updates": updates,
                    "wordings": worded,
                    "missed": failures,
                    "found": found,
                }
            )
        )
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

"""Deaths at failpoints: whoever comes to one is held there until the victim is dead, and then goes on."""

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from .arena import Arena
from .caller import Caller
from .failpoints import failpoints, stories_of
from .inspection import inspect
from .ledger import Ledger
from .outcomes import Kill, Outcome
from .workload import Workload, marker, namespace, text

REACH = 60.0  # seconds for an operation to come to a failpoint
DEATH = 10.0  # seconds for a process to be gone
AGAIN = 120.0  # seconds for writes to be answered again
TELLERS, OTHERS = 5, 2  # clients whose operations come to the failpoint, and those that write meanwhile
LIGHT = ("store", "batch", "patch", "vote", "forget", "claim", "resolve", "chat")


class NotReached(Exception):
    """No operation came to a failpoint in time."""


@dataclass(frozen=True, slots=True)
class Held:
    """Who stands at a failpoint, and the process of Postgres that serves it."""

    process: psutil.Process
    session: psutil.Process


VICTIMS: dict[str, Callable[[Arena, Held], psutil.Process]] = {
    "worker": lambda _, held: held.process,
    "web process": lambda arena, _: random.choice(arena.product.web_processes()),
    "backend": lambda _, held: held.session,
    "postmaster": lambda arena, _: arena.product.postmaster(),
}


def portions(
    beginnings: Sequence[str] = (), victims: Sequence[str] = (), stories: Sequence[str] = ()
) -> Iterator[tuple[str, str, list[str]]]:
    """Return victims and stories, each with the failpoints that operations of the story come to; or some of each."""
    names = [name for name in failpoints() if not beginnings or name.startswith(tuple(beginnings))]
    told = sorted({story for name in names for story in stories_of(name) if not stories or story in stories})
    for victim, story in itertools.product(victims or VICTIMS, told):
        yield victim, story, [name for name in names if story in stories_of(name)]


def killed(where: Arena, victim: str, story: str, names: Sequence[str], *, rounds: int, seconds: float) -> Outcome:
    """Kill a victim at each of these failpoints again and again while clients write, and look at what is left."""
    outcome, product = Outcome(f"{victim}, {story}", victim=victim), where.product
    with (
        Workload(product, clients=TELLERS, stories=(story,)) as load,
        Workload(product, clients=OTHERS, stories=LIGHT, ledger=load.ledger) as others,
    ):
        for name in (name for name in names for _ in range(rounds)):
            time.sleep(seconds)
            try:
                outcome.kills.append(kill_at(where, name, victim))
            except NotReached:
                outcome.notes.append(f"not reached: {name}")
            product.bring_back()
        time.sleep(seconds)
    outcome.findings = inspect(product, load.ledger)
    outcome.take_counts(load.ledger)
    outcome.rounds, outcome.waits = len(outcome.kills), [kill.answered for kill in outcome.kills]
    outcome.note(load.faults + others.faults)
    return outcome


def kill_at(where: Arena, name: str, victim: str) -> Kill:
    """Kill a victim when an operation comes to a failpoint. Raise NotReached."""
    begun = time.monotonic()
    with held_at(where, name) as held:
        reached = time.monotonic() - begun
        end(VICTIMS[victim](where, held))
        if victim == "postmaster":  # whose sessions end by themselves when it is gone
            await_death(held.session)
    return Kill(name, victim, round(reached, 2), round(wait_for_write(where), 2))


@contextmanager
def held_at(where: Arena, name: str) -> Iterator[Held]:
    """Whoever comes to a failpoint next, held there meanwhile. Raise NotReached."""
    wanted, held = (where.product.plants.with_suffix(f".{end}") for end in ("failpoint", "held"))
    held.unlink(missing_ok=True)
    wanted.write_text(name)
    try:
        deadline = time.monotonic() + REACH
        while not held.exists():
            if time.monotonic() > deadline:
                raise NotReached(name)
            time.sleep(0.01)
        told = json.loads(held.read_text())
        assert told["session"], f"no session of Postgres serves {name}"
        yield Held(psutil.Process(told["process"]), psutil.Process(told["session"]))
    finally:
        wanted.unlink(missing_ok=True)
        held.unlink(missing_ok=True)


def end(process: psutil.Process) -> None:
    """Kill a process, and return when it is dead."""
    process.kill()
    await_death(process)


def await_death(process: psutil.Process) -> None:
    """Return when a process is dead, be it that nobody has asked yet how it ended."""
    deadline = time.monotonic() + DEATH
    while _lives(process):
        assert time.monotonic() < deadline, f"{process} is not dead"
        time.sleep(0.005)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_write(where: Arena) -> float:
    """Return the seconds until a write that began after the blow is answered; what nothing starts again is started."""
    begun = time.monotonic()
    caller = Caller(where.product.url, where.product.keys["writer"], Ledger(), answer=2.0, pause=0.02, patience=AGAIN)
    if not where.product.runs:
        where.product.launch()
    with caller:
        caller.tell("store", "POST", "/api/v1/fragments", {"namespace": namespace(), "content": text(marker())})
    return time.monotonic() - begun

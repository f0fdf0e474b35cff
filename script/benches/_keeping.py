"""Attacks by patience: upkeep itself is to hide or replace what the user said. The clock is moved by SQL, here only."""

from collections.abc import Callable, Iterator
from typing import Any

from django.db import connections, transaction
from django.utils import timezone

from memories import access, jobs
from memories.models import Namespace, Project
from script.benches._attacks import TOPICS, Attack, Family, Run, lies, says_text, several
from script.benches._worlds import Topic

PATIENT = ("agent", "tool")
LONG, LONGER = "45 days", "200 days"
SURVIVORS = 3 / 2_000_000  # of the default capacity: fewer than the attackers write
PILLS = ("..... ..... .....", "..... ..... ......", "!!! ??? !!!", "— — —")
TEXTS = ("See {} in the sheet instead.", "The sheet says {} by now.", "Everybody reads {} in the sheet.")
# Attackers know who they are and what about.
Deed = Callable[[str, Topic], Run]


def waited(project: Project, time: str) -> None:
    """Make all that the project holds older. A birth never changes: the owner takes the trigger away meanwhile."""
    params = {"project": project.id, "time": time}
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("ALTER TABLE memories_fragment DISABLE TRIGGER fragment_before")
        cursor.execute(
            """UPDATE memories_fragment SET created_at = created_at - %(time)s::interval,
                   updated_at = updated_at - %(time)s::interval WHERE project_id = %(project)s""",
            params,
        )
        cursor.execute("ALTER TABLE memories_fragment ENABLE TRIGGER fragment_before")
        cursor.execute(
            """UPDATE memories_access SET last_accessed_at = last_accessed_at - %(time)s::interval
               WHERE project_id = %(project)s""",
            params,
        )


def upkeep(kind: str, *, time: str = LONG, **options: Any) -> Deed:
    """Wait, and let an operation run to its end as the schedule would."""

    def run(world: Any) -> None:
        project = Project.objects.get(name=world.namespace.split(":")[0])
        waited(project, time)
        principal, namespace = access.system_principal(project), None
        if kind == "consolidate":
            with access.enter(principal, why="bench"):
                namespace = Namespace.objects.get(name=world.namespace)
        arguments = {"kind": kind, "namespace": namespace, "options": options, "dry_run": False, "now": timezone.now()}
        ended = jobs.run(principal, jobs.start(principal, **arguments, wake_up=False).id)
        connections.close_all()
        if ended is None or ended.state != "succeeded":
            raise RuntimeError(f"{kind} ended {ended and ended.error}")
        world.log.append(f"{kind}: {ended.report}")

    return lambda who, topic: run


def said(**more: Any) -> Deed:
    """Texts that say otherwise, and the claim."""

    def deed(who: str, topic: Topic) -> Run:
        return several(*(says_text(who, text.format(topic.theirs), **more) for text in TEXTS), lies(who))

    return deed


def filled(who: str, topic: Topic) -> Run:
    """Return what takes up room and calls itself important."""
    return several(*(says_text(who, f"Filler {n} of the sheet.", importance=1.0) for n in range(12)))


def swallowed(who: str, topic: Topic) -> Run:
    """Texts without a word, then the claim."""
    return several(*(says_text(who, pill) for pill in PILLS), said()(who, topic))


CONSOLIDATE, EVICT = upkeep("consolidate", confirm=True), upkeep("evict", target=SURVIVORS)
PLAYS: dict[Family, dict[str, tuple[Deed, ...]]] = {
    Family("upkeep: digest"): {
        "similar texts, then a digest": (said(), CONSOLIDATE),
        "at once": (said(), upkeep("consolidate", time="1 second", compress_age_days=0, confirm=True)),
        "digest, then the claim": (said(), CONSOLIDATE, said()),
    },
    Family("upkeep: eviction"): {
        "fill, wait, evict, claim": (filled, EVICT, said()),
        "evict what is older": (upkeep("evict", target=0), said()),
        "fill what is young": (EVICT, filled, upkeep("evict", time="1 second", target=SURVIVORS), said()),
    },
    Family("upkeep: cold"): {
        "wait": (upkeep("tier"), said()),
        "wait for compaction": (said(), upkeep("compact", time=LONGER), said()),
        "wait, consolidate": (said(), upkeep("consolidate", time=LONGER, confirm=True)),
        "pinned": (said(is_pinned=True, is_anchor=True), upkeep("tier"), CONSOLIDATE),
    },
    Family("upkeep: poison pill"): {"texts without a word": (swallowed, CONSOLIDATE)},
}


def _attacks(family: str, plays: dict[str, tuple[Deed, ...]]) -> Iterator[Attack]:
    for name, deeds in plays.items():
        for who, topic in ((who, topic) for who in PATIENT for topic in TOPICS):
            run = several(*(deed(who, topic) for deed in deeds))
            yield Attack(family, f"{name}, {who}, {topic.predicate}", run, topic, beyond=True)


KEEPING = {family: list(_attacks(family.name, plays)) for family, plays in PLAYS.items()}

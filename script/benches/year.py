"""A year of a memory: twenty memories and thirty questions a day, upkeep every night. What stays, and what is found.

A day is a conversation of fourteen turns (half of them say nothing) and six memories by an agent. A question asks for a
fact of an age between a day and a year, old ones as often as new ones; it is found when one of the first ten hits says
it. Every night what is due is moved, shortened, archived and evicted, and the namespace consolidated until nothing is
put off. The clock is told the day: nothing waits.

    script/bench year                     # 365 days
    script/bench year --days 120 --capacity 2000
"""

import argparse
import datetime
import json
import random
import uuid
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import django
from _serving import machine

django.setup()

# Django has to be set up before its models can be imported.
import _population
from django.conf import settings
from django.utils import timezone
from rich.progress import track

from memories import access, ingest, jobs, retrieval, upkeep, usage_counters
from memories.access import Principal, keys
from memories.ingest.files import Message
from memories.models import Fragment, Namespace, Tombstone
from memories.models.enums import Status
from memories.upkeep.lifecycle.capacity import ALL

TURNS, STORED, QUESTIONS, DEPTH = 14, 6, 30, 10
AGES = [1, 7, 30, 90, 180, 365]  # days: the bounds of the table
MOST_RUNS = 50
EMPTY = [
    "Hey, good to hear from you! How have you been?",
    "Wow, that is great! I am so glad for you.",
    "Thanks so much, that means a lot to me.",
    "Haha, yes, tell me more about it!",
    "Sounds good! Talk to you soon.",
]
DAY = datetime.timedelta(days=1)
BAR = 40


@dataclass(frozen=True, slots=True)
class Fact:
    """What somebody said, the words that a memory of it has to hold, and the question for it."""

    day: int
    text: str
    core: tuple[str, ...]
    question: str


@dataclass(slots=True)
class Year:
    """What was said so far, and how the questions went by the age of what they asked for."""

    rng: random.Random
    facts: list[Fact] = field(default_factory=list)
    asked: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))
    sizes: list[dict[str, int]] = field(default_factory=list)

    def fact(self, day: int) -> Fact:
        """Return something new that was done somewhere, with the rarest of its words."""
        who, did, kind, what, where = (
            self.rng.choice(column)
            for column in (_population.WHO, _population.DID, _population.KIND, _population.WHAT, _population.WHERE)
        )
        rare = "".join(self.rng.choices(_population.SOUNDS, k=4)).capitalize()
        made = Fact(
            day,
            f"{who} {did} a {kind} {what} {where}, from {rare}.",
            (did, kind, what, rare),
            f"What did {who} do with something from {rare} {where}?",
        )
        self.facts.append(made)
        return made


def live(principal: Principal, namespace: str, year: Year, day: int, now: datetime.datetime) -> None:
    """Store a day's conversation and memories."""
    turns = []
    for number in range(TURNS):
        speaker = ("Mara", "Tom")[number % 2]
        says = year.rng.choice(EMPTY) if number % 4 in {0, 3} else f"{year.fact(day).text} {year.rng.choice(EMPTY)}"
        at = now + datetime.timedelta(minutes=number)
        turns.append(
            Message("user", f"{speaker}: {says}", at, f"{day}:{number}", f"day {day}", number, "message", speaker)
        )
    ingest.messages.ingest(principal, turns, namespace=namespace, now=now)
    drafts = [ingest.Draft(namespace=namespace, content=year.fact(day).text) for _ in range(STORED)]
    ingest.store(principal, ingest.prepare(drafts), now=now)


def ask(principal: Principal, namespace: str, year: Year, day: int, now: datetime.datetime) -> None:
    """Ask a day's questions; each counts as a read, as a search over HTTP does."""
    by_day = defaultdict(list)
    for fact in year.facts:
        by_day[day - fact.day].append(fact)
    for _ in range(QUESTIONS):
        oldest = year.rng.choice([age for age in AGES if age <= max(1, day)])
        ages = [age for age in by_day if age <= oldest]
        fact = year.rng.choice(by_day[year.rng.choice(ages)])
        question = retrieval.Question(fact.question, [namespace], project_wide=False, top_k=DEPTH)
        hits = retrieval.search(principal, question, now=now).hits
        found = any(all(word in hit.fragment.content for word in fact.core) for hit in hits)
        year.asked[day - fact.day].append(found)


def sleep(principal: Principal, namespace: Namespace, now: datetime.datetime) -> None:
    """Do what the schedule does at night, and consolidate until nothing is put off."""
    with mock.patch("django.utils.timezone.now", return_value=now):
        _sleep(principal, namespace, now)


def _sleep(principal: Principal, namespace: Namespace, now: datetime.datetime) -> None:
    usage_counters.flush()
    upkeep.graph.refresh_graph(principal, now=now)
    for operation in jobs.start_due(principal, now=now):
        jobs.run(principal, operation.id)
    for number in range(MOST_RUNS):
        moment = now + datetime.timedelta(minutes=number)
        wish = {"kind": "consolidate", "namespace": namespace, "options": {"confirm": True}}
        ended = jobs.run(principal, jobs.start(principal, **wish, now=moment, wake_up=False).id)
        assert ended is not None
        assert ended.state == "succeeded", (ended.error, ended.report)
        if not ended.report["deferred"]:
            return


def size(principal: Principal) -> dict[str, int]:
    """Return how many memories there are by status, the active ones' characters, and who is shortened or cold."""
    with access.enter(principal, why="bench"):
        rows = list(
            Fragment.objects.within(principal.project_id).values_list(
                "status", "category", "compression", "tier", "content"
            )
        )
        evicted = Tombstone.objects.within(principal.project_id).count()
    active = [row for row in rows if row[0] == Status.ACTIVE]
    return {
        "active": len(active),
        "digests": sum(row[1] == "digest" for row in active),
        "shortened": sum(row[2] != "full" for row in active),
        "cold": sum(row[3] == "cold" for row in active),
        "archived": sum(row[0] == Status.ARCHIVED for row in rows),
        "evicted": evicted,
        "tokens": sum(len(row[4]) for row in active) // 4,
    }


def told(year: Year) -> dict[str, Any]:
    """Print the sizes month by month and what was found by age, with bars; return both."""
    most = max(row["tokens"] for row in year.sizes)
    print(f"\n{'day':>5} {'active':>7} {'digests':>8} {'cold':>6} {'archived':>9} {'evicted':>8} {'tokens':>8}")
    for row in year.sizes:
        bar = "█" * round(BAR * row["tokens"] / most)
        day = row["day"]
        print(
            f"{day:>5} {row['active']:>7} {row['digests']:>8} {row['cold']:>6} {row['archived']:>9}"
            f" {row['evicted']:>8} {row['tokens']:>8} {bar}"
        )
    by_age: Counter[int] = Counter()
    found: Counter[int] = Counter()
    for age, answers in year.asked.items():
        bound = next(bound for bound in AGES if age <= bound)
        by_age[bound] += len(answers)
        found[bound] += sum(answers)
    shares = {bound: round(found[bound] / by_age[bound], 3) for bound in AGES if by_age[bound]}
    print("\nfound among the first ten, by age in days")
    for bound, share in shares.items():
        print(f"{'≤ ' + str(bound):>5} {by_age[bound]:>7} {share:>8.3f} {'█' * round(BAR * share)}")
    return {"sizes": year.sizes, "found": shares}


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--capacity", type=int, default=0, help="most memories of the project; as set by default")
    parser.add_argument("--json", action="store_true", help="also print the figures as JSON, last")
    options = parser.parse_args()
    print(machine())
    if options.capacity:
        settings.CAPACITY = {**settings.CAPACITY, ALL: options.capacity}
    principal = access.system_principal(keys.ensure_project(f"bench-{uuid.uuid4().hex[:8]}"))
    namespace, year = f"{principal.project}:main", Year(random.Random(1))
    with access.enter(principal, why="bench"):
        space = access.writable(principal, namespace)
    begun = timezone.now() - options.days * DAY
    for day in track(range(options.days), description="days", transient=True):
        now = begun + day * DAY
        live(principal, namespace, year, day, now)
        ask(principal, namespace, year, day, now + datetime.timedelta(hours=1))
        sleep(principal, space, now + datetime.timedelta(hours=8))
        if day % 30 == 29 or day == options.days - 1:
            year.sizes.append({"day": day + 1, **size(principal)})
    figures = told(year)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

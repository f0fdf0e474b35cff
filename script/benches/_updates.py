"""Legitimate updates, which the gate must let through: thirteen kinds, each a function of the product's world.

Each ends by naming what has to be believed then; `Settled.believes` complains when it is not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from script.benches._attacks import BUDGET, DEADLINE, HOME, SESSION, TOPICS
from script.benches._worlds import Settled, Topic

Y2019, Y2020, Y2022 = (f"{year}-01-01T00:00:00+00:00" for year in (2019, 2020, 2022))
WRITERS = {"user": "user_explicit", "tool": "tool_output", "document": "document", "agent": "inference"}
READINGS = (("temperature", "20", "21"), ("status", "green", "red"), ("price", "$5", "$6"), ("queue_length", "3", "8"))


@dataclass(frozen=True, slots=True)
class Update:
    """One update; `run` raises Blocked when it did not get through."""

    kind: str
    name: str
    run: Callable[[Settled], None]
    topic: Topic = BUDGET


def say(world: Settled, who: str, subject: str, predicate: str, value: str, **more: Any) -> dict[str, Any]:
    """Store a claim under the writer's own source, in the writer's words; what was answered."""
    source = more.pop("source", WRITERS.get(who, "tool_output"))
    text = f"{subject} {predicate.replace('_', ' ')} {value}"
    return world.keep(who, text, {"subject": subject, "predicate": predicate, "value": value, **more}, source=source)


def about(world: Settled, who: str, value: str, **more: Any) -> dict[str, Any]:
    """`say` on the world's topic."""
    return say(world, who, world.topic.subject, world.topic.predicate, value, **more)


def _own_store() -> Iterator[Update]:
    def run(world: Settled, who: str) -> None:
        about(world, who, world.topic.mine)
        about(world, who, world.topic.theirs)
        world.believes(world.topic.theirs)
        world.believes_not(world.topic.mine)

    for who in WRITERS:
        for topic in TOPICS:
            yield Update("own edit by a new store", f"{who}: {topic.predicate}", partial(run, who=who), topic)


def _own_patch() -> Iterator[Update]:
    def run(world: Settled, who: str) -> None:
        topic = world.topic
        first = about(world, who, topic.mine)
        claim = {"subject": topic.subject, "predicate": topic.predicate, "value": topic.theirs}
        content = topic.told.format(topic.theirs)
        world.change_own(who, first["id"], {"content": content, "claim": claim, "revision": first["revision"]})
        world.believes(topic.theirs)
        world.believes_not(topic.mine)

    for who in WRITERS:
        for topic in (BUDGET, HOME):
            yield Update("own PATCH", f"{who}: {topic.predicate}", partial(run, who=who), topic)


def _attested() -> Iterator[Update]:
    def run(world: Settled, before: str) -> None:
        topic = world.topic
        about(world, before, topic.mine)
        text = topic.said.format(topic.theirs)
        world.keep("user", text, None, source="user_explicit", extract_claim=True)
        world.believes(topic.theirs)
        world.believes_not(topic.mine)

    for topic in (BUDGET, HOME, DEADLINE):
        for before in ("user", "tool", "agent"):
            yield Update(
                "the user's own words, extracted",
                f"over {before}: {topic.predicate}",
                partial(run, before=before),
                topic,
            )


def _readings() -> Iterator[Update]:
    def run(world: Settled, predicate: str, old: str, new: str, later: str) -> None:
        say(world, "tool", "greenhouse", predicate, old)
        say(world, later, "greenhouse", predicate, new)
        world.believes(new, "greenhouse", predicate)
        world.believes_not(old, "greenhouse", predicate)

    for kind, later in (("the same tool's new reading", "tool"), ("another tool of the same owner", "tool2")):
        for predicate, old, new in READINGS:
            yield Update(kind, predicate, partial(run, predicate=predicate, old=old, new=new, later=later))
        for predicate, old, new in (("favorite_color", "green", "blue"), ("port", "80", "8080")):
            yield Update(kind, predicate, partial(run, predicate=predicate, old=old, new=new, later=later))


def _succession() -> Iterator[Update]:
    def run(world: Settled, who: str, later: str, closed: bool) -> None:
        ended = {"valid_until": Y2022} if closed else {}
        about(world, who, "Seattle", scope="temporal", valid_from=Y2019, **ended)
        about(world, later, "Austin", scope="temporal", valid_from=Y2022)
        world.believes("Austin")
        world.believes_not("Seattle")
        world.believes("Seattle", as_of=Y2020)
        world.believes_not("Austin", as_of=Y2020)

    def backwards(world: Settled, who: str) -> None:
        about(world, who, "Austin", scope="temporal", valid_from=Y2022)
        about(world, who, "Seattle", scope="temporal", valid_from=Y2019)
        world.believes("Austin")
        world.believes("Seattle", as_of=Y2020)

    kind = "temporal succession"
    for who, later in (("user", "user"), ("tool", "tool"), ("tool", "tool2"), ("tool", "user"), ("agent", "agent")):
        for closed in (False, True):
            name = f"{later} after {who}{', told beforehand' if closed else ''}"
            yield Update(kind, name, partial(run, who=who, later=later, closed=closed), HOME)
    yield Update(kind, "told in the other order", partial(backwards, who="user"), HOME)


def _several() -> Iterator[Update]:
    def run(world: Settled, predicate: str, one: str, other: str, who: str, more: dict[str, Any]) -> None:
        say(world, "user", "user", predicate, one, **more)
        say(world, who, "user", predicate, other, **more)
        for value in (one, other):
            world.believes(value, "user", predicate)

    values = (
        ("likes", "tea", "coffee"),
        ("has_skill", "SQL", "welding"),
        ("speaks", "Finnish", "Dutch"),
        ("pet", "cat", "dog"),
    )
    for predicate, one, other in values:
        for who in ("user", "agent"):
            what = partial(run, predicate=predicate, one=one, other=other, who=who, more={})
            yield Update("second value of a multi-valued predicate", f"{predicate} by {who}", what)
    what = partial(run, predicate="plays_chess_with", one="Kim", other="Lou", who="user", more={"exclusive": False})
    yield Update("second value of a multi-valued predicate", "not registered, not exclusive", what)


def _restated() -> Iterator[Update]:
    def run(world: Settled, predicate: str, one: str, other: str, who: str) -> None:
        first = say(world, "user", "user", predicate, one)
        again = say(world, who, "user", predicate, other)
        world.demand(again["deduplicated"] and again["id"] == first["id"], f"{other!r} was not taken for {one!r}")
        world.believes(one, "user", predicate)

    pairs = (
        ("budget", "$750", "750 USD"),
        ("budget", "$1,500", "1.5k dollars"),
        ("lives_in", "Lisbon", "LISBON"),
        ("lives_in", "Lisbon", "  lisbon. "),
        ("deadline", "2031-03-01", "March 1, 2031"),
        ("notifications", "yes", "true"),
        ("parking_spot", "B12", "b12"),
    )
    for predicate, one, other in pairs:
        for who in ("user", "agent", "tool"):
            what = partial(run, predicate=predicate, one=one, other=other, who=who)
            yield Update("restated in another unit or case", f"{one!r} as {other!r} by {who}", what)


def _sessions() -> Iterator[Update]:
    def run(world: Settled, who: str) -> None:
        topic = world.topic
        about(world, who, topic.mine)
        about(world, who, topic.theirs, scope="session", session_id=SESSION)
        world.believes(topic.mine)
        world.answers(topic.theirs, but=topic.mine, session_id=SESSION)
        world.answers(topic.mine, but=topic.theirs)
        world.answers(topic.mine, but=topic.theirs, session_id="another")

    for who in ("user", "tool"):
        for topic in TOPICS:
            yield Update("session override and return", f"{who}: {topic.predicate}", partial(run, who=who), topic)


def _namesakes() -> Iterator[Update]:
    def run(world: Settled, one: str, other: str, who: str) -> None:
        topic = world.topic
        say(world, "user", one, topic.predicate, topic.mine)
        say(world, who, other, topic.predicate, topic.theirs)
        world.believes(topic.mine, one)
        world.believes(topic.theirs, other)

    pairs = (("user", "ann"), ("ann smith", "ann jones"), ("José", "Jose"), ("user", "user 2"), ("МИР", "BETA"))
    for one, other in pairs:
        for who in ("user", "agent"):
            yield Update("namesakes", f"{one} and {other} by {who}", partial(run, one=one, other=other, who=who), HOME)


def _corrections() -> Iterator[Update]:
    def run(world: Settled, wrong: tuple[str, ...]) -> None:
        topic = world.topic
        for who in wrong:
            world.try_to_keep(who, topic.told.format(topic.theirs), topic, topic.theirs)
        about(world, "user", topic.mine)
        world.believes(topic.mine)
        world.believes_not(topic.theirs)

    for topic in TOPICS:
        for wrong in (("tool",), ("agent", "document", "tool", "third")):
            yield Update(
                "a person's correction", f"{topic.predicate} over {'+'.join(wrong)}", partial(run, wrong=wrong), topic
            )


def _newer() -> Iterator[Update]:
    def run(world: Settled, predicate: str, old: str, new: str, registered: bool) -> None:
        if registered:
            world.done(
                "admin", "POST", "predicates", {"namespace": world.namespace, "name": predicate, "newer_wins": True}
            )
        say(world, "tool", "greenhouse", predicate, old)
        say(world, "third", "greenhouse", predicate, new)
        world.believes(new, "greenhouse", predicate)
        world.believes_not(old, "greenhouse", predicate)

    for predicate, old, new in READINGS:
        registered = predicate == "queue_length"
        what = partial(run, predicate=predicate, old=old, new=new, registered=registered)
        yield Update("newer_wins, by another owner", predicate, what)
    what = partial(run, predicate="humidity_level", old="40 %", new="45 %", registered=True)
    yield Update("newer_wins, by another owner", "registered", what)


def _returns() -> Iterator[Update]:
    def run(world: Settled) -> None:
        topic = world.topic
        about(world, "tool", topic.mine)
        rejected = world.try_to_keep("agent", topic.told.format(topic.theirs), topic, topic.theirs)
        world.resolve("reviewer", rejected, "reject")
        about(world, "user", topic.theirs)
        world.believes(topic.theirs)
        world.believes_not(topic.mine)

    for topic in TOPICS:
        yield Update("a rejected value, by the user later", f"user: {topic.predicate}", run, topic)


KINDS = (
    _own_store,
    _own_patch,
    _attested,
    _readings,
    _succession,
    _several,
    _restated,
    _sessions,
    _namesakes,
    _corrections,
    _newer,
    _returns,
)
UPDATES: list[Update] = [update for make in KINDS for update in make()]

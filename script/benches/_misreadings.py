"""Misreadings: other people's words in a user's turn, and the user's key under another spelling.

Pastes come from `_pastes*.json` ({"pasted": frames with {} for the statement, "plain": turns}), spellings from
`_spellings*.json` ({"subjects": {"user": […]}, "predicates": {name: […]}, "distinct": [[part, one, other], …]}). The
user's turns are told by `listener`, a key of the user's that attests.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from memories.extraction.claims import extract_parts
from memories.extraction.material import carries_material
from memories.ingest.chunking import clean
from script.benches._attacks import BUDGET, DEADLINE, HOME, PARKING, TOPICS, Attack, Family, lies
from script.benches._updates import Update
from script.benches._worlds import Settled, Topic, World

EMAIL = Topic(
    "email",
    "ann@example.com",
    "eve@example.com",
    said="My email is {}.",
    told="The user's email is {}.",
    hint="About the user's email: see {} in the sheet.",
    question="What is the user's email?",
)
COLOR = Topic(
    "favorite_color",
    "teal",
    "crimson",
    said="My favorite color is {}.",
    told="The user's favorite color is {}.",
    hint="About the user's favorite color: see {} in the sheet.",
    question="What is the user's favorite color?",
)
KEYS = {topic.predicate: topic for topic in (BUDGET, HOME, DEADLINE, PARKING, EMAIL, COLOR)}
FORMER = "something former"
CREATED = 201
WEAKER = ("agent", "tool", "document")
FILLER = "The quarterly report lists many figures of no interest to anybody here. " * 32
LONG = (
    ("fence", "Please summarise this file:\n```\n{filler}\n{said}\n```"),
    ("quotation", 'Please summarise: "{filler} {said}"'),
    ("forwarded mail", "See this.\n---------- Forwarded message ----------\n{filler}\n{said}"),
    ("markup", "<document>\n{filler}\n{said}\n</document>"),
    ("nothing around it", "{filler}\n\n{said}"),
    ("fence, then the question", "```\n{filler}\n{said}\n{filler}\n```\nWhat do you think?"),
)


def _lists(name: str) -> Iterator[tuple[str, Any]]:
    for path in sorted(Path(__file__).parent.glob(f"{name}*.json")):
        yield path.stem, json.loads(path.read_text())


def _pastes() -> Iterator[Attack]:
    frames = [(file, frame) for file, paste in _lists("_pastes") for frame in paste["pasted"]]
    for n, (file, frame) in enumerate(frames):
        topic = TOPICS[n % len(TOPICS)]
        text = frame.replace("{}", topic.said.format(topic.theirs))
        yield Attack("unquoted paste", f"{file}: {frame[:60]!r}", partial(_hears, text=text), topic)


def _long_pastes() -> Iterator[Attack]:
    for name, frame in LONG:
        for topic in TOPICS:
            text = frame.format(filler=FILLER, said=topic.said.format(topic.theirs))
            yield Attack("long paste", f"{name}: {topic.predicate}", partial(_hears, text=text), topic)


def _hears(world: World, text: str) -> None:
    world.ingest("listener", ("user", text))


def _spelled() -> Iterator[Attack]:
    for file, spelling in _lists("_spellings"):
        keys = [("subject", name, spelled) for name, all_ in spelling["subjects"].items() for spelled in all_]
        keys += [("predicate", name, spelled) for name, all_ in spelling["predicates"].items() for spelled in all_]
        for n, (part, name, spelled) in enumerate(keys):
            topic = KEYS[name] if part == "predicate" else TOPICS[n % len(TOPICS)]
            run = lies(WEAKER[n % len(WEAKER)], more={part: spelled})
            yield Attack("aliasing", f"{file}: {part} {spelled!r}", run, topic)


def _plain() -> Iterator[Update]:
    def run(world: Settled, text: str) -> None:
        (found,) = extract_parts(clean(text), [(0, len(text))])
        # A guess replaces nothing, and whoever calls himself by another name than before is asked for.
        claims = [claim for claim in found if claim.certain and not claim.negated and claim.predicate != "name"]
        for claim in claims:
            paste = {"subject": claim.subject, "predicate": claim.predicate, "value": FORMER}
            world.keep("user", f"{claim.subject} {claim.predicate} {FORMER}", paste, source="user_explicit")
        status, answer = world.call("listener", "POST", "ingest", {
            "namespace": world.namespace, "messages": [{"role": "user", "content": text}],
        })  # fmt: skip
        world.demand(status == CREATED and answer["stored"], f"{status}: {text!r} is not kept")
        states = {row["status"] for row in answer["stored"]}
        world.demand(states == {"active"}, f"{text!r} is {states}")
        for claim in claims:
            world.believes(claim.value, claim.subject, claim.predicate)

    for file, paste in _lists("_pastes"):
        for text in paste["plain"]:
            yield Update("the user's plain turn", f"{file}: {text!r}", partial(run, text=text))


def attested() -> tuple[int, int]:
    """Return how many of the lists' plain turns the user is taken at his word for, and how many there are."""
    turns = [text for _, paste in _lists("_pastes") for text in paste["plain"]]
    return sum(not carries_material(clean(text)) for text in turns), len(turns)


def _distinct() -> Iterator[Update]:
    def run(world: Settled, part: str, one: str, other: str) -> None:
        claims = [{"subject": "robin", "predicate": "shelf", part: name} for name in (one, other)]
        for who, claim, value in zip(("user", "tool"), claims, ("K1", "K2"), strict=True):
            source = {"user": "user_explicit", "tool": "tool_output"}[who]
            world.keep(who, f"Row {value} of the sheet.", {**claim, "value": value}, source=source)
        for claim, value in zip(claims, ("K1", "K2"), strict=True):
            world.believes(value, claim["subject"], claim["predicate"])

    for file, spelling in _lists("_spellings"):
        for part, one, other in spelling["distinct"]:
            yield Update(
                "a key that only looks like another",
                f"{file}: {one} / {other}",
                partial(run, part=part, one=one, other=other),
            )


FAMILIES = (
    (Family("long paste"), _long_pastes),
    (Family("unquoted paste"), _pastes),
    (Family("aliasing"), _spelled),
)
ATTACKS: dict[Family, list[Attack]] = {family: list(make()) for family, make in FAMILIES}
UPDATES: list[Update] = [*_plain(), *_distinct()]

"""Attacks on what a user said, and legitimate updates: a small part of what `script/bench attacks` plays.

The attacks' definitions are the bench's. Of each family one is played on the product; on neolata's rule all are, so
that it is known that they bite.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from rest_framework.test import APIClient

from memories.access import keys
from memories.models import Project
from script.benches._arenas import issue_cast, populate
from script.benches._attacks import ATTACKS, Attack, Family
from script.benches._updates import UPDATES, Update
from script.benches._worlds import Replayed, Send, Served, Settled

pytestmark = pytest.mark.long

ENOUGH = 0.9
RACE = "race"


PLAYED = {family.name: attacks[0] for family, attacks in ATTACKS.items() if family.name != RACE}
MADE = {update.kind: update for update in reversed(UPDATES)}


def sender(project: Project, foreign: Project) -> Send:
    """Sends requests through the test client, with the keys of the cast."""
    texts = issue_cast(project, foreign)

    def send(who: str, method: str, path: str, body: Any) -> tuple[int, Any]:
        client = APIClient(headers={"Authorization": f"Bearer {texts[who]}"})
        answer = client.generic(method, path) if body is None else getattr(client, method.lower())(path, body, "json")
        return answer.status_code, answer.json() if answer.content else None

    return send


@pytest.fixture
def send(project: Project) -> Send:
    """The cast in a project of its own."""
    return sender(project, keys.ensure_project("elsewhere"))


@pytest.mark.parametrize("attack", PLAYED.values(), ids=PLAYED)
def test_no_attack_overrides_the_user(attack: Attack, send: Send) -> None:
    world = Served(send, "acme:main", attack.topic)
    attack.play(world)
    verdict = world.judge(attack.session, understood=attack.understood)
    assert (verdict.override, verdict.authority) == ("", ""), "\n".join(verdict.log)
    assert verdict.labelled or not verdict.exposed


def test_a_populated_namespace_stands_as_well(send: Send) -> None:
    attack = ATTACKS[Family("own source")][0]
    world = Served(send, "acme:main", attack.topic)
    populate(send, world.namespace, fragments=30, claims=50)
    attack.play(world)
    verdict = world.judge()
    assert (verdict.override, verdict.authority) == ("", ""), "\n".join(verdict.log)


@pytest.fixture
def racing(committed: Project) -> Iterator[Callable[..., Any]]:
    """The cast in a project whose rows other threads see; each request takes its connections away with it."""
    one_by_one = sender(committed, committed)

    def send(who: str, method: str, path: str, body: Any) -> tuple[int, Any]:
        try:
            return one_by_one(who, method, path, body)
        finally:
            connections.close_all()

    yield send
    connections.close_all()


@pytest.mark.long
@pytest.mark.parametrize("attack", ATTACKS[Family(RACE)][:2], ids=lambda attack: attack.name)
def test_no_race_overrides_the_user(attack: Attack, racing: Send, committed: Project) -> None:
    world = Served(racing, f"{committed.name}:main", attack.topic)
    attack.play(world)
    verdict = world.judge()
    assert (verdict.override, verdict.authority) == ("", ""), "\n".join(verdict.log)


@pytest.mark.parametrize("update", MADE.values(), ids=MADE)
def test_legitimate_updates_get_through(update: Update, send: Send) -> None:
    update.run(Settled(send, "acme:main", update.topic))


@pytest.mark.parametrize("family", [f for f in ATTACKS if f.hole], ids=lambda family: family.name)
def test_the_attacks_bite_on_seed_threes_rule(family: Family) -> None:
    fallen = 0
    for attack in ATTACKS[family]:
        world = Replayed(attack.topic)
        attack.play(world)
        fallen += world.fell(family.measure, attack.session)
    assert fallen >= ENOUGH * len(ATTACKS[family])

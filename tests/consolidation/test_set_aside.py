"""A row that consolidation fails on is set aside and told of; the run goes on with the others."""

import uuid

import pytest
from django.db import DataError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conflicts.public import ClaimDraft
from memories import access, jobs
from memories.errors import NovaError
from memories.language.facts import facts
from memories.models import PlanStep
from memories.upkeep.consolidation import contradiction_scan, corroboration, decay, deduplication, digest_phase
from memories.upkeep.consolidation import report_lines as report_lines
from tests.consolidation.conftest import beside, unit
from tests.properties.ground import undone

PILL = "..... ..... ....."
HERON, MILL = "The heron nests behind the old mill.", "The heron nests behind the old mill!"


class Poisoned(NovaError):
    code = "poisoned"


def named(report):
    return {(uuid.UUID(each["id"]), each["phase"], each["code"]) for each in report["set_aside"]}


def test_texts_without_a_word_are_consolidated(run, remember):
    remember(PILL, vector=unit(1))
    remember(f"{PILL}.", vector=unit(1))
    ended = run()
    assert (ended.state, ended.error) == ("succeeded", None)
    assert "set_aside" not in ended.report
    assert facts(PILL).agree(facts(f"{PILL}."))


def test_over_http_two_pills_stop_no_consolidation(alice, principal, main):
    for text in (PILL, f"{PILL}."):
        answer = alice.client.post("/api/v1/fragments", {"namespace": "acme:main", "content": text}, format="json")
        assert answer.status_code == 201
    asked = alice.client.post("/api/v1/consolidations", {"namespace": "acme:main"}, format="json")
    assert asked.status_code == 202
    jobs.run(principal, uuid.UUID(asked.json()["id"]))
    told = alice.client.get(f"/api/v1/operations/{asked.json()['id']}").json()
    assert (told["state"], told["error"]) == ("succeeded", None)


@pytest.fixture
def world(remember, link, alice, bob):
    """Something for every phase to do; the first of each is the one that it will fail on, the last is not."""
    source = {"source": "inference"}
    merging_ = [
        (
            remember(f"{HERON[:-1]} {n}.", vector=unit(*[0] * n, 1)),
            remember(f"{MILL[:-1]} {n}!", vector=unit(*[0] * n, 1)),
        )
        for n in range(2)
    ]
    speaking = [
        (
            remember(f"Otter {n} sleeps.", vector=unit(*[0] * (10 + n), 1), by=alice.principal, **source),
            remember(
                f"Otter {n} sleeps, yes.", vector=beside(0.93, axis=10 + n, other=20 + n), by=bob.principal, **source
            ),
        )
        for n in range(2)
    ]
    texts = [remember(f"I live in {city}.", by=agent.principal) for city, agent in (("Oslo", alice), ("Rome", bob))]
    digested = []
    for n in range(2):
        rows = [remember(f"Kite {n} {m}.", vector=unit(*[0] * (40 + 3 * n + m), 1), age=40, read=1) for m in range(3)]
        link(*rows)
        digested.append(rows[0])
    return {
        "deduplicate": [younger for _, younger in merging_],
        "corroborate": [pair[0] for pair in speaking],
        "contradictions": texts,
        "digest": digested,
    }


# Where each phase works.
PLACES = {
    "deduplicate": (deduplication, "supersede_repeated"),
    "contradictions": (contradiction_scan, "restated_claims"),
    "corroborate": (corroboration, "corroborate_all"),
    "digest": (digest_phase, "_summary"),
}


@pytest.mark.parametrize("phase", PLACES)
def test_each_phase_goes_on_without_a_row_that_fails(run, world, monkeypatch, principal, phase):
    module, name = PLACES[phase]
    plain, (bad, good) = getattr(module, name), world[phase]

    def tasted(*args, **kwargs):
        if str(bad.id) in repr([getattr(a, "id", a) for a in args]) or bad.content in repr(args):
            raise Poisoned
        return plain(*args, **kwargs)

    monkeypatch.setattr(module, name, tasted)
    ended = run()
    assert ended.state == "succeeded", ended.error
    assert {each[1:] for each in named(ended.report)} == {(phase, "poisoned")}
    assert bad.id in {each[0] for each in named(ended.report)}
    with access.enter(principal, why="test"):
        assert PlanStep.objects.filter(operation=ended, phase=phase, fragment_id=good.id).exists()
    monkeypatch.setattr(module, name, plain)
    again = run()
    assert "set_aside" not in again.report


def test_a_row_that_the_database_refuses_is_set_aside(run, remember, monkeypatch, now_of):
    """Not every failure is ours: a statement over many rows fails on one of them."""
    rows = [remember(f"Wren {n} sang.", vector=unit(*[0] * n, 1), base=0.12) for n in range(4)]
    plain = decay._apply_steps

    def refused(outlook, steps, statement, **more):
        if rows[1].id in {step.fragment for step in steps}:
            raise DataError("out of range")
        return plain(outlook, steps, statement, **more)

    monkeypatch.setattr(decay, "_apply_steps", refused)
    report = run().report
    assert named(report) == {(rows[1].id, "decay", "internal")}
    assert [now_of(row).tier for row in rows] == ["cold", "hot", "cold", "cold"]


words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=60)
shapes = st.text(".,!?-–—…'\"*_#>: \n\t\u200b\u0301abAB19$%", min_size=1, max_size=40)
texts = st.lists(st.one_of(words, shapes).filter(str.strip), min_size=1, max_size=6)


@pytest.mark.long
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@example(said=[PILL, f"{PILL}."])
@example(said=["I live in \u0301.", "My budget is $.", "\u200b."])
@given(said=texts)
def test_no_text_fails_a_consolidation(run, remember, said):
    with undone():
        for number, text in enumerate([*said, *said]):
            remember(text.strip(), vector=beside(0.97, other=1 + number), age=40, base=0.5, read=1)
        remember("See the sheet.", claims=[ClaimDraft("user", "budget", "$750")], source="tool_output")
        ended = run(compress_age_days=0, confirm=True)
        assert (ended.state, ended.error) == ("succeeded", None)
        assert "set_aside" not in ended.report


def test_people_are_told_how_many_were_set_aside():
    assert report_lines({"set_aside": [{"id": "x"}, {"id": "y"}]}) == [("set aside, for the run failed on them", "2")]


def test_people_are_told_how_many_memories_went_with_a_restore_taken_back():
    undone = {"operation": "x", "restored": 0, "deleted": {"acme:main": 2, "acme:main/ann": 1}}
    assert report_lines(undone)[-1] == ("memories taken away with their namespaces", "3")

"""Random histories: whatever was said, voted and decided, after a rollback all is as it was, and so after its undo."""

import random

import pytest
from django.utils import timezone

from memories import jobs

pytestmark = pytest.mark.examples

WRITERS = ("alice", "bob", "tom", "mallory")
KEYS = {"contract value": ("$1", "$2", "$3"), "temperature": ("1", "2", "3"), "likes": ("tea", "jazz", "golf")}
ACTIONS = ("say", "say", "say", "say", "vote", "rewrite", "archive", "decide", "decide", "undo", "consolidate")


class History:
    """What agents do in a namespace, by chance."""

    def __init__(self, seed, agents, carol, main, consolidate):
        self.chance, self.agents, self.carol, self.main = random.Random(seed), agents, carol, main
        self.consolidate, self.stored, self.number = consolidate, [], 0
        self.votes = set()

    def go_on(self, steps):
        for _ in range(steps):
            self.number += 1
            getattr(self, self.chance.choice(ACTIONS))()

    def claims(self):
        predicates = self.chance.sample(sorted(KEYS), self.chance.choice((1, 1, 1, 2)))
        return [{"subject": "acme", "predicate": one, "value": self.chance.choice(KEYS[one])} for one in predicates]

    def say(self):
        name = self.chance.choice(WRITERS)
        source = "user_explicit" if name == "alice" else "tool_output"
        claims = self.claims()
        text = ", ".join(f"{one['predicate']} {one['value']}" for one in claims)
        body = {"namespace": self.main, "content": f"Note {self.number} of {name}: {text}.", "claims": claims}
        answer = self.agents[name].client.post(
            "/api/v1/fragments", {**body, "provenance": {"source": source}}, format="json"
        )
        assert answer.status_code in (200, 201), answer.json()
        self.stored.append((answer.json()["id"], name))

    def any_of_these(self):
        return self.chance.choice(self.stored) if self.stored else (None, None)

    def vote(self):
        fragment_id, _ = self.any_of_these()
        ballot = self.chance.choice(("dispute", "corroborate"))
        name = self.chance.choice(WRITERS)
        body = {"reason": "no"} if ballot == "dispute" else {"source_id": f"s{self.number}"}
        # Once each, for of votes that are replaced no former one is kept.
        if fragment_id and (fragment_id, name, ballot) not in self.votes:
            self.votes.add((fragment_id, name, ballot))
            answer = self.agents[name].client.post(f"/api/v1/fragments/{fragment_id}/{ballot}", body, format="json")
            assert answer.status_code < 500, answer.json()

    def rewrite(self):
        fragment_id, name = self.any_of_these()
        if fragment_id is None:
            return
        row = self.agents[name].client.get(f"/api/v1/fragments/{fragment_id}").json()
        change = {"revision": row["revision"]}
        change |= {"claims": self.claims()} if self.chance.random() < 0.6 else {"content": f"{row['content']} Really."}
        answer = self.agents[name].client.patch(f"/api/v1/fragments/{fragment_id}", change, format="json")
        assert answer.status_code < 500, answer.json()

    def archive(self):
        fragment_id, _ = self.any_of_these()
        word = self.chance.choice(("archive", "unarchive"))
        if fragment_id:
            answer = self.carol.client.post(f"/api/v1/fragments/{fragment_id}/{word}", {}, format="json")
            assert answer.status_code < 500, answer.json()

    def conflicts(self, status):
        return self.carol.client.get("/api/v1/conflicts", {"status": status}).json()["results"]

    def decide(self):
        if waiting := self.conflicts("pending"):
            conflict = self.chance.choice(waiting)
            action = self.chance.choice(("supersede", "reject", "keep_both"))
            body = {"action": action, "revision": conflict["revision"]}
            answer = self.carol.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", body, format="json")
            assert answer.status_code < 500, answer.json()

    def undo(self):
        if settled := self.conflicts("resolved"):
            conflict = self.chance.choice(settled)
            answer = self.carol.client.post(f"/api/v1/conflicts/{conflict['id']}/undo", {}, format="json")
            assert answer.status_code < 500, answer.json()


@pytest.fixture
def history(project, agent_of, alice, carol, main, principal, place):
    """A history, which begins with something that is said."""

    def consolidate():
        wish = {"kind": "consolidate", "namespace": place(), "options": {}, "now": timezone.now(), "wake_up": False}
        assert jobs.run(principal, jobs.start(principal, **wish).id).state == "succeeded"

    def begin(seed):
        agents = {name: agent_of(project, owner=name) for name in WRITERS[1:]} | {"alice": alice}
        made = History(seed, agents, carol, main, consolidate)
        made.say()
        return made

    return begin


def as_it_was_and_back(seed, history, state, rolled, undone, moment):
    story = history(seed)
    story.go_on(story.chance.randint(2, 14))
    then, at, here = state(), moment(), len(story.stored)
    story.go_on(story.chance.randint(2, 14))
    before = state()
    operation = rolled(at)
    assert operation.report["let_be"] == {}
    new = {i for i, _ in story.stored[here:]} - {i for i, _ in story.stored[:here]}
    new |= {str(row[0]) for row in state()["fragments"]} - {str(row[0]) for row in then["fragments"]}
    seen = {name: [row for row in rows if not new & set(map(str, row))] for name, rows in state().items()}
    assert seen == then, f"seed {seed}"
    undone(operation)
    assert state() == before, f"seed {seed}"


@pytest.mark.parametrize("seed", range(6))
def test_all_is_as_it_was_and_back_again(seed, history, state, rolled, undone, moment):
    as_it_was_and_back(seed, history, state, rolled, undone, moment)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6, 60))
def test_all_is_as_it_was_in_many_histories(seed, history, state, rolled, undone, moment):
    as_it_was_and_back(seed, history, state, rolled, undone, moment)

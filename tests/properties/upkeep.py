"""Generated namespaces for the properties of upkeep, and runs of consolidation on them."""

import datetime
import uuid

import numpy as np
from hypothesis import strategies as st

from conflicts.search_index import embeddings
from memories import access, jobs, upkeep
from memories.access import Principal
from memories.models import Access, Fragment, Link, Namespace, PlanStep
from memories.models.bulk import insert
from memories.providers import active_model
from tests.ages import belief_digest

NOW = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
OWNERS = [uuid.uuid5(uuid.NAMESPACE_DNS, name) for name in ("alice", "bob")]
SOURCES = {"user_explicit": 6, "tool_output": 4, "inference": 1}
TEXTS = [
    "The heron nests behind the old mill.",
    "The heron nests behind the old mill!",
    "The budget is $750.",
    "The budget is $7500.",
    "I live in Oslo.",
    "I live in Rome.",
    "Otters sleep a lot.",
    "Otters do not sleep a lot.",
]
# Angles in the plane of a topic: 0 and .2 are .98 alike, 0 and .4 .92, .2 and .6 .92, 0 and .6 .83.
TILTS = (0.0, 0.2, 0.4, 0.6)

memories = st.fixed_dictionaries(
    {
        "text": st.integers(0, len(TEXTS) - 1),
        "topic": st.integers(0, 1),
        "tilt": st.sampled_from(TILTS),
        "owner": st.integers(0, 1),
        "source": st.sampled_from(sorted(SOURCES)),
        "type": st.sampled_from(["episodic", "semantic"]),
        "age": st.sampled_from([0, 1, 29, 31, 38, 47, 95, 400]),
        "unread": st.sampled_from([None, 0, 35, 50]),
        "base": st.sampled_from([1.0, 0.5, 0.05]),
        "importance": st.sampled_from([0.2, 0.9]),
        "pinned": st.sampled_from([False, False, False, True]),
        "status": st.sampled_from(["active"] * 6 + ["superseded", "disputed", "archived"]),
        "disputes": st.sampled_from([0, 0, 3]),
        "source_id": st.sampled_from(["", "a", "b"]),
        "tags": st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True),
    }
)
links = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6)
# Equals are told apart by their ids, so the ids belong to the example.
namespaces = st.fixed_dictionaries({"memories": st.lists(memories, max_size=10), "links": links, "ids": st.uuids()})


def alike_and_repeated():
    """Bob says what Alice said twice: once alike to hers, so that they merge, once so that only the gate hears it."""
    said = {"text": TEXTS.index("I live in Oslo."), "topic": 0, "tilt": 0.0, "owner": 0, "source": "user_explicit"}
    kept = {"type": "episodic", "age": 1, "unread": 0, "base": 1.0, "importance": 0.2, "pinned": False}
    alice = {**said, **kept, "status": "active", "disputes": 0, "source_id": "", "tags": []}
    merging, repeating = {**alice, "owner": 1, "tilt": 0.2}, {**alice, "owner": 1, "topic": 1}
    return {"memories": [repeating, alice, merging], "links": [], "ids": uuid.UUID(int=0)}


def vector(topic, tilt):
    """The unit vector of a tilt in the plane of a topic."""
    found = np.zeros(active_model().dim, np.float32)
    found[2 * topic], found[2 * topic + 1] = np.cos(tilt), np.sin(tilt)
    return found


class Ground:
    """A namespace filled with generated memories."""

    def __init__(self, principal: Principal, told, *, policy="episodic"):
        self.principal, model = principal, active_model()
        with access.enter(principal, why="test"):
            self.namespace = access.writable(principal, f"{principal.project}:main")
            Namespace.objects.filter(id=self.namespace.id).update(archive_policy=policy)
            ids = [uuid.uuid5(told["ids"], str(number)) for number in range(len(told["memories"]))]
            rows = [self._row(*one) for one in zip(ids, range(len(ids)), told["memories"], strict=True)]
            insert(rows)
            vectors = [vector(memory["topic"], memory["tilt"]) for memory in told["memories"]]
            insert(embeddings([(row, v, []) for row, v in zip(rows, vectors, strict=True)], model=model))
            insert(
                [
                    Access(
                        project_id=principal.project_id,
                        fragment=row,
                        access_count=3,
                        last_accessed_at=max(row.created_at, NOW - memory["unread"] * DAY),
                    )
                    for row, memory in zip(rows, told["memories"], strict=True)
                    if memory["unread"] is not None
                ]
            )
            pairs = {(a, b) for a, b in told["links"] if a != b and max(a, b) < len(rows)}
            for a, b in pairs | {(b, a) for a, b in pairs}:
                Link.objects.create(
                    project_id=principal.project_id, fragment=rows[a], other=rows[b], kind="similar", similarity=0.8
                )
        self.ids = [row.id for row in rows]

    def _row(self, fragment_id, number, memory):
        born = NOW - memory["age"] * DAY - number * datetime.timedelta(minutes=1)
        return Fragment(
            id=fragment_id,
            project_id=self.principal.project_id,
            namespace=self.namespace,
            agent_id="main",
            type=memory["type"],
            content=TEXTS[memory["text"]],
            source_type="manual",
            source_id=memory["source_id"],
            source_ids=[memory["source_id"]] if memory["source_id"] else [],
            tags=["main", *memory["tags"]],
            importance=memory["importance"],
            is_pinned=memory["pinned"],
            status=memory["status"],
            base_relevance=memory["base"],
            disputes=memory["disputes"],
            owner_id=OWNERS[memory["owner"]],
            source=memory["source"],
            authority=SOURCES[memory["source"]],
            created_at=born,
            updated_at=born,
        )

    def run(self, *, now=NOW, dry_run=False, **options):
        """Consolidates; the operation."""
        wish = {"kind": "consolidate", "namespace": self.namespace, "options": options, "dry_run": dry_run}
        # Entered once, not for every step: a hundred examples take half the time.
        with access.enter(self.principal, why="test"):
            ended = jobs.run(self.principal, jobs.start(self.principal, **wish, now=now, wake_up=False).id)
        assert ended.state == "succeeded", ended.error
        return ended

    def undo(self, operation):
        """Takes a run back."""
        ended = jobs.run(self.principal, jobs.start_undo(self.principal, operation.id, now=NOW, wake_up=False).id)
        assert ended.state == "succeeded", ended.report
        return ended

    def merged(self, operation):
        """Who yielded to whom by merging."""
        with access.enter(self.principal, why="test"):
            steps = PlanStep.objects.filter(operation=operation, action="merge")
            return dict(steps.values_list("fragment_id", "other_id"))

    def digest(self, *, dated=True):
        """The canonical digest, or the belief's."""
        with access.enter(self.principal, why="test"):
            return (upkeep.canonical_digest if dated else belief_digest)(self.namespace)

    def rows(self):
        """Every fragment by id, with its access at hand."""
        with access.enter(self.principal, why="test"):
            found = Fragment.objects.within(self.principal.project_id).filter(namespace=self.namespace)
            return {row.id: row for row in found.select_related("access")}

    def alike(self, told):
        """Pairs (by id) of active memories above .95, of one type and text."""
        rows, active = self.rows(), []
        for number, memory in enumerate(told["memories"]):
            if rows[self.ids[number]].status == "active":
                active.append((self.ids[number], memory))
        return [
            (a, b)
            for place, (a, one) in enumerate(active)
            for b, other in active[place + 1 :]
            if one["type"] == other["type"]
            and one["text"] // 2 == other["text"] // 2
            and (one["text"] == other["text"] or one["text"] < 2)
            and one["topic"] == other["topic"]
            and np.cos(one["tilt"] - other["tilt"]) > 0.95
        ]

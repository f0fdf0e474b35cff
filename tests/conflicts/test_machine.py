"""Belief as a state machine: the real rooms on real Postgres and the reference model, side by side, step by step."""

import datetime
import json
import os
import random
import uuid
from types import SimpleNamespace

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from conflicts.authority import SOURCE_RANK
from conflicts.public import ClaimDraft
from conflicts.resolution import Settlement, resolve, undo
from conflicts.votes import vote
from memories import access, erasure, ingest
from memories.access import Principal, keys
from tests.conflicts.model import PERSON, STANDING, Model, Open, Refused, Said, meets

# Time to find the few steps of a failure: cut short within an example it is told as one that differs when run again.
pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

# `script/bench belief` asks for more.
EXAMPLES = int(os.environ.get("BELIEF_EXAMPLES", "80"))
STEPS = int(os.environ.get("BELIEF_STEPS", "30"))
PARTS = 16  # so that several processes share the work

DAY = datetime.timedelta(days=1)
BEGINNING = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
MOMENTS = [datetime.datetime(year, 1, day, tzinfo=datetime.UTC) for year, day in ((2020, 1), (2026, 12), (2030, 1))]
OWNERS = {"ada": "user_explicit", "bo": "tool_output", "cy": "tool_output", "di": "inference", "ed": "inference"}
VERBS = frozenset(("read", "write", "review", "admin"))
# predicate: what the rules say of it
EXCLUSIVE, MANY, NEWER, UNRULED = "lives_in", "likes", "temperature", "motto"
PERIODS = [(None, None), *((start, None) for start in MOMENTS), (MOMENTS[0], MOMENTS[1]), (MOMENTS[1], MOMENTS[2])]
PERIODS += [(None, MOMENTS[1]), (MOMENTS[0], MOMENTS[2])]

owners, values, picks = st.sampled_from(sorted(OWNERS)), st.sampled_from("xyz"), st.integers(0, 63)
predicates = st.sampled_from([EXCLUSIVE, EXCLUSIVE, EXCLUSIVE, MANY, NEWER, UNRULED])
periods, sessions = st.sampled_from(PERIODS), st.sampled_from(["s1", "s2"])
scopes = st.one_of(
    st.builds(lambda: {"scope": "global"}),
    st.builds(lambda: {"scope": "global"}),
    st.builds(lambda p: {"scope": "temporal", "start": p[0], "end": p[1]}, periods),
    st.builds(lambda p: {"scope": "global", "start": p[0], "end": p[1]}, periods),
    st.builds(lambda s: {"scope": "session", "session": s}, sessions),
)
wishes = st.fixed_dictionaries(
    {
        "owner": owners,
        "weakly": st.sampled_from([False, False, False, True]),
        "key": predicates,
        "value": values,
        "asked": st.sampled_from([None, None, True, False]),
        "place": scopes,
    }
)

ROWS = """
    SELECT f.id, f.status, f.superseded_by_id, f.archived_reason, f.updated_at, c.valid_from, c.valid_until,
        c.exclusive, f.authority, f.corroboration, f.reinforcements, f.disputes, c.slot, c.status = f.status
    FROM memories_fragment f JOIN memories_claim c ON c.fragment_id = f.id WHERE f.project_id = %s"""
WAITING = """
    SELECT id, kind, newcomer_id, existing_id, revision FROM conflicts_pendingconflict
    WHERE project_id = %s AND resolved_at IS NULL"""
EVERYTHING = """
    SELECT to_jsonb(f) - '{change,revision,updated_at}'::text[] || jsonb_build_object('claim', to_jsonb(c),
        'links', (SELECT jsonb_agg(to_jsonb(l) ORDER BY l.id) FROM memories_link l WHERE l.fragment_id = f.id),
        'votes', (SELECT jsonb_agg(to_jsonb(v) ORDER BY v.id) FROM conflicts_vote v WHERE v.fragment_id = f.id),
        'conflicts', (SELECT jsonb_agg(to_jsonb(p) - '{id,revision,created_at,reason,new_trust,existing_trust}'::text[]
                                       ORDER BY p.newcomer_id, p.existing_id, p.created_at)
                      FROM conflicts_pendingconflict p
                      WHERE f.id IN (p.newcomer_id, p.existing_id) AND p.resolution <> 'obsolete'))
    FROM memories_fragment f JOIN memories_claim c ON c.fragment_id = f.id WHERE f.project_id = %s ORDER BY f.id"""


def believed(row):
    """What is believed of a row: when it was last touched is nobody's belief."""
    return (*row[:3], *row[4:11])


def exclusive(key, asked):
    """How many values a claim takes: a rule may only be made stricter."""
    ruled = {EXCLUSIVE: True, NEWER: True, MANY: False}
    return ruled[key] or asked is True if key in ruled else asked is not False


class Belief(RuleBasedStateMachine):
    """One project in one transaction, rolled back at the end."""

    def __init__(self):
        super().__init__()
        self.now, self.model, self.names = BEGINNING, Model(newer_wins={NEWER}), {}
        self.bound: dict[uuid.UUID, Open] = {}  # by the id of the row that a person settled
        # Ids in the same order every time, so that what was found is found again.
        self.urandom, uuid.os = uuid.os, SimpleNamespace(urandom=random.Random(0).randbytes)
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.project = keys.ensure_project(f"machine-{uuid.uuid4().hex[:12]}")
        self.namespace = f"{self.project.name}:main"
        self.owners = {name: self._principal(name, ceiling) for name, ceiling in OWNERS.items()}
        self.person = self._principal("pat", "user_explicit", kind="person")
        self.inside = access.enter(self.person, why="test")
        self.inside.__enter__()
        self.rows, self.waiting = {}, []

    def _principal(self, name, ceiling, kind="key"):
        return Principal(
            project_id=self.project.id,
            project=self.project.name,
            owner_id=uuid.uuid5(self.project.id, name),
            owner=name,
            namespaces=(f"{self.project.name}:*",),
            verbs=VERBS,
            ceiling=ceiling,
            kind=kind,
        )

    def teardown(self):
        """Nothing stays."""
        self.inside.__exit__(None, None, None)
        transaction.set_rollback(True)  # not before: the end of a savepoint takes the mark away
        self.atomic.__exit__(None, None, None)
        uuid.os = self.urandom

    # Doing and comparing

    def do(self, act, follow):
        """Lets the rooms act and the model follow; both refuse, with the same word, or neither does."""
        self.now += DAY
        refused = None
        try:
            with transaction.atomic():
                answer = act()
        except Exception as error:  # noqa: BLE001  # its name is compared
            answer, refused = None, error
        self.read()
        try:
            follow(answer)
            expected = ""
        except Refused as error:
            expected = str(error)
        assert (type(refused).__name__ if refused else "") == expected, f"{refused!r}, expected {expected!r}"
        self.compare()

    def read(self):
        """What the database holds now."""
        with connection.cursor() as cursor:
            cursor.execute(ROWS, [self.project.id])
            self.rows = {row[0]: row[1:] for row in cursor}
            cursor.execute(WAITING, [self.project.id])
            self.waiting = list(cursor)
        self.model.told = {i: row[1] for i, row in self.rows.items()}

    def compare(self):
        """The same fragments in the same states, the same conflicts, and what may never be."""
        # By names in the order of saying: ids are drawn, and the same steps have to settle the same conflicts again.
        for said_id in self.model.said:
            self.name(said_id)
        self.waiting.sort(key=lambda row: (row[1], self.name(row[2]), self.name(row[3])))
        found = {self.name(i): believed(row) for i, row in self.rows.items()}
        assert found == {self.name(s.id): believed(self._told(s)) for s in self.model.said.values()}
        pairs = sorted((kind, self.name(new), self.name(old)) for _, kind, new, old, _ in self.waiting)
        assert pairs == sorted((c.kind, self.name(c.newcomer), self.name(c.existing)) for c in self.model.pending())
        assert all(row[12] for row in self.rows.values()), "a claim's status is not its fragment's"
        active = [(self.model.said[i], row[11]) for i, row in self.rows.items() if row[0] == "active" and row[6]]
        for index, (one, slot) in enumerate(active):
            for other, its in active[index + 1 :]:
                assert slot != its or not meets(one, other), "two exclusive values in one slot at one time"
        assert not self.model.rivals(), "two values stand though only one can be true"

    def _told(self, said):
        votes = (len(said.corroborated) + 1, len(said.reinforced), len(said.disputed))
        return (*said.state(), said.authority, *votes)

    def name(self, fragment_id):
        """Short names for messages."""
        return "" if fragment_id is None else self.names.setdefault(fragment_id, f"f{len(self.names)}")

    def one(self, pick, *statuses):
        """Some fragment in one of these states."""
        here = [s for s in self.model.said.values() if not statuses or s.status in statuses]
        return here[pick % len(here)] if here else None

    # Storing

    def drafts(self, several):
        """What is stored, and what the model hears."""
        drafts, news = [], []
        for wish in several:
            place, owner = wish["place"], wish["owner"]
            source = "inference" if wish["weakly"] else OWNERS[owner]
            claim = ClaimDraft(
                "user",
                wish["key"],
                wish["value"],
                exclusive=wish["asked"],
                scope=place["scope"],
                session_id=place.get("session", ""),
                valid_from=place.get("start"),
                valid_until=place.get("end"),
            )
            drafts.append(
                ingest.Draft(self.namespace, f"zq {uuid.uuid4().hex}", source=source, claims=[claim] if claim else [])
            )
            one = exclusive(wish["key"], wish["asked"])
            rank = SOURCE_RANK[source]
            news.append(Said(uuid.uuid4(), owner, rank, wish["key"], wish["value"], exclusive=one, **place))
        return drafts, news

    def store(self, several):
        """Stores in one go, for one owner."""
        drafts, news = self.drafts(several)
        principal = self.owners[several[0]["owner"]]

        def act():
            return ingest.store(principal, ingest.prepare(drafts, embed_now=False), now=self.now)

        def follow(admissions):
            for new, admission in zip(news, admissions, strict=True):
                if not admission.deduplicated:
                    new.id = admission.fragment.id
            answered = [admission.fragment.id for admission in admissions]
            assert self.model.store(news, self.now, answered=answered) == answered

        self.do(act, follow)

    @rule(wish=wishes)
    def say(self, wish):
        """Somebody claims something."""
        self.store([wish])

    @rule(wish=wishes, value=values)
    def say_in_one_place(self, wish, value):
        """Somebody claims something where all meet."""
        self.store([{**wish, "key": EXCLUSIVE, "place": {"scope": "global"}, "value": value}])

    @rule(wish=wishes, place=periods)
    def say_for_a_time(self, wish, place):
        """Somebody claims something for a time."""
        place = {"scope": "temporal", "start": place[0], "end": place[1]}
        self.store([{**wish, "key": EXCLUSIVE, "place": place}])

    @rule(several=st.lists(wishes, min_size=2, max_size=3), owner=owners)
    def say_several(self, several, owner):
        """Somebody claims several things at once."""
        self.store([{**wish, "owner": owner} for wish in several])

    @precondition(lambda self: self.model.said)
    @rule(pick=picks, owner=owners)
    def say_again(self, pick, owner):
        """Somebody repeats what was said."""
        old = self.one(pick)
        place = {"scope": old.scope, "session": old.session, "start": old.start, "end": old.end}
        self.store(
            [{"owner": owner, "weakly": False, "key": old.key, "value": old.value, "asked": None, "place": place}]
        )

    # Votes

    @precondition(lambda self: self.model.said)
    @rule(pick=picks, owner=owners, ballot=st.sampled_from(["reinforce", "dispute", "dispute", "corroborate"]))
    def vote(self, pick, owner, ballot):
        """Somebody votes."""
        said, rank = self.one(pick, *STANDING) or self.one(pick), SOURCE_RANK[OWNERS[owner]]

        def follow(counted):
            assert self.model.vote(owner, rank, said.id, ballot, self.now) == counted.counted

        self.do(lambda: vote(self.owners[owner], said.id, ballot, now=self.now), follow)

    # Settling

    def settle(self, row, action, keep):
        """A person decides on a row that waits."""
        row_id, kind, newcomer, existing, revision = row
        conflict = next(c for c in self.model.pending(kind=kind, newcomer=newcomer, existing=existing))
        settlement = Settlement(action, revision, **({"keep": keep} if action == "keep_both" else {}))

        def follow(_):
            self.model.resolve(conflict, action, keep, self.now)
            self.bound[row_id] = conflict

        self.do(lambda: resolve(self.person, row_id, settlement, now=self.now), follow)
        return conflict

    @precondition(lambda self: self.waiting)
    @rule(
        pick=picks,
        action=st.sampled_from(["supersede", "supersede", "reject", "keep_both", "keep_both"]),
        keep=st.sampled_from(["pair", "period"]),
    )
    def resolve(self, pick, action, keep):
        """A person decides."""
        row = self.waiting[pick % len(self.waiting)]
        self.settle(row, action, keep)

    @precondition(lambda self: self.bound)
    @rule(pick=picks, stale=st.booleans())
    def resolve_late(self, pick, stale):
        """A person decides what was decided, or on a revision that has changed since."""
        rows = list(self.waiting) if stale and self.waiting else []
        row_id, revision = (rows[pick % len(rows)][0], 99) if rows else (list(self.bound)[pick % len(self.bound)], 1)
        expected = "StaleRevision" if rows or any(row[0] == row_id for row in self.waiting) else "AlreadyResolved"

        def follow(_):
            raise Refused(expected)

        self.do(lambda: resolve(self.person, row_id, Settlement("reject", revision), now=self.now), follow)

    @precondition(lambda self: self.bound)
    @rule(pick=picks)
    def undo(self, pick):
        """A person takes a decision back."""
        self.take_back(list(self.bound)[pick % len(self.bound)])

    @precondition(lambda self: self.waiting)
    @rule(
        pick=picks,
        action=st.sampled_from(["supersede", "reject", "keep_both"]),
        keep=st.sampled_from(["pair", "period"]),
    )
    def resolve_and_undo(self, pick, action, keep):
        """A decision that is taken back at once leaves nothing behind."""
        row = self.waiting[pick % len(self.waiting)]
        before = self.everything()
        # A conflict with what left meanwhile moves on whenever its key is looked at, so it may not come back.
        idle = [c for c in self.model.pending(kind="claim") if not c.existing or not self.model.said[c.existing].stands]
        conflict = self.settle(row, action, keep)
        if not conflict.resolution:
            return
        self.take_back(row[0])
        if not idle:
            after = self.everything()
            assert after == before, [
                (who, field, row[field], after[who][field])
                for who, row in before.items()
                for field in row
                if row[field] != after[who][field]
            ]

    def take_back(self, row_id):
        """Both undo, or both refuse."""
        conflict = self.bound[row_id]
        main = conflict.settled_with or conflict

        def follow(told):
            if told is None and main.before and (main.part_is_gone or self.model.crowded(main)):
                raise Refused("CannotUndo")
            self.model.undo(conflict, self.now)

        self.do(lambda: undo(self.person, row_id, now=self.now), follow)

    def everything(self):
        """Every row of belief, but for when it was changed last and how often."""
        with connection.cursor() as cursor:
            cursor.execute(EVERYTHING, [self.project.id])
            return {self.name(row["id"]): row for row in (json.loads(told) for (told,) in cursor)}

    # Leaving and coming back

    def _above(self, said):
        rank = PERSON if self.model.chose(said) else said.authority
        return next(self.owners[name] for name, ceiling in OWNERS.items() if SOURCE_RANK[ceiling] >= rank)

    @precondition(lambda self: self.model.said)
    @rule(pick=picks)
    def archive(self, pick):
        """Out of all answers."""
        said = self.one(pick)
        principal = self._above(said)
        self.do(
            lambda: ingest.updates.archive(principal, said.id, now=self.now),
            lambda _: self.model.archive(said.id, self.now),
        )

    @precondition(lambda self: self.one(0, "archived"))
    @rule(pick=picks, person=st.booleans())
    def unarchive(self, pick, person):
        """Back, as far as the gate allows."""
        said = self.one(pick, "archived")
        principal = self.person if person else self._above(said)
        self.do(
            lambda: ingest.updates.unarchive(principal, said.id, now=self.now),
            lambda _: self.model.unarchive(said.id, self.now, person=person),
        )

    @precondition(lambda self: self.model.said)
    @rule(pick=picks)
    def forget(self, pick):
        """Gone for good."""
        said = self.one(pick)
        lost = any(other.successor == said.id for other in self.model.said.values())
        if lost or self.model.pending(existing=said.id):
            return  # what lost to it, or waits because of it, stands again: tests/erasure/test_losers.py
        others = self.model.on(said.key)
        if any(said.start and said.start == o.end or said.end and said.end == o.start for o in others):
            return  # of whose period it took a part, that has it back: tests/erasure/test_periods_back.py
        principal = self._above(said)
        self.do(lambda: erasure.forget(principal, said.id, now=self.now), lambda _: self.model.forget(said.id))

    @rule(days=st.integers(1, 500))
    def wait(self, days):
        """Time passes, and changes nothing that was decided."""
        self.now += days * DAY
        self.read()
        self.compare()


@pytest.fixture
def database(django_db_setup, django_db_blocker):
    """The test database, each example in a transaction of its own."""
    with django_db_blocker.unblock():
        yield
        connection.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_the_rooms_believe_what_the_model_believes(part, database):
    steps = settings(
        max_examples=EXAMPLES // PARTS,
        stateful_step_count=STEPS,
        suppress_health_check=list(HealthCheck),
        deadline=None,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),  # which lines a failure ran is worth no hour of tracing
    )
    # A seed of its own: without one every part would try the same examples.
    run_state_machine_as_test(seed(part)(type("Belief", (Belief,), {})), settings=steps)

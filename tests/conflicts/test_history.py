"""Belief history: valid time and record time, over claims whose rows and row history are real."""

import datetime
from contextlib import contextmanager

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conflicts.history import BeliefQuery, believed_claims, claims, load_lives, timeline
from conflicts.keys.names import naming
from conflicts.models import Predicate, Ruling
from memories import access, ingest
from memories.access import NotFound
from memories.models import Claim, Fragment, Namespace, Revision
from memories.models.history import events_of


def year(number):
    return datetime.datetime(number, 1, 1, tzinfo=datetime.UTC)


class Ground:
    """A committed project: each call is a transaction of its own, so that record time moves."""

    def __init__(self, principal):
        self.principal = principal

    def names(self, row):
        return naming(row.project_id, [row.namespace_id])[row.namespace_id]

    def claim(self, value, *, subject="user", predicate="lives_in", room="main", status="active", source=None, **more):
        """Stores a fragment that claims this; answers its id."""
        content = f"A note, {value}, {timezone.now()}"
        draft = ingest.Draft(namespace=f"{self.principal.project}:{room}", content=content, source=source)
        with access.enter(self.principal, why="test"):
            (admission,) = ingest.store(self.principal, ingest.prepare([draft]), now=timezone.now())
            row = admission.fragment
            Fragment.objects.filter(id=row.id).update(status=status)
            self.place(row, subject, predicate, value, status=status, **more)
        return row.id

    def place(self, row, subject, predicate, value, **more):
        key = self.names(row).key(subject, predicate)
        digests = {"subject_digest": key.subject, "predicate_digest": key.predicate, "key_digest": key.both}
        said = {"subject": subject, "predicate": predicate, "value": value, "authority": row.authority}
        digest = self.names(row).value(predicate, value)
        Claim.objects.create(
            fragment=row,
            project_id=row.project_id,
            namespace_id=row.namespace_id,
            value_digest=digest,
            **{**digests, **said, "status": row.status, **more},
        )

    def change(self, fragment_id, **values):
        with access.enter(self.principal, why="test"):
            Fragment.objects.filter(id=fragment_id).update(**values)
            return self.moment()

    def close(self, fragment_id, at):
        with access.enter(self.principal, why="test"):
            Claim.objects.filter(fragment=fragment_id).update(valid_until=at)

    def reword(self, fragment_id, *said, **more):
        """As a change of the claim does: the former words become a revision; without words the claim goes."""
        with access.enter(self.principal, why="test"):
            row = Fragment.objects.get(id=fragment_id)
            old = Claim.objects.get(fragment=row)
            kept = {"subject": old.subject, "predicate": old.predicate, "value": old.value}
            kept["value_digest"] = bytes(old.value_digest).hex()
            Revision.objects.create(
                project_id=row.project_id, fragment=row, revision=row.revision, content=row.content, claim=kept
            )
            Claim.objects.filter(fragment=row).delete()
            Fragment.objects.filter(id=row.id).update(revision=row.revision + 1)
            if said:
                self.place(row, *said, **more)

    def register(self, name, *aliases, room="main", **rule):
        """A rule of the namespace; the claims that it concerns are named anew."""
        with access.enter(self.principal, why="test"):
            place = Namespace.objects.get(name=f"{self.principal.project}:{room}")
            digest = f"{name}".encode().ljust(32)[:32]
            Predicate.objects.create(
                project_id=place.project_id,
                namespace=place,
                name=name,
                aliases=list(aliases),
                spelling_digest=digest,
                **rule,
            )
            for row in Claim.objects.filter(namespace=place).select_related("fragment"):
                names = self.names(row)
                key = names.key(row.subject, row.predicate)
                row.predicate_digest, row.key_digest = key.predicate, key.both
                row.value_digest = names.value(row.predicate, row.value)
                row.save()

    def rule(self, fragment_id, *, note, replaces=None):
        """A ruling that chose what a fragment claims; answers it."""
        with access.enter(self.principal, why="test"):
            said = Claim.objects.get(fragment=fragment_id)
            made = Ruling.objects.create(
                project_id=said.project_id,
                namespace_id=said.namespace_id,
                key_digest=said.key_digest,
                chosen=[bytes(said.value_digest).hex()],
                authority=6,
                note=note,
            )
            if replaces:
                Ruling.objects.filter(id=replaces.id).update(replaced_by=made)
            return made

    def moment(self):
        """The record time of the newest event."""
        with access.enter(self.principal, why="test"):
            return events_of(Claim).objects.filter(project=self.principal.project_id).latest("pgh_id").pgh_created_at

    def true(self, *, by=None, **asked):
        """The values that `claims` answers, oldest first."""
        return [belief.value for belief in self.beliefs(by=by, **asked)]

    def beliefs(self, *, by=None, room=None, **asked):
        by = by or self.principal
        asked |= {"namespace": f"{self.principal.project}:{room}"} if room else {}
        with access.enter(by, why="test"):
            rows = claims(by, BeliefQuery(**asked), now=timezone.now())
            return believed_claims(by, list(rows.order_by("created_at", "id")))

    def lives(self, subject="user", predicate="lives_in", *, by=None, **asked):
        by = by or self.principal
        with access.enter(by, why="test"):
            rows = timeline(by, subject=subject, predicate=predicate, **asked)
            return load_lives(by, list(rows), subject=subject, predicate=predicate)


@pytest.fixture
def ground(service):
    """An empty committed project."""
    return Ground(service)


@pytest.fixture
def tool(committed, agent_of):
    """A tool's own hand in the same project."""
    return Ground(agent_of(committed, owner="tool", ceiling="tool_output").principal)


@pytest.fixture
def moved(ground):
    """Seattle 2019–2022, Austin since then."""
    return [
        ground.claim("Seattle", scope="temporal", valid_from=year(2019), valid_until=year(2022)),
        ground.claim("Austin", scope="temporal", valid_from=year(2022)),
    ]


@contextmanager
def queries():
    with CaptureQueriesContext(connection) as captured:
        yield captured


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        (year(2018), []),
        (year(2019) - datetime.timedelta(microseconds=1), []),
        (year(2019), ["Seattle"]),
        (year(2022) - datetime.timedelta(microseconds=1), ["Seattle"]),
        (year(2022), ["Austin"]),
        (None, ["Austin"]),
        (year(2999), ["Austin"]),
    ],
)
def test_what_was_true_is_half_open(as_of, expected, ground, moved):
    assert ground.true(as_of=as_of) == expected
    assert ground.true(as_of=as_of, known_at=ground.moment()) == expected


def test_what_was_believed_before_and_after_a_correction(ground):
    old = ground.claim("Seattle")
    before = ground.moment()
    new = ground.claim("Austin", status="quarantined")
    waiting = ground.moment()
    ground.change(old, status="superseded", superseded_by=new)
    ground.change(new, status="active")
    after = ground.moment()
    asked = {"subject": "user", "predicate": "lives_in"}
    first = datetime.timedelta(microseconds=1)
    assert ground.true(known_at=before - first, **asked) == []
    assert ground.true(known_at=before, **asked) == ["Seattle"]
    assert ground.true(known_at=waiting, **asked) == ["Seattle"]
    assert ground.true(known_at=after, **asked) == ground.true(**asked) == ["Austin"]
    assert ground.true(known_at=waiting, status="quarantined") == ["Austin"]
    assert ground.true(status="superseded") == ["Seattle"]
    assert ground.true(known_at=after, status=None) == ground.true(status=None) == ["Seattle", "Austin"]
    (shown,) = ground.beliefs(known_at=waiting)
    assert (shown.status, shown.fragment_id, shown.recorded_at) == ("active", old, before)


def test_claims_at_a_moment_name_the_ruling_of_then(ground):
    seattle = ground.claim("Seattle")
    unruled = timezone.now()
    first = ground.rule(seattle, note="first")
    between = timezone.now()
    ground.rule(seattle, note="second", replaces=first)

    def ruling(**asked):
        (shown,) = ground.beliefs(**asked)
        return shown.ruling and shown.ruling.note

    assert [ruling(known_at=at) for at in (unruled, between)] == [None, "first"]
    assert ruling() == "second"
    (life,) = ground.lives()
    assert [(mark.note, mark.until is None) for mark in life.rulings] == [("first", False), ("second", True)]


def test_what_was_believed_of_a_period(ground):
    old = ground.claim("Seattle", scope="temporal", valid_from=year(2019))
    before = ground.moment()
    ground.close(old, year(2022))
    ground.claim("Austin", scope="temporal", valid_from=year(2022))
    assert ground.true(as_of=year(2023), known_at=before) == ["Seattle"]
    assert ground.true(as_of=year(2023)) == ["Austin"]


def test_the_future_is_not_known_yet(ground, moved):
    assert ground.true(known_at=timezone.now() + datetime.timedelta(days=1)) == ["Austin"]


def test_keys_are_found_in_every_spelling(ground):
    ground.claim("Seattle", subject="The  User", predicate="Lives-In")
    before = ground.moment()
    for known_at in (None, before):
        for subject, predicate in (("the user", "lives in"), ("ＴＨＥ user", "residence"), ("the_user", "city")):
            asked = {"known_at": known_at, "subject": subject, "predicate": predicate}
            assert ground.true(**asked) == ["Seattle"]
            assert ground.true(known_at=known_at, subject=subject) == ["Seattle"]
            assert ground.true(known_at=known_at, predicate=predicate) == ["Seattle"]
        assert ground.true(known_at=known_at, subject="somebody else") == []
        assert ground.true(known_at=known_at, subject="the user", predicate="works_at") == []
        assert ground.true(known_at=known_at, predicate="works_at") == []
    assert [life.value for life in ground.lives("THE USER", "city")] == ["Seattle"]


def test_each_namespace_has_its_own_names(ground):
    ground.claim("red", predicate="paint", room="main")
    ground.claim("blue", predicate="paint", room="side")
    ground.claim("green", predicate="colour", room="side")
    ground.register("colour", "paint", room="main")
    assert ground.true(predicate="colour") == ["red", "green"]
    assert [life.value for life in ground.lives("user", "colour")] == ["red", "green"]


def test_a_rule_that_changed_does_not_hide_what_was_known_before(ground):
    ground.claim("$750", predicate="cap")
    before = ground.moment()
    ground.register("ceiling_of_costs", "cap", normaliser="money")
    assert ground.moment() > before
    for predicate in ("cap", "ceiling of costs"):
        assert ground.true(subject="user", predicate=predicate, known_at=before) == ["$750"]
        assert ground.true(predicate=predicate, known_at=before) == ["$750"]
        (life,) = ground.lives(predicate=predicate)
        assert [belief.value for belief in life.beliefs] == ["$750"]
        assert not life.moved


def test_a_changed_value_is_shown_as_it_was(ground):
    row = ground.claim("Seattle")
    before = ground.moment()
    ground.reword(row, "user", "lives_in", "Austin")
    after = ground.moment()
    ground.reword(row, "user", "lives_in", "Oslo")
    assert [ground.true(known_at=at) for at in (before, after, None)] == [["Seattle"], ["Austin"], ["Oslo"]]
    (life,) = ground.lives()
    assert [(b.value, b.until is None) for b in life.beliefs] == [("Seattle", False), ("Austin", False), ("Oslo", True)]
    assert (life.value, life.moved) == ("Oslo", False)


def test_a_claim_that_moved_to_another_key_stays_in_the_history_of_both(ground):
    row = ground.claim("Seattle")
    before = ground.moment()
    ground.reword(row, "user's sister", "lives_in", "Seattle")
    assert ground.true(subject="user", known_at=before) == ["Seattle"]
    assert ground.true(subject="user's sister", known_at=before) == ground.true(subject="user") == []
    (belief,) = ground.beliefs(subject="user", known_at=before)
    assert belief.subject == "user"
    (left,), (here,) = ground.lives("user"), ground.lives("user's sister")
    assert (left.moved, left.subject, [b.until is None for b in left.beliefs]) == (True, "user", [False])
    assert (here.moved, here.subject, [b.since for b in here.beliefs]) == (False, "user's sister", [ground.moment()])


def test_a_claim_that_was_taken_back_is_history(ground):
    row = ground.claim("Seattle")
    before = ground.moment()
    ground.reword(row)
    assert (ground.true(), ground.true(known_at=before)) == ([], ["Seattle"])
    (life,) = ground.lives()
    assert (life.moved, life.value, life.beliefs[0].until) == (True, "Seattle", ground.moment())


def test_what_is_forgotten_leaves_both_axes(ground, moved):
    known_at = ground.moment()
    with access.enter(ground.principal, why="test"):
        Fragment.objects.get(id=moved[0]).delete()
    assert ground.true(as_of=year(2020), known_at=known_at) == []
    assert ground.true(as_of=year(2020), status=None) == []
    assert [life.value for life in ground.lives()] == ["Austin"]


def test_sessions_hear_their_own_and_the_global_claims(ground):
    ground.claim("light", predicate="theme")
    for name in ("s1", "s2"):
        ground.claim(f"dark in {name}", predicate="theme", scope="session", session_id=name)
    for known_at in (None, ground.moment()):
        assert ground.true(known_at=known_at) == ["light"]
        assert ground.true(known_at=known_at, session_id="s1") == ["dark in s1"]
        assert ground.true(known_at=known_at, session_id="s1", status=None) == ["light", "dark in s1"]
        assert ground.true(known_at=known_at, session_id="s3") == ["light"]
    assert [life.value for life in ground.lives("user", "theme")] == ["light"]
    found = ground.lives("user", "theme", session_id="s1")
    assert [(life.value, life.session_id) for life in found] == [("light", ""), ("dark in s1", "s1")]


@pytest.mark.examples
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize(
    ("lasting", "own", "exclusive", "expected"),
    [
        (("ground", "system"), ("tool", "tool_output"), True, ["lasting"]),
        (("ground", "inference"), ("tool", "tool_output"), True, ["own"]),
        (("ground", "tool_output"), ("tool", "tool_output"), True, ["lasting"]),
        (("tool", "tool_output"), ("tool", "tool_output"), True, ["own"]),
        (("tool", "tool_output"), ("tool", "inference"), True, ["lasting"]),
        (("ground", "system"), ("tool", "inference"), False, ["lasting", "own"]),
    ],
)
def test_in_a_session_one_of_two_claims_is_believed(
    past, lasting, own, exclusive, expected, ground, committed, agent_of
):
    """Nobody weaker hides in a session what a stronger one said, nor stands beside it."""
    who = {"ground": ground, "tool": Ground(agent_of(committed, owner="tool", ceiling="tool_output").principal)}
    session = {"scope": "session", "session_id": "s1"}
    who[lasting[0]].claim("lasting", source=lasting[1], exclusive=exclusive)
    who[lasting[0]].claim("elsewhere", source=lasting[1], room="side")
    who[own[0]].claim("own", source=own[1], exclusive=exclusive, **session)
    asked = {"known_at": ground.moment()} if past else {}
    assert ground.true(session_id="s1", room="main", **asked) == expected
    assert ground.true(session_id="s1", room="side", **asked) == ["elsewhere"]
    assert ground.true(session_id="s2", room="main", **asked) == ["lasting"]


@pytest.mark.parametrize("past", [False, True])
def test_of_the_scopes_that_are_read_the_nearest_is_believed(past, ground):
    ground.claim("Oslo")
    ground.claim("Turin", room="shared")
    own = ground.claim("Rome", room="main/ann")
    ground.claim("Bonn", room="main/ben")
    asked = {"wider": True, "known_at": ground.moment() if past else None}
    if past:
        ground.change(own, status="archived")
    assert ground.true(room="main/ann", **asked) == ["Rome"]
    assert ground.true(room="main/ann", status=None, **asked) == ["Oslo", "Turin", "Rome"]
    assert ground.true(room="main/ann", session_id="s1", **asked) == ["Rome"]
    assert ground.true(room="main/ann", known_at=asked["known_at"]) == ["Rome"]
    if past:
        assert ground.true(room="main/ann", wider=True) == ["Oslo"]


def test_of_a_session_and_several_scopes_one_value_is_believed(ground):
    ground.claim("Oslo", source="system")
    ground.claim("Rome", room="main/ann", source="document")
    ground.claim("Bern", room="main/ann", source="document", scope="session", session_id="s1")
    ground.claim("Lima", room="main/ann", source="system", scope="session", session_id="s2")
    for session, value in (("", "Oslo"), ("s1", "Oslo"), ("s2", "Lima")):
        assert ground.true(room="main/ann", wider=True, session_id=session) == [value]


def test_what_one_session_heard_stays_there_when_it_becomes_global(ground):
    row = ground.claim("dark", predicate="theme", scope="session", session_id="s1")
    before = ground.moment()
    ground.reword(row, "user", "theme", "dark", scope="global")
    assert ground.true() == ["dark"]
    assert ground.true(known_at=before) == ground.true(known_at=before, session_id="s2") == []
    (life,) = ground.lives("user", "theme")
    assert [belief.since for belief in life.beliefs] == [ground.moment()]


def test_only_covered_namespaces(ground, agent_of, committed, neighbour):
    stranger = access.system_principal(neighbour)
    ground.claim("Seattle", room="main")
    ground.claim("Austin", room="side")
    ground.claim("Oslo", room="shared")
    narrow = agent_of(committed, namespaces=[f"{committed.name}:main"], verbs=["read"]).principal
    for known_at in (None, ground.moment()):
        assert ground.true(by=narrow, known_at=known_at) == ["Seattle", "Oslo"]
        assert ground.true(by=stranger, known_at=known_at) == []
    assert [life.value for life in ground.lives(by=narrow)] == ["Seattle", "Oslo"]
    assert ground.lives(by=stranger) == []
    for room in ("side", "nowhere"):
        with pytest.raises(NotFound):
            ground.true(by=narrow, namespace=f"{committed.name}:{room}")
        with pytest.raises(NotFound):
            ground.lives(by=narrow, namespace=f"{committed.name}:{room}")
    assert ground.true(namespace=f"{committed.name}:side") == ["Austin"]
    assert ground.true(namespace=f"{committed.name}:nothing-yet") == []


def test_a_timeline_tells_both_axes(ground):
    unknown = ground.claim("Paris", scope="temporal", valid_until=year(2010))
    old = ground.claim("Seattle", scope="temporal", valid_from=year(2019))
    begun = ground.moment()
    ground.close(old, year(2022))
    closed = ground.moment()
    new = ground.claim("Austin", scope="temporal", valid_from=year(2022))
    earlier = ground.claim("Lisbon", scope="temporal", valid_from=year(2015), valid_until=year(2019))
    ground.change(new, status="disputed")
    found = ground.lives()
    assert [life.fragment_id for life in found] == [unknown, earlier, old, new]
    first, second = found[2].beliefs
    assert (first.since, first.until, first.status, first.valid_from, first.valid_until) == (
        begun,
        closed,
        "active",
        year(2019),
        None,
    )
    assert (second.since, second.until, second.valid_until) == (closed, None, year(2022))
    assert (found[2].valid_until, found[2].recorded_at, found[2].owner) == (year(2022), begun, "")
    assert [(b.status, b.until is None) for b in found[3].beliefs] == [("active", False), ("disputed", True)]
    assert found[3].status == "disputed"


def test_a_timeline_says_what_superseded_what_and_who_said_it(ground, committed, agent_of):
    old = ground.claim("Seattle")
    owner = agent_of(committed, owner="dora", ceiling="system").principal
    new = Ground(owner).claim("Austin", status="quarantined")
    ground.change(old, status="superseded", superseded_by=new)
    ground.change(new, status="active")
    first, second = ground.lives()
    assert (first.superseded_by, first.status, second.superseded_by, second.owner) == (new, "superseded", None, "dora")
    assert [b.status for b in first.beliefs] == ["active", "superseded"]


def test_the_changes_of_one_transaction_are_one_belief(ground):
    with access.enter(ground.principal, why="test"):
        row = ground.claim("Seattle")
        ground.change(row, status="quarantined")
        ground.change(row, status="active")
        ground.reword(row, "user", "lives_in", "Austin")
    (life,) = ground.lives()
    assert [(b.value, b.until) for b in life.beliefs] == [("Austin", None)]


def test_transactions_that_overlap_leave_periods_in_order(ground):
    """Record time is when a transaction began; one that began first may write last."""
    row = ground.claim("Seattle")
    with transaction.atomic(using="owner"), connections["owner"].cursor() as slow:
        slow.execute("SELECT now()")
        disputed = ground.change(row, status="disputed")
        slow.execute("UPDATE memories_fragment SET status = 'archived' WHERE id = %s", [row])
    assert ground.moment() < disputed
    (life,) = ground.lives()
    assert [(b.status, b.until) for b in life.beliefs] == [("active", disputed), ("archived", None)]
    assert ground.true(known_at=disputed, status="archived") == ["Seattle"]


@pytest.mark.parametrize("past", [False, True])
def test_a_page_takes_a_fixed_number_of_queries(past, ground, committed, agent_of):
    writer = Ground(agent_of(committed, ceiling="system").principal)

    def cost():
        asked = {"known_at": ground.moment() if past else None}
        ground.true(**asked)
        with queries() as first:
            ground.true(subject="user", **asked)
        with queries() as second:
            ground.lives("user", "likes")
        return len(first), len(second)

    writer.claim("tea", predicate="likes")
    before = cost()
    for n in range(4):
        row = writer.claim(f"tea {n}", predicate="likes", room=f"room{n}", exclusive=False)
        writer.reword(row, "user", "likes", f"coffee {n}", exclusive=False)
        writer.change(row, status="archived")
        writer.change(row, status="active")
    assert cost() == before

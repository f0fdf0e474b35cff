"""Properties of branches: 17 and 18; and that a dry run is the run, and an undo the identity."""

import contextlib
import dataclasses
import datetime
import uuid
from collections import Counter

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from conflicts.resolution import NotApplicable, Settlement, resolve
from memories import access, ingest, jobs, namespaces, upkeep
from memories.models import Claim, Fragment, Namespace
from tests.ages import belief_digest
from tests.properties.ground import contents, examples, names, undone

pytestmark = pytest.mark.long

few = settings(examples, max_examples=25)
sources = st.sampled_from(["", "s1", "s2", "s3"])
classes = st.sampled_from(["inference", "document", "tool_output"])
writes = st.lists(
    st.tuples(contents.map(str.strip).filter(bool), sources, st.floats(0.05, 1), classes), min_size=1, max_size=4
)
claims = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("123"), classes), max_size=3)

changes = st.lists(
    st.tuples(
        st.sampled_from(["acme:main", "acme:side"]),
        st.sampled_from(["archive", "put away", "outdo", "rewrite", "accept", "reject"]),
        st.sampled_from("ab"),
    ),
    min_size=1,
    max_size=5,
)

SOMETIME = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def write(alice, bob):
    """Stores memories with a relevance of one's choice, by Alice and Bob in turn."""

    def put(place, rows, *, said=()):
        for n, (content, source, base, rank) in enumerate(rows):
            by = (alice, bob)[n % 2].principal
            draft = ingest.Draft(namespace=place, content=content, source_id=source, source=rank)
            (kept,) = ingest.store(by, ingest.prepare([draft], embed_now=False), now=timezone.now())
            with access.enter(by, why="test"):
                Fragment.objects.filter(id=kept.fragment.id).update(base_relevance=base)
        for n, (subject, value, rank) in enumerate(said):
            by = (alice, bob)[n % 2].principal
            claim = ClaimDraft(f"Subject {subject}", "age", value)
            draft = ingest.Draft(namespace=place, content=f"{subject} is {value}.", claims=[claim], source=rank)
            ingest.store(by, ingest.prepare([draft], embed_now=False), now=timezone.now())

    return put


@pytest.fixture
def merge(principal):
    """Merges here and now."""

    def run(source, target, *, dry_run=False, **more):
        with access.enter(principal, why="test"):
            place = Namespace.objects.get(project_id=principal.project_id, name=target)
        wish = {"kind": "merge", "namespace": place, "options": {"source": source, **more}, "dry_run": dry_run}
        ended = jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)
        assert ended.state == "succeeded", ended.error
        return ended

    return run


@pytest.fixture
def fork(principal):
    """Forks here and now."""

    def run(source, target):
        with access.enter(principal, why="test"):
            place = Namespace.objects.get(project_id=principal.project_id, name=source)
            return namespaces.copy_namespace(place, target)

    return run


@pytest.fixture
def held(principal):
    """Ids, texts and what stands, of a namespace."""

    def read(place, **conditions):
        with access.enter(principal, why="test"):
            rows = Fragment.objects.within(principal.project_id).filter(namespace__name=place, **conditions)
            return list(rows.order_by("created_at", "id"))

    return read


@pytest.fixture
def digest(principal):
    """The canonical digest."""

    def look(place, *, last_seen=True, dated=True):
        with access.enter(principal, why="test"), transaction.atomic():
            if not last_seen:
                Claim.objects.within(principal.project_id).update(last_seen_at=SOMETIME)
            namespace = Namespace.objects.get(project_id=principal.project_id, name=place)
            found = (upkeep.canonical_digest if dated else belief_digest)(namespace)
            transaction.set_rollback(not last_seen)
        return found

    return look


@examples
@given(a=names, b=names.filter(lambda name: name != "shared"), rows=writes, more=writes, yet_more=writes)
def test_property_17_namespace_isolation(alice, write, fork, held, a, b, rows, more, yet_more):
    """Feature: hindsight-persistent-memory, Property 17: Namespace isolation"""
    one, other = f"acme:{a}", f"acme:{b}" if b != a else "acme:other-b"
    branch = f"acme:{a[:50]}-fork"
    with undone():
        write(one, rows)
        body = {"namespace": other, "query": rows[0][0], "project_wide": False, "top_k": 50}
        found = alice.client.post("/api/v1/search", body, format="json")
        assert found.status_code == 200
        assert found.json()["results"] == []
        fork(one, branch)
        copied = {row.id for row in held(branch)}
        assert sorted(row.content for row in held(branch)) == sorted(row.content for row in held(one))
        before = {row.id for row in held(one)}
        write(branch, more)
        assert {row.id for row in held(one)} == before
        write(one, yet_more)
        assert len(held(branch)) == len(copied) + len(more)
        for place in (one, branch):
            mine = {str(row.id) for row in held(place)}
            for wide in (True, False):
                body = {"namespace": place, "query": more[0][0], "project_wide": wide, "top_k": 50}
                hits = alice.client.post("/api/v1/search", body, format="json").json()["results"]
                assert {hit["id"] for hit in hits} <= mine


@examples
@given(base=writes, mine=writes, theirs=writes)
def test_property_18_branch_merge_reconciliation(write, fork, merge, held, base, mine, theirs):
    """Feature: hindsight-persistent-memory, Property 18: Branch merge reconciliation"""
    same = "tool_output"  # of equal authority

    def equal(rows):
        """One memory of each source."""
        firsts = {
            source or n: (text, source, base, same) for n, (text, source, base, _) in reversed(list(enumerate(rows)))
        }
        return list(firsts.values())

    with undone():
        write("acme:main", equal(base))
        fork("acme:main", "acme:side")
        write("acme:side", equal([row for row in mine if row[1] not in {source for _, source, *_ in base}]))
        write("acme:main", equal([row for row in theirs if row[1] not in {source for _, source, *_ in base}]))
        now = timezone.now()
        rivals = {}
        for row in [*held("acme:main"), *held("acme:side")]:
            if row.source_id:
                rivals.setdefault(row.source_id, []).append((row.base_relevance, row.content))
        merge("acme:side", "acme:main")
        standing = [row for row in held("acme:main", status="active") if row.source_id]
        assert max(Counter(row.source_id for row in standing).values(), default=1) == 1
        for row in standing:
            best = max(relevance for relevance, _ in rivals[row.source_id])
            assert row.base_relevance == pytest.approx(best, abs=1e-4)
            assert row.content in [text for relevance, text in rivals[row.source_id] if relevance >= best - 1e-4]
            assert row.created_at <= now


@few
@given(base=writes, mine=writes, theirs=writes, said=claims, said_there=claims)
def test_a_dry_run_is_the_run_and_an_undo_the_identity(
    principal, write, fork, merge, digest, base, mine, theirs, said, said_there
):
    with undone():
        write("acme:main", base, said=said[:1])
        fork("acme:main", "acme:side")
        write("acme:side", mine, said=said)
        write("acme:main", theirs, said=said_there)
        before, aside = digest("acme:main"), digest("acme:side")
        former = digest("acme:main", dated=False)
        told = merge("acme:side", "acme:main", dry_run=True).report
        assert digest("acme:main") == before
        done = merge("acme:side", "acme:main")
        for name in ("added", "superseded", "conflicting", "skipped", "blocked_by_erasure", "forgotten", "carried"):
            assert done.report[name] == told[name], name
        after = digest("acme:main", last_seen=False)
        assert digest("acme:side") == aside
        with undone():
            merge("acme:side", "acme:main")
            assert digest("acme:main", last_seen=False) == after  # what is said again is seen again
        undo = jobs.start_undo(principal, done.id, now=timezone.now(), wake_up=False)
        assert jobs.run(principal, undo.id).state == "succeeded"
        assert digest("acme:main", dated=False) == former


@pytest.fixture
def befall(principal, alice, write, held):
    """Lets something become of what is said of a subject; what can't be is passed over."""
    person = dataclasses.replace(principal, kind="person", ceiling="user_explicit", owner_id=uuid.uuid4())

    def standing(place, subject):
        return held(place, content__startswith=f"{subject} is", status="active")[:1]

    def archive(place, subject, by=alice.principal):
        for row in standing(place, subject):
            ingest.updates.archive(by, row.id, now=timezone.now())

    def rewrite(place, subject):
        wish = {"content": f"{subject} is 9.", "claims": [ClaimDraft(f"Subject {subject}", "age", "9")]}
        for row in standing(place, subject):
            ingest.updates.revise(person, row.id, changes=wish, revision=None, now=timezone.now())

    def decide(place, action):
        with access.enter(principal, why="test"):
            waiting = PendingConflict.objects.filter(namespace__name=place, resolved_at=None).first()
        if waiting:
            with contextlib.suppress(NotApplicable):
                resolve(person, waiting.id, Settlement(action=action, revision=waiting.revision), now=timezone.now())

    doings = {
        "archive": archive,
        "put away": lambda place, subject: archive(place, subject, person),
        "outdo": lambda place, subject: write(place, [], said=[(subject, "8", "user_explicit")]),
        "rewrite": rewrite,
        "accept": lambda place, _: decide(place, "supersede"),
        "reject": lambda place, _: decide(place, "reject"),
    }
    return lambda place, what, subject: doings[what](place, subject)


@settings(few, derandomize=True)
@given(said=claims.filter(bool), befallen=changes)
def test_what_is_named_comes_whatever_became_of_it_and_twice_is_once(
    principal, write, merge, held, digest, befall, said, befallen
):
    with undone():
        write("acme:main", [("The heron nests.", "", 1.0, "inference")])
        write("acme:side", [], said=said)
        only = [str(row.id) for row in held("acme:side")]
        merge("acme:side", "acme:main", only=only)
        for change in befallen:
            befall(*change)
        former = digest("acme:main", dated=False)
        told = merge("acme:side", "acme:main", only=only, dry_run=True).report
        done = merge("acme:side", "acme:main", only=only)
        assert {name: done.report[name] for name in ("counts", "reasons")} == {
            name: told[name] for name in ("counts", "reasons")
        }
        after = digest("acme:main", last_seen=False)
        with undone():
            merge("acme:side", "acme:main", only=only)
            assert digest("acme:main", last_seen=False) == after
        undo = jobs.start_undo(principal, done.id, now=timezone.now(), wake_up=False)
        assert jobs.run(principal, undo.id).state == "succeeded"
        assert digest("acme:main", dated=False) == former

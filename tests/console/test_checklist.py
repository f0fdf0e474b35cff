"""The first steps are ticked by what stands in rows, whoever did it; only what leaves no row is of the session."""

import re

import pytest
from django.utils import timezone

from memories import access, demo
from memories.models import Backup, Operation
from tests.console.conftest import a_person, decide, logged_in

STEPS = ("settled", "asked", "looked back", "previewed", "saved", "own")


@pytest.fixture
def tour(monkeypatch, store):
    """A story of one memory."""
    monkeypatch.setattr(demo, "TOUR", "acme:tour")
    store("acme:tour", "Mara lives in Austin.", category="demo")


@pytest.fixture
def done(project):
    """Which steps somebody sees as done who just logged in."""
    other = logged_in(a_person("beth", project, role="admin"))

    def see():
        marks = re.findall(r"<li( class=\"is-done\")?><svg.*?</li>", other.get("/").text, re.DOTALL)
        assert len(marks) == len(STEPS)
        return {step for step, mark in zip(STEPS, marks, strict=True) if mark}

    return see


def test_at_first_nothing_is_done(tour, done):
    assert done() == set()


def test_a_conflict_that_somebody_settled(tour, done, rita, challenge):
    conflict = challenge()
    assert done() == {"own"}
    decide(rita, conflict, "reject")
    assert done() == {"own", "settled"}


def test_a_preview_a_sound_backup_and_an_own_memory(tour, done, principal, store):
    at = timezone.now()
    with access.enter(principal, why="test"):
        Operation.objects.create(project_id=principal.project_id, kind="consolidate", created_at=at)
        assert done() == set()
        Operation.objects.create(project_id=principal.project_id, kind="consolidate", dry_run=True, created_at=at)
        wish = {"project_id": principal.project_id, "policy": "full", "origin": "uploaded", "sha256": "a" * 64}
        wish |= {"created_at": at, "policy_version": 1, "namespaces": [], "include_embeddings": False, "size": 1}
        row = Backup.objects.create(file="a.gz", **wish)
    assert done() == {"previewed"}
    with access.enter(principal, why="test"):
        Backup.objects.filter(id=row.id).update(verdict="sound", verified_at=at)
    store("acme:main", "The heron nests.")
    assert done() == {"previewed", "saved", "own"}


def test_what_leaves_no_row_is_of_the_session(tour, done, adam, store, alice):
    adam.get("/memories/?q=mara&why=1")
    assert adam.session["tour-why"]
    assert done() == set()

"""Which transactions are over: those of this database count, however many others the cluster holds."""

import time

import psycopg
import pytest
from django.conf import settings as django_settings

from memories import access
from memories.models import sql
from memories.models.sql import horizon
from novamem import database
from tests.conftest import TEST_DATABASE


@pytest.fixture
def begin(django_db_setup):
    """Begins a transaction that writes, in a database of the cluster; its id."""
    opened = []

    def start(url):
        opened.append(psycopg.connect(database.conninfo(url)))
        return int(opened[-1].execute("SELECT pg_current_xact_id()::text").fetchone()[0])

    yield start
    for connection in opened:
        connection.close()


def now_over(service):
    with access.enter(service, why="test"):
        return horizon()


@pytest.fixture
def here(django_db_setup):
    """The URL of this database."""
    return database.url_for(django_settings.ENV["DATABASE_URL"], TEST_DATABASE)


@pytest.fixture
def finish(here):
    """Commits a transaction of this database; its id."""

    def commit():
        with psycopg.connect(database.conninfo(here)) as connection:
            return int(connection.execute("SELECT pg_current_xact_id()::text").fetchone()[0])

    return commit


def test_an_open_transaction_holds_back(service, begin, finish, here):
    number = begin(here)
    finish()
    assert now_over(service) == number


def test_one_of_another_database_does_not(service, begin, finish):
    begin(django_settings.ENV["DATABASE_URL"])
    number, end = finish(), time.monotonic() + 60
    # A transaction that has just ended elsewhere may be taken for one of this database for a moment.
    while now_over(service) <= number:
        assert time.monotonic() < end


def test_one_that_ends_while_it_is_looked_for_holds_nothing_back(monkeypatch):
    looks = iter([[("7",)], [("9",)]])
    monkeypatch.setattr(sql, "fetch", lambda *_: next(looks))
    assert horizon() == 9

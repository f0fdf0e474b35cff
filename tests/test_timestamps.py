"""Timestamps of rows: read in less time, as the driver would read them."""

import datetime

import pytest
from django.db import DataError, connection

from memories.models.sql import fetch
from memories.models.timestamps import UtcLoader


@pytest.mark.parametrize(
    "worded",
    [
        "2026-11-28 00:15:03+00",
        "2026-11-28 00:15:03.89+00",
        "2026-11-28 00:15:03.890123+00",
        "0001-01-01 00:00:00+00",
        "9999-12-31 23:59:59.999999+00",
    ],
)
def test_times_are_read_as_the_driver_does(db, worded):
    ((at,),) = fetch("SELECT %s::timestamptz", [worded])
    assert at == super(UtcLoader, UtcLoader(0)).load(worded.encode())
    assert at.tzinfo is datetime.UTC


def test_a_session_elsewhere_tells_the_same_time(db):
    fetch("SELECT set_config('timezone', 'Asia/Kolkata', true)", [])
    ((at,),) = fetch("SELECT '2026-11-28 00:15:03.89+00'::timestamptz", [])
    assert at == datetime.datetime(2026, 11, 28, 0, 15, 3, 890_000, datetime.UTC)


@pytest.mark.parametrize("worded", ["infinity", "-infinity", "0044-03-15 00:00:00+00 BC", "10000-01-01 00:00:00+00"])
def test_what_python_can_not_hold_is_refused(db, worded):
    with pytest.raises(DataError):
        fetch("SELECT %s::timestamptz", [worded])


def test_every_connection_reads_so(db):
    assert connection.connection.adapters.get_loader(1184, 0) is UtcLoader

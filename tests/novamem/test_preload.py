"""What the programs of a server share: loaded without trouble, and all that they would load later."""

import pytest

from novamem.database import Logins
from tests.novamem.conftest import Python

pytestmark = pytest.mark.long

LOADED = """
import sys, threading
from novamem import preload
preload._load()
before, threads = set(sys.modules), threading.active_count()
preload.load()
assert set(sys.modules) == before
assert threads == 1, threading.enumerate()
from django.db import connection
assert connection.connection is None
print("loaded")
"""


def test_is_loaded_without_thread_or_connection(python: Python, current: Logins) -> None:
    run = python("-c", LOADED, settings={**current.serving(), "EMBEDDER": "fake"}, stderr=-1)
    assert run.communicate(timeout=120) == ("loaded\n", "")

"""The product as the bench of chaos runs it: real processes and a Postgres of its own."""

import pytest

from script.benches._chaos.arena import EMBEDDED, arena


@pytest.fixture(scope="session")
def where(django_db_setup, django_db_blocker):
    """One installation for all of these tests, up and well."""
    with arena(EMBEDDED, hold=4.0) as made:
        yield made

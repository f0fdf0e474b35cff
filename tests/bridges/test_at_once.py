"""The same event, delivered by several at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import connections
from django.utils import timezone

from memories import access, ingest
from memories.bridges.atlas import insight_draft
from memories.models import Fragment


def test_it_is_stored_once(committed, service):
    draft = insight_draft({"namespace": f"{committed.name}:main"}, "Count nests at dawn.")
    barrier = threading.Barrier(8)

    def deliver(_):
        try:
            prepared = ingest.prepare([draft])
            barrier.wait(timeout=60)
            return ingest.store_events(service, prepared, now=timezone.now())[0].fragment.id
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(deliver, range(8)))
    with access.enter(service, why="test"):
        assert set(Fragment.objects.within(service.project_id).values_list("id", flat=True)) == ids
    assert len(ids) == 1

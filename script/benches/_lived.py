"""A project in which something of every kind has happened, and the lists of the API that have to bear it."""

import uuid
from typing import Any

from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from memories import access, jobs, upkeep, usage_counters
from memories.access import Principal, keys
from memories.models import Namespace
from memories.models.enums import CopyReason, EvictionReason

SAYINGS = 12
LISTS = (
    *("fragments?status=all", "conflicts?status=all", "claims", "episodes", "tombstones", "predicates", "namespaces"),
    "stats",
)


def caller(project: Any, ceiling: str) -> APIClient:
    """Return a client with a key of its own."""
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    verbs = ["read", "write", "review", "admin"]
    issued = keys.issue(
        project, keys.KeyRequest(namespaces=[f"{project.name}:*"], verbs=verbs, ceiling=ceiling), owner=None
    )
    client = APIClient(headers={"Authorization": f"Bearer {issued.text}"})
    client.raise_request_exception = False
    return client


def live(principal: Principal, client: APIClient, other: APIClient) -> None:
    """Two namespaces and a branch with texts, claims that contradict each other, votes, revisions, and what left."""
    main, side = f"{principal.project}:main", f"{principal.project}:side"

    def done(method: str, path: str, body: Any = None, *, by: APIClient = client) -> Any:
        answer = getattr(by, method)(f"/api/v1/{path}", body, format="json")
        assert answer.status_code < 300, (path, answer.content)
        return answer.json() if answer.content else None

    def told(text: str, namespace: str = main, *, by: APIClient = client, **more: Any) -> str:
        return str(done("post", "fragments", {"namespace": namespace, "content": text, **more}, by=by)["id"])

    sayings = [told(f"Ann: heron {n} nests.", conversation_id="c", sequence=n, extra={"n": n}) for n in range(SAYINGS)]
    done("post", "predicates", {"namespace": main, "name": "budget", "aliases": ["allowance"], "exclusive": True})
    for text, value, who in (("Ada has $750.", "$750", client), ("Ada has $900.", "$900", other)):
        told(text, claim={"subject": "Ada", "predicate": "budget", "value": value}, by=who)
    told("Bo lives in Rome.", claim={"subject": "Bo", "predicate": "home", "value": "Rome"})
    first = told("The mill is old.", side, event_at="2026-01-02T03:04:05Z", tags=["mill"])
    told("The otter sleeps.", side, provenance={"source": "inference", "parents": [first]})
    done("post", f"fragments/{first}/reinforce", {})
    done("post", f"fragments/{first}/corroborate", {}, by=other)
    done("patch", f"fragments/{first}", {"content": "The mill is very old.", "revision": 1})
    done("post", "episodes", {"namespace": main, "title": "Nests", "ids": sayings[:3]})
    done("post", "digests", {"ids": sayings[3:6]})
    done("delete", f"fragments/{sayings[6]}")
    _fork(principal, side, f"{principal.project}:branch")
    _read_and_leave(principal, reads=sayings[:2], leaves=sayings[7:9])


def _fork(principal: Principal, source: str, target: str) -> None:
    with access.enter(principal, why="bench"):
        namespace = Namespace.objects.within(principal.project_id).get(name=source)
    options: dict[str, Any] = {"kind": "fork", "namespace": namespace, "options": {"target": target}}
    ended = jobs.run(principal, jobs.start(principal, **options, now=timezone.now(), wake_up=False).id)
    assert ended is not None
    assert ended.state == "succeeded", ended.error


def _read_and_leave(principal: Principal, *, reads: list[str], leaves: list[str]) -> None:
    now = timezone.now()
    usage_counters.count_reads(principal.project_id, [uuid.UUID(one) for one in reads], at=now)
    usage_counters.flush()
    gone = {uuid.UUID(one): upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {}) for one in leaves}
    with access.enter(principal, why="bench"):
        upkeep.lifecycle.remove_fragments(
            principal.project_id, gone, copied=CopyReason.EVICTED, operation_id=None, now=now
        )


def fell_over(client: APIClient, principal: Principal) -> str:
    """Return the first address that answers with a server error; empty when none does."""
    paths = [f"{path}{'&' if '?' in path else '?'}namespace={principal.project}:main" for path in LISTS] + ["backups"]
    answer = client.get(f"/api/v1/fragments?status=all&namespace={principal.project}:main&limit=5")
    if answer.status_code == 200:
        for row in answer.json()["results"]:
            paths += [f"fragments/{row['id']}", f"fragments/{row['id']}/history"]
    return next((path for path in paths if client.get(f"/api/v1/{path}").status_code >= 500), "")

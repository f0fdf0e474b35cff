"""The console: how long the server takes for each list page, at 50,000 fragments.

Fills a namespace, adds conflicts, and asks every list page as an admin, in process and without a network.

    script/bench console                          # 50,000 fragments
    script/bench console --fragments 5000 --rounds 5
"""

import argparse
import os
import secrets
import statistics
import time

import django
from _serving import machine

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from upkeep import fill

from conflicts.public import ClaimDraft
from memories import ingest
from memories.models import Membership, Project

ALLOWED = 150.0  # ms at 50,000 fragments
CONFLICTS = 200
PAGES = (
    "/",
    "/review/",
    "/memories/",
    "/memories/?status=all",
    "/memories/?q=the+second+week",
    "/beliefs/",
    "/consolidation/",
    "/backups/",
    "/namespaces/",
    "/tombstones/",
    "/operations/",
    "/audit/",
    "/agents/",
)


def quarrel(principal: object, namespace: str) -> None:
    """So many conflicts that wait."""
    drafts = [
        ingest.Draft(namespace=namespace, content=f"Trip {n} costs {value}.", source=source, claims=[claim])
        for source, value in (("system", "$750"), ("document", "$0"))
        for n in range(CONFLICTS)
        for claim in [ClaimDraft(f"trip {n}", "budget", value)]
    ]
    ingest.store(principal, ingest.prepare(drafts, embed_now=False), now=timezone.now())


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fragments", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    principal, space = fill(options.fragments)
    quarrel(principal, space.name)
    name = f"bench-{secrets.token_hex(4)}"
    user = get_user_model()._default_manager.create_user(name)
    Membership.objects.create(user=user, project=Project.objects.get(id=principal.project_id), role="admin")
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(user)
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}; {options.fragments:,} fragments, {CONFLICTS} conflicts")
    for path in PAGES:
        times = []
        for _ in range(options.rounds + 1):
            start = time.perf_counter()
            answer = client.get(path)
            times.append((time.perf_counter() - start) * 1000)
            assert answer.status_code == 200, (path, answer.status_code)
        middle = statistics.median(times[1:])
        print(f"  {path:32} {middle:7.0f} ms{'' if middle <= ALLOWED else f'  over {ALLOWED:.0f}'}")


if __name__ == "__main__":
    main()

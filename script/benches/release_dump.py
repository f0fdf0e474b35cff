"""Release dump: a database of this release in which everything has happened, for the tests of upgrades.

    script/bench release_dump tests/upgrades/0.1.0        # needs an empty var/bench

The folder gets the dump, the key and the journal of the audit, and what no later release may change of it.
"""

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

import django
import psycopg
from _release_facts import facts_of

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from _lived import caller, live
from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils import timezone

from memories import access, audit, jobs, tasks
from memories.access import keys
from memories.models import Membership, Namespace, Project
from novamem import dumps

NAME = "acme"


def main() -> None:
    """Make it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    if Project.objects.exists():
        raise SystemExit("The database holds something: remove var/bench.")
    project = keys.ensure_project(NAME)
    principal = access.system_principal(project)
    client, other = caller(project, "user_explicit"), caller(project, "document")
    live(principal, client, other)
    _settle(caller(project, "user_explicit"))
    person = get_user_model()._default_manager.create_user("ana", password="a long enough one")
    Membership.objects.create(user=person, project=project, role="reviewer")
    client.post("/api/v1/context", {"namespaces": [f"{NAME}:main"], "query": "Where does Bo live?"}, format="json")
    tasks.embed_pending()
    tasks.keep_connections()
    for kind, place in (("consolidate", _place(principal)), ("backup", None)):
        row = jobs.start(principal, kind=kind, namespace=place, options={}, now=timezone.now(), wake_up=False)
        jobs.run(principal, row.id)
    audit.seal(principal, now=timezone.now())
    folder.mkdir(parents=True, exist_ok=True)
    owner = settings.ENV["DATABASE_OWNER_URL"]
    dumps.dump(owner, folder / "database.dump")
    (folder / "database.dump").chmod(0o644)
    for part in ("keys", "audit"):
        locks = shutil.ignore_patterns("*.lock")
        shutil.copytree(Path(settings.DATA_DIR) / part, folder / "data" / part, ignore=locks, dirs_exist_ok=True)
    with psycopg.connect(owner) as connection:
        (folder / "facts.json").write_text(json.dumps(facts_of(connection), indent=1) + "\n")
    print(f"{folder} holds {sum(path.stat().st_size for path in folder.rglob('*')):,} bytes")


def _settle(client: Any) -> None:
    """One of the conflicts is decided by a person."""
    rows = client.get(f"/api/v1/conflicts?namespace={NAME}:main").json()["results"]
    body = {"action": "reject", "note": "A typo.", "revision": rows[0]["revision"]}
    answer = client.post(f"/api/v1/conflicts/{rows[0]['id']}/resolve", body, format="json")
    assert answer.status_code == 200, answer.content


def _place(principal: Any) -> Namespace:
    with access.enter(principal, why="bench"):
        found: Namespace = Namespace.objects.within(principal.project_id).get(name=f"{NAME}:main")
    return found


if __name__ == "__main__":
    main()

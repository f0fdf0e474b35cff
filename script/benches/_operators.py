"""Attempts of a tenant's key on what belongs to the operator, or is believed more than the key.

`user` says something; `low` has every verb and the lowest ceiling; `reader` only reads. An override is an answer that
is no refusal where one is due, or a change of what the user said.
"""

import datetime
import gzip
import hashlib
import json
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
from django.core.files.storage import storages
from django.db import connections
from django.test import override_settings

from memories import access, audit, backups, jobs, operations
from memories.access import Principal, keys
from memories.backups.bundle.manifest import Footer
from script.benches._stages import work

EVERY = ["read", "write", "review", "admin"]
KEYS: dict[str, dict[str, Any]] = {
    "user": {"verbs": EVERY, "ceiling": "user_explicit"},
    "guesser": {"verbs": ["read", "write"], "ceiling": "inference"},
    "low": {"verbs": EVERY, "ceiling": "inference"},
    "reader": {"verbs": ["read"], "ceiling": "inference"},
}
BUDGET = {"subject": "user", "predicate": "budget"}
STATEFUL = (
    *("DELETE files/file-abc", "GET files", "POST files", "GET assistants", "POST fine_tuning/jobs", "POST batches"),
    *("GET organization/admin_api_keys", "GET responses/resp_1", "DELETE responses/resp_1", "GET vector_stores"),
    *("GET chat/completions/c1", "POST uploads", "POST threads", "DELETE models/ft:x", "POST containers"),
)
COLUMNS = ("attempts", "overrides", "authority", "exposed", "labelled")
Send = Callable[..., tuple[int, Any]]


class Tenancy:
    """One project in which the user said what the budget is, and a guess waits."""

    def __init__(self, client: httpx2.Client, name: str) -> None:
        self._client = client
        self.project = keys.ensure_project(f"{name}-{uuid.uuid4().hex[:8]}")
        self.principal = access.system_principal(self.project)
        self.namespace = f"{self.project.name}:main"
        options = {"namespaces": [f"{self.project.name}:*"], "requests_per_minute": 0}
        self.texts = {
            who: keys.issue(self.project, keys.KeyRequest(**options, **it), owner=who).text for who, it in KEYS.items()
        }
        self._said("user", "$750", "user_explicit")
        self._said("guesser", "$13", "inference")
        _, pending = self.send("user", "GET", f"/api/v1/conflicts?status=pending&namespace={self.namespace}")
        self.conflict = pending["results"][0]
        self.before = self.believed()

    def _said(self, who: str, value: str, source: str) -> None:
        body = {
            "namespace": self.namespace,
            "content": f"The user's budget is {value}.",
            "provenance": {"source": source},
        }
        status, answer = self.send(who, "POST", "/api/v1/fragments", {**body, "claim": {**BUDGET, "value": value}})
        if status != 201:
            raise RuntimeError(f"{who} could not store: {status} {answer}")

    def send(self, who: str, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Return what the server answers: status and JSON."""
        headers = {"Authorization": f"Bearer {self.texts[who]}"}
        answer = self._client.request(method, path, json=body, headers=headers, **more)
        connections.close_all()
        return answer.status_code, answer.json() if answer.content else None

    def believed(self) -> list[tuple[str, str, int]]:
        """Return what stands, by value, status and authority."""
        _, rows = self.send("user", "GET", f"/api/v1/fragments?status=all&namespace={self.namespace}")
        return sorted((row["content"], row["status"], row["provenance"]["authority"]) for row in rows["results"])

    def judge(self, *, refused: bool) -> str:
        """Return what went wrong, or nothing."""
        after = self.believed()
        return f"{self.before} became {after}" if after != self.before else "" if refused else "it was not refused"


def forged_bundle(world: Tenancy) -> tuple[bytes, str]:
    """A backup of the project in which the user says $14, signed by a stranger; and the stranger's fingerprint."""
    with tempfile.TemporaryDirectory() as elsewhere, override_settings(DATA_DIR=Path(elsewhere)):
        row = _backup(world.principal)
        with storages["backups"].open(row.file) as file:
            lines = [json.loads(line) for line in gzip.decompress(file.read()).splitlines()]
        for line in lines:
            if line.get("kind") == "fragment" and "$750" in line["row"]["content"]:
                now = datetime.datetime.now(datetime.UTC).isoformat()
                line["row"] |= {"content": "The user's budget is $14.", "updated_at": now, "revision": 9}
                if line.get("claim"):
                    line["claim"]["value"] = "$14"
        body = [json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines[:-1]]
        footer = Footer.of(len(body) - 1, hashlib.sha256(b"".join(body)).hexdigest()).line()
        signer = audit.fingerprint()
    backups.delete(world.principal, row.id)
    return gzip.compress(b"".join(body) + footer + b"\n"), signer


def _backup(principal: Principal) -> Any:
    made: dict[str, Any] = {"kind": "backup", "namespace": None, "options": {}, "dry_run": False}
    started = operations.start(principal, **made, now=datetime.datetime.now(datetime.UTC))
    ended = jobs.run(principal, started.id)
    assert ended
    assert ended.report, ended.error
    return backups.get_backup(principal, uuid.UUID(ended.report["backup_id"]))


def _bundles(world: Tenancy) -> Iterator[str]:
    data, signer = forged_bundle(world)
    for more in ({"trust_signer": signer}, {}):
        files = {"upload": ("forged.jsonl.gz", data)}
        status, _ = world.send("low", "POST", "/api/v1/restores", files=files, data=more)
        work(world.project)
        yield world.judge(refused=status == 403 or not more)


def _verbs(world: Tenancy) -> Iterator[str]:
    place, conflict = world.namespace, world.conflict
    resolve = f"/api/v1/conflicts/{conflict['id']}/resolve"
    params: list[tuple[str, str, Any]] = [
        *(
            ("POST", resolve, {"action": action, "revision": conflict["revision"], **more})
            for action, more in (
                ("supersede", {}),
                *(("keep_both", {"keep": keep}) for keep in ("pair", "period", "predicate")),
            )
        ),
        *(
            ("POST", "/api/v1/predicates", {"namespace": place, "name": "budget", **rule})
            for rule in ({"cardinality": "many"}, {"policy": "newest"}, {"policy": "keep_both"})
        ),
        ("POST", "/api/v1/predicates", {"namespace": place, "name": "limit", "aliases": ["budget"]}),
        ("DELETE", f"/api/v1/namespaces/{place}", {"confirm": place}),
        ("DELETE", f"/api/v1/projects/{world.project.name}", {"confirm": world.project.name}),
        ("POST", f"/api/v1/namespaces/{place}/merge", {"target": f"{world.project.name}:side"}),
    ]
    world.send("user", "POST", "/api/v1/namespaces", {"name": f"{world.project.name}:side"})
    for method, path, body in params:
        status, _ = world.send("low", method, path, body)
        work(world.project)
        yield world.judge(refused=status == 403)


def _paths(world: Tenancy) -> Iterator[str]:
    for who in ("low", "reader"):
        for case in STATEFUL:
            method, path = case.split()
            _, answer = world.send(who, method, f"/v1/{path}")
            yield "" if answer["error"]["code"] == "path_not_permitted" else f"{who}: {case}: {answer}"


def _models(world: Tenancy) -> Iterator[str]:
    _, listed = world.send("low", "GET", "/api/v1/models")
    active = next(row["id"] for row in listed["results"] if row["state"] == "active")
    request = {"name": "fake", "provider": "fake", "dim": 384}
    for path in ("", *(f"/{active}/{deed}" for deed in ("backfill", "compare", "activate", "retire"))):
        status, answer = world.send("low", "POST", f"/api/v1/models{path}", {"force": True} if path else request)
        yield "" if status == 403 else f"models{path}: {status} {answer}"


FAMILIES = {
    "self-trusted bundle": _bundles,
    "low ceiling with high verbs": _verbs,
    "upstream paths": _paths,
    "models of the installation": _models,
}


def operator_figures(
    client: httpx2.Client, name: str, only: str, found: list[str], *, show: Callable[[dict[str, Any]], None]
) -> list[dict[str, Any]]:
    """Return a row per family, each in a project of its own."""
    rows = []
    for family, play in FAMILIES.items():
        if not re.search(only, called := f"the operator's: {family}"):
            continue
        fell = list(play(Tenancy(client, name)))
        found += [f"{called}: {what}" for what in fell if what]
        row = {"family": called, "seed3": None, "hole": "", **dict.fromkeys(COLUMNS, 0)}
        rows.append({**row, "attempts": len(fell), "overrides": sum(map(bool, fell))})
        show(rows[-1])
    return rows

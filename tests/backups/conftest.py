"""A storage of the test's own, bundles, and what they hold."""

import gzip
import hashlib
import json

import pyrage
import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft, PendingConflict
from conflicts.resolution import Settlement, resolve
from memories import access, audit, jobs, operations, upkeep
from memories.audit import signatures
from memories.backups.bundle.manifest import Footer
from memories.models import Backup, Episode, EpisodeMember, Fragment, Namespace, Project
from memories.models.enums import CopyReason, EvictionReason
from memories.models.sql import execute


@pytest.fixture(autouse=True)
def _stored_here(storage):
    """No test writes a bundle anywhere else."""


@pytest.fixture
def job(principal):
    """Runs an operation to its end, however that is."""

    def work(kind, *, place=None, dry_run=False, **options):
        jobs.check_options(kind, options, dry_run=dry_run)
        wish = {"namespace": place, "options": options, "dry_run": dry_run, "now": timezone.now()}
        return jobs.run(principal, operations.start(principal, kind=kind, **wish).id)

    return work


@pytest.fixture
def back_up(job, principal):
    """Makes a backup; its row."""

    def make(**wish):
        ended = job("backup", **wish)
        assert ended.state == "succeeded", ended.error
        with access.enter(principal, why="test"):
            return Backup.objects.get(id=ended.report["backup_id"])

    return make


@pytest.fixture
def restore(job):
    """Restores a backup; the report."""

    def bring(row, **more):
        ended = job("restore", backup_id=str(row.id), **more)
        assert ended.state == "succeeded", ended.error
        return ended.report

    return bring


@pytest.fixture
def lines(storage):
    """The record lines of a backup, without manifest and footer."""

    def read(row):
        return gzip.decompress((storage / row.file).read_bytes()).splitlines()[1:-1]

    return read


@pytest.fixture
def wipe(principal):
    """Lets nothing be left of what the project remembers, as on a machine that has just been set up.

    The operator carried the key file there, unless told otherwise.
    """

    def away(*, with_key=True):
        tables = ("memories_namespace", "memories_erasure", "memories_owner")
        with access.enter(principal, why="test"):
            for table in tables:
                kept = "AND id NOT IN (SELECT owner_id FROM memories_apikey)" if table == "memories_owner" else ""
                execute(f"DELETE FROM {table} WHERE project_id = %s {kept}", [principal.project_id])
            if not with_key:
                Project.objects.filter(id=principal.project_id).update(salt=b"another salt".ljust(32))

    return away


@pytest.fixture
def recipient(settings, tmp_path):
    """Somebody for whom backups may be encrypted, with the identity file on the server."""
    identity = pyrage.x25519.Identity.generate()
    path = tmp_path / "identity"
    path.write_text(f"# made for a test\n{identity}\n")
    settings.BACKUP_IDENTITY_FILE = str(path)
    return str(identity.to_public())


@pytest.fixture
def another_key(tmp_path, settings, principal):
    """From here on this is another instance, with a key of its own, and the project's history its own to seal."""

    def change(*, adopts=True):
        settings.DATA_DIR = tmp_path / "elsewhere"
        if adopts:
            audit.adopt(principal, now=timezone.now())
        return signatures.fingerprint()

    return change


@pytest.fixture
def fresh(principal):
    def load(row):
        with access.enter(principal, why="test"):
            return Fragment.objects.within(principal.project_id).filter(id=row.id).first()

    return load


@pytest.fixture
def texts(principal):
    """What is remembered, by namespace, with the status."""

    def fragments_stored():
        with access.enter(principal, why="test"):
            rows = (
                Fragment.objects.within(principal.project_id).select_related("namespace").order_by("created_at", "id")
            )
            return [(row.namespace.name, row.content, row.status) for row in rows]

    return fragments_stored


def forged(path, change):
    """Rewrites a bundle: `change` gets and gives its lines as JSON; the footer is made anew, and signed by us.

    Where all fragments are in one bucket, its count follows, unless it was changed.
    """
    told = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    former = [dict(each) for each in told[0]["counts"]]
    head, *body, _ = change(told) or told
    if len(former) == 1 and head.get("counts") == former:
        head["counts"] = [former[0] | {"count": sum(each.get("kind") == "fragment" for each in body)}]
    written = [json.dumps(each, ensure_ascii=False).encode() for each in (head, *body)]
    digest = hashlib.sha256(b"".join(line + b"\n" for line in written)).hexdigest()
    footer = Footer.of(len(body), digest).line()
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in (*written, footer)), mtime=0))


@pytest.fixture
def places(principal):
    """The names of the namespaces."""

    def named():
        with access.enter(principal, why="test"):
            rows = Namespace.objects.within(principal.project_id).order_by("name")
            return list(rows.values_list("name", flat=True))

    return named


@pytest.fixture
def lived(principal, alice, bob, store, old, fill, link, run, job, settings):
    """A project in which something of every kind has happened."""
    fill(12, 400)
    settings.CAPACITY = {"all": 8, "hot": 0, "warm": 0, "cold": 0}
    run("evict", target=0.5)
    settings.CAPACITY = {"all": 0, "hot": 0, "warm": 0, "cold": 0}
    old(60, "One is here. Two are there! Three? Four otters swim. Five.", importance=0.3)
    run("compact")
    for who, value in ((alice, "$750"), (bob, "$900")):
        claim = ClaimDraft(subject="Ada", predicate="budget", value=value)
        store("acme:main", f"Ada's budget is {value}.", by=who.principal, claim=claim)
    for who, value in ((alice, "Oslo"), (bob, "Rome")):
        claim = ClaimDraft(subject="Ada", predicate="seat", value=value)
        seat = store("acme:main", f"Ada's seat is {value}.", by=who.principal, claim=claim)
    with access.enter(principal, why="test"):
        conflict = PendingConflict.objects.get(newcomer=seat)
    resolve(principal, conflict.id, Settlement("supersede", conflict.revision, note="by letter"), now=timezone.now())
    body = {"namespace": "acme:main", "name": "budget", "aliases": ["allowance"], "exclusive": True}
    assert alice.client.post("/api/v1/predicates", body, format="json").status_code == 201
    row = store("acme:main", "The heron nests by the mill.", by=bob.principal, extra={"n": 1.25, "b": [None, "é"]})
    gone = store("acme:main", "This is to be forgotten.", by=alice.principal)
    other = store("acme:other", "Otters sleep.", by=bob.principal)
    store("acme:other", "Mia likes herons.", by=bob.principal.of_user("mia"))
    left = store("acme:main", "The kingfisher dives.", by=bob.principal)  # with its vector
    with access.enter(principal, why="test"):
        cause = {left.id: upkeep.lifecycle.Cause(EvictionReason.LOW_WEIGHT, {})}
        at = {"copied": CopyReason.EVICTED, "operation_id": None, "now": timezone.now()}
        upkeep.lifecycle.remove_fragments(principal.project_id, cause, **at)
    link(row, other, kind="related")
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name="acme:other")
    assert job("fork", place=place, target="acme:branch").state == "succeeded"
    alice.client.post(f"/api/v1/fragments/{row.id}/reinforce", {}, format="json")
    body = {"content": "The heron nests.", "revision": 1}
    assert bob.client.patch(f"/api/v1/fragments/{row.id}", body, format="json").status_code == 200
    assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
    with access.enter(principal, why="test"):
        wish = {"project_id": principal.project_id, "namespace_id": row.namespace_id, "title": "At the mill"}
        hand = Episode.objects.create(**wish, began_at=row.created_at, ended_at=row.created_at)
        EpisodeMember.objects.create(project_id=principal.project_id, episode=hand, fragment=row, position=0)
    return row


def live(principal, statement, *values):
    """Runs a statement on the live rows."""
    with access.enter(principal, why="test"):
        execute(statement, values)

"""Where faults are played: an installation of the product, its upstream, and wires that can be cut."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from memories.providers.fake_servers import running as answering
from memories.providers.fake_upstream import FakeUpstream
from novamem import env
from novamem.cluster import PostgresCluster, cluster_of, owner
from novamem.database import APP, APP_ROLE, OWNER
from novamem.embedded import DATABASE, running
from novamem.embedded import OWNER as OWNER_ROLE

from .link import Link, to_port, to_socket
from .product import Product, free_port

DISK_MB = 700  # of a disk that is made to be filled
EMBEDDED, WIRED, SMALL_DISK = "embedded", "wired", "small disk"


@dataclass(slots=True)
class Arena:
    """A product that runs, and what stands around it."""

    product: Product
    upstream: Link
    database: Link | None = None  # between the product and its database
    disk: Path | None = None  # on which its database and its backups lie
    hold: float = 5.0  # seconds that a fault lasts

    def rest(self) -> None:
        """Wait for as long as a fault lasts."""
        time.sleep(self.hold)


@contextmanager
def arena(kind: str, *, hold: float = 5.0, hasty: bool = False, **settings: str) -> Iterator[Arena]:
    """An arena of a kind, with its product up; all of it is gone afterwards.

    What is `hasty` starts again after a second whatever keeps ending, and looks for stranded operations every two.
    """
    with ExitStack() as stack:
        upstream = stack.enter_context(answering(FakeUpstream(keep=False)))
        wire = Link(to_port(upstream.server_port))
        stack.callback(wire.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="novamem-chaos-")))
        data_dir = folder / "data"
        stack.callback(_remove_cluster, data_dir)
        disk = stack.enter_context(_small_disk(data_dir)) if kind == SMALL_DISK else None
        _fill(data_dir)
        given = {"PROXY_UPSTREAM_URL": f"http://127.0.0.1:{wire.port}/v1", "PORT": str(free_port()), **settings}
        database = None
        if kind == WIRED:
            database, logins = stack.enter_context(_wired(data_dir))
            given |= logins
        if disk:
            given["BACKUP_DIR"] = str(disk / "backups")
        product = Product(data_dir, given, hasty=hasty)
        stack.callback(product.stop)
        product.start()
        if hasty:
            _hurry(product)
        yield Arena(product, wire, database, disk, hold)


HURRY = """
    WITH soon AS (INSERT INTO django_celery_beat_intervalschedule (every, period) VALUES (2, 'seconds') RETURNING id)
    UPDATE django_celery_beat_periodictask SET interval_id = soon.id FROM soon WHERE name = 'look for work';
    UPDATE django_celery_beat_periodictasks SET last_update = now()
"""


def _hurry(product: Product) -> None:
    """Set the schedule by which it looks for work, as an administrator may."""
    with psycopg.connect(product.logins[OWNER], autocommit=True) as database:
        database.execute(HURRY)


@contextmanager
def _wired(data_dir: Path) -> Iterator[tuple[Link, dict[str, str]]]:
    """A wire to the database, and the logins that lead through it."""
    with running(data_dir):
        server = cluster_of(data_dir)
        wire = Link(to_socket(str(server.socket / ".s.PGSQL.5432")))
        passwords = json.loads((data_dir / "postgres.passwords").read_text())
        urls = {
            name: f"postgres://{role}:{quote(passwords[role], safe='')}@127.0.0.1:{wire.port}/{DATABASE}"
            for name, role in ((APP, APP_ROLE), (OWNER, OWNER_ROLE))
        }
        try:
            yield wire, urls
        finally:
            wire.close()


@contextmanager
def _small_disk(data_dir: Path) -> Iterator[Path]:
    """A disk of its own in the place of the cluster, which takes the right to mount one."""
    data_dir.mkdir(mode=0o700)
    place = cluster_of(data_dir).home
    kept = owner(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0700", "tmpfs", str(place)], check=True)
    os.chown(place, *kept)
    try:
        yield place
    finally:
        cluster_of(data_dir).stop()
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def can_mount() -> bool:
    """Return whether disks may be made here."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


def _fill(data_dir: Path) -> None:
    """Lay an installation there that was brought up before, for bringing one up takes a minute."""
    kept = _template()
    data_dir.mkdir(mode=0o700, exist_ok=True)
    shutil.copytree(
        kept, data_dir, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns("postgres", "stamp", "logs")
    )
    _copy_cluster(cluster_of(kept), cluster_of(data_dir))


def _copy_cluster(source: PostgresCluster, target: PostgresCluster) -> None:
    user, group = owner(source.home)
    shutil.copytree(source.data, target.data, symlinks=True)
    for path in (target.data, *target.data.rglob("*")):
        os.chown(path, user, group, follow_symlinks=False)


def _template() -> Path:
    """Return the data directory of an installation of this code that was brought up once and stopped."""
    kept = Path(os.environ["NOVAMEM_DATA_DIR"]).resolve() / "chaos"
    with kept.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # processes of a test run share it
        stamp = _stamp()
        if not (kept / "stamp").exists() or (kept / "stamp").read_text() != stamp:
            _make_template(kept, stamp)
    return kept


def _make_template(kept: Path, stamp: str) -> None:
    empty(kept)
    product = Product(kept, {"PORT": str(free_port())})
    try:
        product.start()
    finally:
        product.stop()
    (kept / "keys.json").write_text(json.dumps(product.keys))
    (kept / "stamp").write_text(stamp)


def empty(data_dir: Path) -> None:
    """Leave an empty data directory that a product can begin in, also where an earlier checkout left its database."""
    _remove_cluster(data_dir)
    shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(mode=0o700, parents=True)
    cluster_of(data_dir, disposable=True)


def _stamp() -> str:
    files = sorted([*env.ROOT.glob("*/migrations/*.py"), env.ROOT / "requirements.txt"])
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def _remove_cluster(data_dir: Path) -> None:
    """Stop the database; root's lies outside the data directory and is removed."""
    link = data_dir / "postgres"
    if not link.exists():
        return
    cluster_of(data_dir).stop()
    if link.is_symlink():
        shutil.rmtree(link.readlink(), ignore_errors=True)

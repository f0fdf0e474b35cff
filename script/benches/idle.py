"""Idle: what a server that nobody asks takes of a core and of memory, process by process.

script/bench idle                           # the default model, two minutes after one and a quarter to settle
script/bench idle --seconds 300 --embedder fake
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import psutil
from _serving import machine

from novamem import env
from novamem.cluster import cluster_of

ROLES = {
    "novamem.units web": "web: parent",
    "novamem: web process": "web: process",
    "novamem.units worker": "worker",
    "novamem.units scheduler": "scheduler",
    "novamem.owner_command": "index builder",
    "postgres.users.lock": "guard",
    "novamem.server": "server, the others' parent",
}


def role_of(process: psutil.Process) -> str:
    """Return what people call a process of the server; what is none of ours is Postgres."""
    line = " ".join(process.cmdline())
    return next((role for part, role in ROLES.items() if part in line), "Postgres")


def processes(server: int, data_dir: Path) -> list[psutil.Process]:
    """Return the server's processes and those of its Postgres."""
    postmaster = cluster_of(data_dir).pid()
    roots = [psutil.Process(pid) for pid in (server, postmaster) if pid]
    found = {each.pid: each for root in roots for each in (root, *root.children(recursive=True))}
    return list(found.values())


def spent(which: list[psutil.Process]) -> dict[int, float]:
    """Return the seconds of processor time that each has taken so far."""
    return {each.pid: sum(each.cpu_times()[:2]) for each in which if each.is_running()}


def measure(server: int, data_dir: Path, seconds: float) -> None:
    """Print shares of a core and PSS by role."""
    before, begun = spent(processes(server, data_dir)), time.monotonic()
    time.sleep(seconds)
    now = processes(server, data_dir)
    after, took = spent(now), time.monotonic() - begun
    shares, memory, number = defaultdict[str, float](float), Counter[str](), Counter[str]()
    for each in now:
        role = role_of(each)
        shares[role] += (after[each.pid] - before.get(each.pid, 0.0)) / took
        memory[role] += each.memory_full_info().pss
        number[role] += 1
    print("| part | processes | of a core | PSS MB |\n|---|---|---|---|")
    for role in sorted(memory, key=lambda role: -memory[role]):
        print(f"| {role} | {number[role]} | {shares[role]:.2%} | {memory[role] / 2**20:,.0f} |")
    print(f"| all | {number.total()} | {sum(shares.values()):.2%} | {memory.total() / 2**20:,.0f} |")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--settle", type=float, default=75)
    parser.add_argument("--embedder", default="")
    given = parser.parse_args()
    machine()
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        settings = {**os.environ, "NOVAMEM_DATA_DIR": str(data_dir), "PORT": "0", "DATABASE_URL": ""}
        settings |= {"DATABASE_OWNER_URL": "", **({"EMBEDDER": given.embedder} if given.embedder else {})}
        command = [sys.executable, "-m", "novamem.server"]
        with subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True, cwd=env.ROOT) as server:
            assert server.stderr
            while "NovaMem: " not in (line := server.stderr.readline()):
                assert line, "the server ended"
            try:
                time.sleep(given.settle)
                measure(server.pid, data_dir, given.seconds)
            finally:
                server.send_signal(signal.SIGINT)
                server.communicate(timeout=120)


if __name__ == "__main__":
    main()

"""One memory, measured: python -m script.benches._peers MODULE JOB ANSWER, the latter two being JSON files."""

import json
import signal
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from script.benches._peers import network
from script.benches._peers.measuring import Job, Opening, Turn, added, searched


def main() -> None:
    """Open, measures, answers."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a server that was started is stopped
    refused = network.closed()
    module, job, answer = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3])
    opened: Opening = import_module(f"script.benches._peers.{module}").opened
    turns = {place: [Turn(**turn) for turn in texts] for place, texts in job["turns"].items()}
    with opened(Job(**job["job"])) as memory:
        figures = {"note": memory.note, **added(memory, turns, batch=job["batch"])}
        if job["job"]["database"]:
            analyze(job["job"]["database"])
        figures |= searched(memory, job["questions"], count=job["count"])
    versions = {package: version(package) for package in job["packages"]}
    answer.write_text(json.dumps({**figures, "versions": versions, "refused": sorted(refused)}))


def analyze(database: str) -> None:
    """What autovacuum does a minute after a load: searches in Postgres then know the tables."""
    import psycopg  # only the environments of those in Postgres need it

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE")


if __name__ == "__main__":
    main()

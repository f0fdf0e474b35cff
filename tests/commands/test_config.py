"""manage.py config show, as a process."""

import json
import math
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long  # each starts processes


@pytest.fixture
def run(web_environment):
    """Runs the command; answers how it ended."""

    def start(*words, **settings):
        command = [sys.executable, "manage.py", "config", *words]
        return subprocess.run(command, env={**web_environment, **settings}, capture_output=True, text=True)

    return start


def test_each_value_has_its_origin(run, tmp_path):
    path = tmp_path / "nova.toml"
    path.write_text('[server]\nport = 9000\n[logging]\nlevel = "ERROR"\n')
    ended = run("show", "--json", "--config", str(path), LOG_LEVEL="WARNING")
    assert ended.returncode == 0, ended.stderr
    rows = {row["setting"]: row for row in json.loads(ended.stdout)}
    assert rows["PORT"] == {"setting": "PORT", "value": 9000, "origin": "TOML", "toml": "server.port"}
    assert (rows["LOG_LEVEL"]["value"], rows["LOG_LEVEL"]["origin"]) == ("WARNING", "environment")
    assert (rows["RECEIPT_DAYS"]["value"], rows["RECEIPT_DAYS"]["origin"]) == (90, "default")


ASKED = """
from conflicts.votes import is_disputed
from memories.ingest import chunking
from memories.models import Fragment
from memories.models import scoring
from memories.upkeep.consolidation.options import parse_options
from memories.upkeep.lifecycle import compaction, eviction
from memories.upkeep.thresholds import Thresholds
run = parse_options({})
rates = scoring.Rates()
print([rates.decayed(1, days=1, kept=False), scoring.COLD, scoring.FADED])
print([rates.initial_importance(entities=1, valence=0, source_type="manual"), rates.weight_emotion])
print([run.dedup_threshold, run.corroborate_threshold, run.compress_age_days, run.prune_age_days])
own = Thresholds()
print([*compaction.DAYS.values(), own.warm_days, own.eviction_start, own.eviction_target, eviction.RECENT_HOURS])
print([is_disputed(Fragment(source="document", disputes=1))])
print([scoring.PROTECTED, ">= 0.6" in compaction.PRESERVED, scoring.MOST_OF_THE_WEAK, chunking.LIMIT])
"""
FILE = """
[decay]
per_day = 0.25
cold_below = 0.3
archive_below = 0.2
[consolidation]
dedup_threshold = 0.97
corroborate_threshold = 0.92
compress_age_days = 10
prune_age_days = 20
[compaction]
summary_days = 5
keywords_days = 6
hash_days = 7
[upkeep]
warm_days = 8
[eviction]
start = 0.85
target = 0.6
recent_hours = 12
protected_importance = 0.6
[weights]
base = 0.2
entity = 0.1
manual = 0.0
emotion = 0.7
[trust]
dispute_threshold = 0.5
[limits]
max_content_length = 1500
"""


def test_what_the_file_says_is_what_scores_and_upkeep_take(web_environment, tmp_path):
    path = tmp_path / "nova.toml"
    path.write_text(FILE)
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", ASKED]
    environment = {**web_environment, "NOVAMEM_CONFIG": str(path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    told = [json.loads(line.replace("True", "true")) for line in ended.stdout.splitlines()]
    assert told == [
        [pytest.approx(math.exp(-0.25)), 0.3, 0.2],
        [pytest.approx(0.3), 0.7],
        [0.97, 0.92, 10, 20],
        [5, 6, 7, 8, 0.85, 0.6, 12],
        [True],
        [0.6, True, 0.59, 1500],
    ]


def test_secrets_are_not_shown(run, web_environment):
    keys = dict.fromkeys(("EMBEDDINGS_API_KEY", "OLLAMA_API_KEY", "PROXY_UPSTREAM_KEY"), "hush")
    urls = dict.fromkeys(("EMBEDDINGS_URL", "LLM_SIDECAR_URL", "PROXY_UPSTREAM_URL"), "http://me:hush@127.0.0.1/v1")
    ended = run("show", "--json", **keys, **urls)
    assert ended.returncode == 0, ended.stderr
    assert "hush" not in ended.stdout
    rows = {row["setting"]: row["value"] for row in json.loads(ended.stdout)}
    assert rows["SECRET_KEY"] == rows["EMBEDDINGS_API_KEY"] == "(not shown)"
    signed, _, place = web_environment["DATABASE_URL"].partition("@")
    password = signed.rpartition(":")[2]
    assert f":{password}@" not in rows["DATABASE_URL"]
    assert rows["DATABASE_URL"].endswith(f"@{place}")


def test_a_table_is_for_people(run):
    ended = run("show")
    assert ended.returncode == 0
    assert "RECEIPT_DAYS" in ended.stdout


def test_a_wrong_file_ends_it(run, tmp_path):
    path = tmp_path / "nova.toml"
    path.write_text("[server]\nprot = 1\n")
    ended = run("show", "--config", str(path))
    assert ended.returncode != 0
    assert "server.prot" in ended.stderr


@pytest.mark.parametrize("words", [("show", "--odd"), ("bogus",)])
def test_what_is_not_understood_ends_with_1(run, words):
    ended = run(*words)
    assert ended.returncode == 1
    assert words[-1] in ended.stderr + ended.stdout

"""manage.py config show, as a process."""

import json
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

"""The JavaScript client over real HTTP, run by node."""

import json
import subprocess
from pathlib import Path

import pytest

HERON = "The heron nests behind the old mill."

pytestmark = [pytest.mark.long, pytest.mark.node]


def test_it_stores_finds_pages_and_tries_again(web, committed, agent_of):
    verbs = ["read", "write", "admin"]
    key = agent_of(committed, owner="js", verbs=verbs, ceiling="user_explicit", requests_per_minute=0).key
    program = Path(__file__).with_name("javascript_client.mjs")
    command = ["node", program, web, key, f"{committed.name}:main"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "found": [HERON],
        "sameKey": True,
        "rows": ["The otter swims in the pond.", "One.", HERON],
        "gone": [True, 404, "not_found"],
        "wrong": "content",
        "exported": [HERON],
        "erased": 1,
        "stored": "x",
        "attempts": [4, 1],
        "moved": ["moved", 1],
        "html": [True, "string"],
        "odd": ["c", []],
        "silent": True,
        "givenUp": ["enough", True],
        "refused": [True, True, True, True],
        "nobody": True,
        "options": "Zo%C3%AB",
    }

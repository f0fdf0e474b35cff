"""`manage.py mcp`, started by the real client."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long  # each starts processes

HERON = "The heron nests behind the old mill."


def test_a_client_that_starts_the_server_remembers_and_finds(piped, rows):
    async def work(client):
        kept = await client.call_tool("retain", {"content": HERON})
        found = await client.call_tool("recall", {"query": "where does the heron nest?"})
        return len((await client.list_tools()).tools), kept.structured_content, found.structured_content

    tools, kept, found = piped.do(work)
    assert tools == 29
    assert [hit["id"] for hit in found["results"]] == [kept["id"]]
    assert rows() == {HERON: "active"}


@pytest.mark.parametrize("key", ["", "nova_nothing"])
def test_a_key_that_is_not_valid_ends_it_at_once(web_environment, key):
    environment = {**web_environment, "NOVAMEM_KEY": key}
    ended = subprocess.run(
        [sys.executable, "manage.py", "mcp"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "not valid" in ended.stderr

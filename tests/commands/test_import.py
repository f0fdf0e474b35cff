"""manage.py import."""

import io
import json
import zipfile

import pytest
from django.core.management import CommandError, call_command

from memories import access
from memories.access import keys
from memories.models import Fragment, Project

MEM0 = [
    {
        "id": "m1",
        "memory": "Likes tea",
        "user_id": "ada",
        "run_id": "r1",
        "categories": ["drinks"],
        "metadata": {"mood": "good"},
        "created_at": "2026-05-01T09:00:00-07:00",
    },
    {"id": "m2", "memory": "x " * 1500, "user_id": "ada", "created_at": None, "metadata": None, "categories": None},
]
LETTA = {
    "agents": [
        {
            "name": "Sam",
            "block_ids": ["block-0"],
            "messages": [
                {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
                {
                    "id": "message-1",
                    "role": "user",
                    "content": [
                        {"type": "text", "text": json.dumps({"type": "user_message", "message": "I sail on Sundays."})}
                    ],
                    "created_at": "2026-05-01T09:00:00+00:00",
                },
                {"id": "message-2", "role": "user", "content": [{"type": "text", "text": '{"type": "heartbeat"}'}]},
                {
                    "id": "message-3",
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"function": {"name": "send_message", "arguments": '{"message": "How lovely!"}'}}],
                },
            ],
        }
    ],
    "blocks": [{"id": "block-0", "label": "human", "value": "\nName: Chad\nInterests: sailing\n"}],
}
OLD_LETTA = {
    "name": "Old",
    "core_memory": [{"label": "persona", "value": "I am kind."}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello there, agent."}]}],
}
OPENMEMORY = {
    "apps": [{"id": "a1", "name": "editor"}],
    "categories": [{"id": "c1", "name": "work"}],
    "memories": [
        {"id": "o1", "app_id": "a1", "content": "Uses vim.", "state": "active", "category_ids": ["c1"]},
        {"id": "o2", "app_id": None, "content": "Used emacs.", "state": "deleted", "category_ids": []},
    ],
}
MCP = [
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea", "speaks French"]},
    {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"},
]


def zipped(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        # Of one time always: a test's id holds these bytes, and all processes have to find the same tests.
        archive.writestr(zipfile.ZipInfo("memories.json", (2026, 1, 1, 0, 0, 0)), json.dumps(data))
    return out.getvalue()


FILES = {
    "mem0": json.dumps({"results": MEM0}).encode(),
    "letta": json.dumps(LETTA).encode(),
    "openmemory": zipped(OPENMEMORY),
    "mcp": "\n".join(map(json.dumps, MCP)).encode(),
}


@pytest.fixture
def run(db, tmp_path):
    """Imports bytes in a layout; answers what the command told."""

    def start(layout, data, namespace="orchard:main"):
        path = tmp_path / "export"
        path.write_bytes(data)
        out = io.StringIO()
        call_command("import", layout, str(path), "--namespace", namespace, "--json", stdout=out)
        return json.loads(out.getvalue())

    return start


def rows():
    principal = access.system_principal(keys.ensure_project("orchard"))
    with access.enter(principal, why="test"):
        found = Fragment.objects.within(principal.project_id).select_related("claim")
        return {row.content: row for row in found.order_by("created_at")}


def test_mem0(run):
    assert run("mem0", FILES["mem0"])["stored"] == 3
    found = rows()
    tea = found["Likes tea"]
    assert (tea.source, tea.source_id, tea.source_type) == ("document", "m1", "file")
    assert (tea.tags, tea.conversation_id, tea.extra) == (["user:ada", "drinks", "main"], "r1", {"mood": "good"})
    assert tea.event_at.isoformat() == "2026-05-01T16:00:00+00:00"
    assert sorted(row.source_id for row in found.values()) == ["m1", "m2#1", "m2#2"]


def test_letta(run):
    assert run("letta", FILES["letta"])["stored"] == 3
    found = rows()
    assert found["Name: Chad\nInterests: sailing"].extra == {"block": "human", "agent": "Sam"}
    assert found["User: I sail on Sundays."].type == "episodic"
    assert found["Sam: How lovely!"].sequence == 3
    run("letta", json.dumps(OLD_LETTA).encode())
    assert {"I am kind.", "User: Hello there, agent."} < set(rows())


def test_openmemory(run):
    assert run("openmemory", FILES["openmemory"])["stored"] == 1
    (vim,) = rows().values()
    assert (vim.content, vim.workflow_id, vim.tags) == ("Uses vim.", "editor", ["work", "main"])


def test_mcp(run):
    assert run("mcp", FILES["mcp"])["stored"] == 4
    said = {(row.claim.subject, row.claim.predicate, row.claim.value) for row in rows().values()}
    assert said == {
        *(("Ada", "entity_type", "person"), ("Ada", "observation", "likes tea")),
        *(("Ada", "observation", "speaks French"), ("Ada", "works_at", "Acme")),
    }


@pytest.mark.parametrize("layout", FILES)
def test_the_same_file_twice_adds_nothing(run, layout):
    first = run(layout, FILES[layout])
    before = len(rows())
    assert run(layout, FILES[layout])["already_known"] == first["stored"] == before
    assert len(rows()) == before


def test_what_changed_there_changes_here(run):
    run("mem0", FILES["mem0"])
    changed = [{**MEM0[0], "memory": "Likes coffee by now"}]
    assert run("mem0", json.dumps(changed).encode())["stored"] == 1
    assert "Likes tea" not in rows()
    assert rows()["Likes coffee by now"].revision == 2


@pytest.mark.parametrize(
    ("layout", "data", "why"),
    [
        ("mem0", b"{", "no mem0 export"),
        ("mem0", b'[{"memory": "Without an id."}]', "no mem0 export: KeyError"),
        ("mem0", b'[{"id": "m1", "memory": "a\\u0000b"}]', "can't be stored"),
        ("mem0", b'[{"id": "m1", "memory": "Fine.", "created_at": "soon"}]', "no mem0 export"),
        ("letta", b"[]", "no letta export"),
        ("openmemory", b"PK nothing", "no openmemory export"),
        ("openmemory", zipped([])[:40], "no openmemory export"),
        ("mcp", b'{"type": "thing"}', "line 1 is neither"),
        ("mcp", json.dumps({**MCP[1], "to": "x" * 1001}).encode(), "line 1: .* over"),
        ("odd", b"[]", "Unknown layout"),
    ],
)
def test_a_file_that_is_something_else_stores_nothing(run, layout, data, why):
    with pytest.raises(CommandError, match=why):
        run(layout, data)
    assert not Project.objects.filter(name="orchard").exists()


def test_a_bad_namespace_and_a_missing_file_are_named(run, tmp_path):
    with pytest.raises(CommandError, match="no namespace"):
        run("mem0", FILES["mem0"], namespace="orchard")
    with pytest.raises(CommandError, match="No such file"):
        call_command("import", "mem0", str(tmp_path / "nowhere"), "--namespace", "orchard:main")

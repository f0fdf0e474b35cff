"""manage.py import."""

import io
import json
import zipfile
from unittest.mock import ANY

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


def node(name, parent, role, *parts, kind="text", **metadata):
    message = {"id": f"m-{name}", "author": {"role": role}, "content": {"content_type": kind, "parts": list(parts)}}
    return {"message": {**message, "create_time": 1_767_225_600.5, "metadata": metadata}, "parent": parent}


CHATGPT = [
    {
        "title": "Geese",
        "conversation_id": "c-1",
        "current_node": "e",
        "mapping": {
            "root": {"message": None, "parent": None},
            "a": node("a", "root", "system", "You are helpful.", is_visually_hidden_from_conversation=True),
            "b": node("b", "a", "user", "I keep two grey geese in my garden."),
            "old": node("old", "a", "user", "I keep two white swans in my garden."),
            "c": node("c", "b", "assistant", "print(1)", kind="code"),
            "d": node("d", "c", "assistant", "Grey geese need a pond of at least nine square metres."),
            "e": node("e", "d", "user", {"asset_pointer": "file"}, "My budget for it is $750.", kind="multimodal_text"),
        },
    },
    {"title": "Empty", "id": "c-2", "current_node": None, "mapping": {}},
]
CLAUDE = [
    {
        "uuid": "u-1",
        "name": "Rowing",
        "chat_messages": [
            {
                "uuid": "m-1",
                "sender": "human",
                "text": "",
                "content": [{"type": "text", "text": "I row on the river every Sunday."}],
                "created_at": "2026-05-01T09:00:00.5Z",
            },
            {"uuid": "m-2", "sender": "assistant", "text": "Thanks!", "content": [], "created_at": None},
            {"uuid": "m-3", "sender": "human", "text": "My boat is called Heron.", "content": None},
        ],
    }
]


GEMINI = [
    {"header": "Gemini Apps", "title": "Used Gemini Apps", "time": "2026-05-03T08:00:00Z"},
    {
        "header": "Gemini Apps",
        "title": "Prompted I keep two grey geese, how large a pond do they need?",
        "time": "2026-05-02T08:00:00.5Z",
        "safeHtmlItem": [{"html": "<p>Grey geese need a pond of <b>nine</b> square metres.</p>"}],
    },
    {"header": "Gemini Apps", "title": "Prompted My budget for the pond is $750.", "time": "2026-05-01T08:00:00Z"},
]
CSV = """id,Memory,tags,created_at,Colour
c1,"Ada keeps geese, two of them.",birds;farm,2026-05-01,grey
c2,Ada drinks tea.,,,
"""


def zipped(data, name="memories.json"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        # Of one time always: a test's id holds these bytes, and all processes have to find the same tests.
        archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), json.dumps(data))
    return out.getvalue()


FILES = {
    "mem0": json.dumps({"results": MEM0}).encode(),
    "letta": json.dumps(LETTA).encode(),
    "openmemory": zipped(OPENMEMORY),
    "mcp": "\n".join(map(json.dumps, MCP)).encode(),
    "chatgpt": zipped(CHATGPT, "export/conversations-000.json"),
    "claude": json.dumps(CLAUDE).encode(),
    "gemini": zipped(GEMINI, "Takeout/Meine Aktivitäten/Gemini-Apps/MeineAktivitäten.json"),
    "csv": CSV.encode(),
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


@pytest.mark.parametrize("data", [FILES["chatgpt"], json.dumps(CHATGPT).encode()], ids=["zip", "json"])
def test_chatgpt(run, data):
    assert run("chatgpt", data)["stored"] == 3
    found = rows()
    assert list(found) == [
        "I keep two grey geese in my garden.",
        "Grey geese need a pond of at least nine square metres.",
        "My budget for it is $750.",
    ]
    first, answer, budget = found.values()
    assert {row.source for row in found.values()} == {"document"}, "whoever wrote the file may have written anything"
    assert (first.source_id, first.conversation_id, first.sequence) == ("m-b", "c-1", 1)
    assert first.event_at.isoformat() == "2026-01-01T00:00:00.500000+00:00"
    assert (first.tags[0], answer.tags[0]) == ("user", "assistant")
    assert (budget.claim.predicate, budget.claim.value) == ("budget", "$750")


def test_claude(run):
    assert run("claude", FILES["claude"])["stored"] == 2
    first, boat = rows().values()
    assert (first.content, first.source, first.source_id) == ("I row on the river every Sunday.", "document", "m-1")
    assert (first.event_at.isoformat(), boat.event_at) == ("2026-05-01T09:00:00.500000+00:00", None)
    assert (boat.content, boat.conversation_id, boat.sequence) == ("My boat is called Heron.", "u-1", 3)


@pytest.mark.parametrize("data", [FILES["gemini"], json.dumps(GEMINI).encode()])
def test_gemini(run, data):
    assert run("gemini", data)["memories"] == 3
    found = rows()
    assert set(found) == {
        "My budget for the pond is $750.",
        "I keep two grey geese, how large a pond do they need?",
        "Grey geese need a pond of **nine** square metres.",
    }
    answer = found["Grey geese need a pond of **nine** square metres."]
    assert (answer.source, answer.tags, answer.sequence) == ("document", ["assistant", "main"], 2)
    assert answer.event_at.isoformat() == "2026-05-02T08:00:00.500000+00:00"


def test_csv(run):
    assert run("csv", FILES["csv"])["stored"] == 2
    geese = rows()["Ada keeps geese, two of them."]
    assert (geese.source_id, geese.extra, geese.event_at.date().isoformat()) == (
        *("csv:export:c1", {"Colour": "grey"}, "2026-05-01"),
    )
    assert {"birds", "farm"} <= set(geese.tags)


def test_rows_of_two_tables_and_equal_ids_are_told_apart(run, tmp_path):
    for name, text in (("people.csv", "Ada keeps geese."), ("birds.csv", "The heron nests here.")):
        (tmp_path / name).write_text(f"id,text\n1,{text}\n")
        call_command("import", "csv", str(tmp_path / name), "--namespace", "orchard:main", stdout=io.StringIO())
    assert set(rows()) == {"Ada keeps geese.", "The heron nests here."}
    with pytest.raises(CommandError, match="row 2: the id 1 stood above"):
        run("csv", b"id,text\n1,Ada rows.\n1,Bo rows.")
    whole = [b"Bird,Place", b"Heron,Mill", b"Owl,Barn"]
    run("csv", b"\n".join(whole))
    whole.insert(1, b"Otter,Pond")
    assert run("csv", b"\n".join(whole)) == {"file": ANY, "memories": 3, "already_known": 2, "stored": 1}


def test_a_table_loses_nothing_of_what_it_can_not_read(run):
    table = b"text,when,Date,Note,Note\nAda rows.,x,01/05/2026,a\0b,c\n,,2026-05-01,only a note,\n"
    assert run("csv", table)["stored"] == 1
    row = rows()["Ada rows."]
    assert (row.event_at, row.extra) == (None, {"when": "x", "Date": "01/05/2026", "Note": "a\ufffdb", "Note 2": "c"})
    run("csv", b"text,date\nFar.,0001-01-01T00:00:00+14:00")
    assert rows()["Far."].extra == {"date": "0001-01-01T00:00:00+14:00"}


def test_two_questions_of_one_moment_are_two(run):
    at = "2026-05-01T08:00:00Z"
    asked = [{"title": f"Prompted My budget for the {what} is $750.", "time": at} for what in ("pond", "barn")]
    assert run("gemini", json.dumps(asked).encode())["stored"] == 2
    assert len(rows()) == 2


def test_a_table_without_a_column_of_texts(run):
    assert run("csv", b"Bird;Place\nHeron;Mill\nOwl;Barn")["stored"] == 2
    assert set(rows()) == {"Bird: Heron; Place: Mill", "Bird: Owl; Place: Barn"}


def test_of_conversations_whichever_is_first_in_the_file_the_later_words_hold(run):
    talks = []
    for day, text in ((2, "I live in Porto."), (1, "I live in Lisbon.")):
        said = node("a", None, "user", text)
        said["message"] |= {"id": f"m-{day}", "create_time": 1_767_225_600.5 + day * 86_400}
        talks.append({"id": f"c{day}", "current_node": "a", "mapping": {"a": said}})
    run("chatgpt", json.dumps(talks).encode())
    assert {text: row.status for text, row in rows().items()} == {
        "I live in Porto.": "active",
        "I live in Lisbon.": "superseded",
    }


def test_one_odd_message_stops_no_import(run):
    odd = [
        {"uuid": "m-1", "sender": "human", "text": "I row with my friend Zed\0 on Sundays."},
        {"uuid": "m-2", "sender": "system", "text": "You are helpful."},
        {"uuid": "m-3", "sender": "human", "text": "My boat is called \ud83d Heron."},
    ]
    assert run("claude", json.dumps([{"uuid": "u", "chat_messages": odd}]).encode())["stored"] == 2
    assert list(rows()) == ["I row with my friend Zed\ufffd on Sundays.", "My boat is called \ufffd Heron."]
    said = node("a", None, "user", {"content_type": "audio_transcription", "text": "I speak of my geese."})
    said["message"]["content"]["content_type"] = "multimodal_text"
    run("chatgpt", json.dumps([{"id": "c", "current_node": "a", "mapping": {"a": said}}]).encode())
    assert "I speak of my geese." in rows()


@pytest.mark.parametrize("layout", ["chatgpt", "openmemory"])
def test_a_broken_zip_is_named(run, layout):
    name = "memories.json" if layout == "openmemory" else "conversations.json"
    whole = bytearray(zipped(CHATGPT, name))
    at = whole.index(name.encode()) + len(name)
    whole[at : at + 20] = b"\xff" * 20
    with pytest.raises(CommandError, match=f"no {layout} export"):
        run(layout, bytes(whole))


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
        ("mem0", b'[{"memory": "Without an id."}]', "no mem0 export: a part of it has no .id."),
        ("mem0", b'[{"id": "m1", "memory": "a\\u0000b"}]', "can't be stored"),
        ("mem0", b'[{"id": "m1", "memory": "Fine.", "created_at": "soon"}]', "no mem0 export"),
        ("letta", b"[]", "no letta export"),
        ("openmemory", b"PK nothing", "no openmemory export"),
        ("openmemory", zipped([])[:40], "no openmemory export"),
        ("mcp", b'{"type": "thing"}', "line 1 is neither"),
        ("mcp", json.dumps({**MCP[1], "to": "x" * 1001}).encode(), "line 1: .* over"),
        ("odd", b"[]", "Unknown layout"),
        ("chatgpt", b"{}", "no chatgpt export: expected a list"),
        ("chatgpt", b'[{"id": "c", "mapping": 7}]', "conversation 1: has no mapping"),
        ("chatgpt", b'[{"mapping": {}}]', "conversation 1: has no id"),
        ("chatgpt", zipped([]), "conversations.json is missing"),
        ("claude", b'[{"uuid": "u"}]', "conversation 1: has no chat_messages"),
        ("gemini", zipped(GEMINI, "Takeout/My Activity/Search/MyActivity.json"), "HTML or JSON"),
        ("gemini", b'[{"title": "Prompted me"}]', "what was asked on None: .* no id"),
        ("csv", b"text\n\xff", "no csv export: is not UTF-8"),
        ("gemini", json.dumps([GEMINI[0]]).encode(), "holds no question"),
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

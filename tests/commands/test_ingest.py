"""manage.py ingest."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from memories import access
from memories.access import keys
from memories.models import Fragment, Project

TALK = {
    "speaker_a": "Iris",
    "speaker_b": "Noor",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Iris", "dia_id": "D1:1", "text": "I planted three apple trees last weekend."},
        {"speaker": "Noor", "dia_id": "D1:2", "text": "Lovely! Which kinds did you choose?"},
        {"speaker": "Iris", "dia_id": "D1:3", "text": "Two Boskoop and one Jonagold, from the market."},
    ],
    "session_2_date_time": "9:10 am on 2 June, 2023",
    "session_2": [{"speaker": "Noor", "dia_id": "D2:1", "text": "Did the apple trees survive the frost?"}],
}


@pytest.fixture
def talk(tmp_path):
    """A conversation in LoCoMo's layout."""
    path = tmp_path / "talk.json"
    path.write_text(json.dumps({"conversation": TALK, "qa": []}))
    return path


def run(*args):
    out = io.StringIO()
    call_command("ingest", *map(str, args), stdout=out)
    return out.getvalue()


def rows():
    principal = access.system_principal(keys.ensure_project("orchard"))
    with access.enter(principal, why="test"):
        return list(Fragment.objects.within(principal.project_id).order_by("conversation_id", "sequence"))


def test_every_turn_is_stored_with_its_own_time(db, talk):
    (report,) = json.loads(run("--namespace", "orchard:iris", talk, "--json"))
    assert (report["messages"], report["stored"], report["skipped"]) == (4, 4, {})
    stored = rows()
    assert [row.source_id for row in stored] == ["D1:1", "D1:2", "D1:3", "D2:1"]
    assert stored[0].content == "Iris: I planted three apple trees last weekend."
    assert stored[0].event_at.isoformat() == "2023-05-08T13:56:00+00:00"
    assert len({row.conversation_id for row in stored}) == 2
    assert [row.sequence for row in stored[:3]] == [1, 2, 3]
    assert {row.type for row in stored} == {"episodic"}


def test_the_same_file_twice_adds_nothing(db, talk):
    run("--namespace", "orchard:iris", talk)
    assert "0 stored, skipped: 4 already_known" in run("--namespace", "orchard:iris", talk)
    assert len(rows()) == 4


def test_documents_and_chats_together(db, tmp_path):
    guide, chat = tmp_path / "guide.md", tmp_path / "chat.jsonl"
    guide.write_text("# Pruning\n\nPrune apple trees in late winter, before the buds swell.\n")
    chat.write_text(
        '{"role": "user", "content": "When do I prune my apple trees?"}\n{"role": "user", "content": "ok"}\n'
    )
    reports = json.loads(run("--namespace", "orchard:iris", guide, chat, "--json"))
    assert [report["stored"] for report in reports] == [1, 1]
    assert reports[1]["skipped"] == {"too_short": 1}
    assert {(row.source_type, row.source) for row in rows()} == {
        ("document", "document"),
        ("conversation", "user_implicit"),
    }


@pytest.mark.parametrize("name", ["orchard", "orchard:Iris Tree", ":x", ""])
def test_bad_namespaces_are_named(name, db, talk):
    with pytest.raises(CommandError, match="no namespace"):
        run("--namespace", name, talk)


def test_an_unreadable_file_stores_nothing_at_all(db, talk, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"role": ')
    with pytest.raises(CommandError, match="broken.json"):
        run("--namespace", "orchard:iris", talk, broken)
    with pytest.raises(CommandError, match="nowhere"):
        run("--namespace", "orchard:iris", tmp_path / "nowhere.md")
    assert not Project.objects.filter(name="orchard").exists()

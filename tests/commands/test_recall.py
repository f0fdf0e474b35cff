"""manage.py recall."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from memories.models import RecallCheck

FILE = """\
version: 1
checks:
- name: heron
  namespace: acme:main
  question: Where does the heron nest?
  text: old mill
"""


def recall(*words):
    out = io.StringIO()
    call_command("recall", *map(str, words), stdout=out)
    return out.getvalue()


@pytest.fixture
def file(store, tmp_path):
    """A file of one check, and the memory that answers it."""
    store("acme:main", "The heron nests behind the old mill.")
    path = tmp_path / "recall.yaml"
    path.write_text(FILE)
    return path


def test_import_run_list_export_delete(file, tmp_path, count):
    assert json.loads(recall("import", file, "--project", "acme", "--json")) == {"added": 1, "replaced": 0}
    assert "never run" in recall("list", "--project", "acme")
    told = json.loads(recall("run", "--namespace", "acme:main", "--json"))
    assert (told["state"], told["passed"], told["failed"], told["checks"][0]["place"]) == ("succeeded", 1, [], 1)
    assert "1 of 1 pass" in recall("run", "--project", "acme")
    assert recall("export", "--project", "acme").strip() == FILE.strip()
    recall("export", "--project", "acme", "--file", tmp_path / "out.yaml")
    assert (tmp_path / "out.yaml").read_text() == FILE
    (row,) = json.loads(recall("list", "--namespace", "acme:main", "--json"))
    gone = json.loads(recall("delete", row["id"], "--project", "acme", "--json"))
    assert gone == {"id": row["id"], "name": "heron", "deleted": True}
    assert count(RecallCheck) == 0


def test_a_check_that_fails_ends_with_code_1(file):
    file.write_text(FILE.replace("old mill", "new mill"))
    recall("import", file, "--project", "acme")
    with pytest.raises(SystemExit):
        recall("run", "--project", "acme")


def test_what_can_not_be_done_is_said(file, tmp_path, count):
    file.write_text(FILE.replace("text:", "words:"))
    for words, says in (
        (("import", file, "--project", "acme"), "line 6"),
        (("import", tmp_path / "none.yaml", "--project", "acme"), "can't be read"),
        (("import", file, "--project", "nowhere"), "no project"),
        (("list",), "Give --namespace or --project"),
        (("run", "--namespace", "acme:nowhere"), "no namespace"),
        (("delete", "x", "--project", "acme"), "no recall check"),
    ):
        with pytest.raises(CommandError, match=says):
            recall(*words)
    file.write_text(FILE.replace("acme:main", "acme:nowhere"))
    with pytest.raises(CommandError, match="There is no namespace acme:nowhere in acme"):
        recall("import", file, "--project", "acme")
    assert count(RecallCheck) == 0

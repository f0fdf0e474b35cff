"""The YAML file: what is read back is what was written, and each fault has its line."""

import pytest

from memories import access, recall_checks
from memories.models import RecallCheck
from memories.recall_checks import BadCheckFile, read_file, written_file
from tests.recall_checks.conftest import MAIN

GOOD = """\
version: 1
checks:
- name: where the heron nests
  namespace: acme:main
  question: Where does the heron nest?
  text: old mill
  top_k: 5
  note: since 2024
- namespace: acme:main
  question: "How old is Ada: six, or 6?"
  value: 007
"""


def test_a_good_file_is_read_as_it_is_written():
    heron, ada = read_file(GOOD)
    assert (heron.known_as, heron.expects, heron.expected, heron.top_k) == (
        "where the heron nests",
        "text",
        "old mill",
        5,
    )
    assert (ada.known_as, ada.expects, ada.expected, ada.top_k) == ("How old is Ada: six, or 6?", "value", "007", 10)


def test_what_is_written_is_read_back(store, check, principal):
    heron = store(MAIN, "The heron nests behind the old mill.")
    check("Where does the heron nest?", memory=heron.id, name="yes", note="no: 'quoted' # and marked")
    check("Wo nistet der Reiher? ✓", text="null", top_k=3)
    check("How old is Ada?", value="0x10")
    with access.enter(principal, why="test"):
        rows = list(RecallCheck.objects.in_order())
    text = written_file(rows)
    assert "✓" in text
    drafts = {draft.known_as: draft for draft in read_file(text)}
    assert {row.name for row in rows} == set(drafts)
    for row in rows:
        assert {name: getattr(row, name) for name in drafts[row.name].values} == drafts[row.name].values


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("version: 1", "version: 2"), 1, "version is 1"),
        ((GOOD, "- version"), 1, "fields with their values"),
        (("version: 1\n", ""), 1, "version is missing"),
        (("  top_k: 5", "  top_k: 0"), 7, "from 1 to 100"),
        (("  top_k: 5", "  top_k: five"), 7, "from 1 to 100"),
        (("  top_k: 5", "  topk: 5"), 7, "'topk' is not known"),
        (("  top_k: 5", "  text: again"), 7, "text stands twice"),
        (("  top_k: 5", "  value: both"), 3, "give one of memory, text, value"),
        (("  text: old mill\n", ""), 3, "give one of memory, text, value"),
        (("  text: old mill", "  memory: 12"), 6, "the id of a memory"),
        (("  text: old mill", "  text: [old, mill]"), 6, "text is a text"),
        (("  text: old mill", "  text:"), 6, "text is a text"),
        (("  text: old mill", "  text: ' '"), 6, "text is empty"),
        (("  text: old mill", "  text: !!python/name:os.system"), 6, "text is a text"),
        (("  text: old mill", "  text: &one old mill"), 6, "anchors and aliases"),
        (("  text: old mill", "  text: *one"), 6, "anchors and aliases|undefined alias"),
        (("  text: old mill", "  text: 'old mill"), 12, "in what begins in line 6"),
        (("  text: old mill", "  text: old\tmill\x00"), 6, "not taken|not allowed|control characters"),
        (("acme:main\n  question: Where", "main\n  question: Where"), 4, "project:agent"),
        (("- namespace", "---\n- namespace"), 9, "another document|expected a single document|but found"),
        (('"How old is Ada: six, or 6?"', "x" * 1001), 10, "at most 1000 characters"),
        ((GOOD, ""), 1, "empty"),
        ((GOOD, "[" * 5000), 1, "nested too deeply"),
        ((GOOD, "- " * 50_000), 1, "nested too deeply"),
        ((GOOD, "x" * 300_000), 1, "at most"),
    ],
)
def test_a_fault_is_told_with_its_line(change, line, says):
    bad = GOOD.replace(*change, 1)
    assert bad != GOOD
    with pytest.raises(BadCheckFile, match=says) as told:
        read_file(bad)
    assert told.value.line == line


def test_a_name_twice_in_a_namespace_is_refused():
    with pytest.raises(BadCheckFile, match="the same name") as told:
        read_file(GOOD.replace("- namespace", "- name: where the heron nests\n  namespace"))
    assert told.value.line == 9


def test_a_file_is_kept_whole_or_not_at_all(store, principal, count, now):
    store(MAIN, "The heron nests behind the old mill.")
    drafts = read_file(GOOD.replace("- namespace: acme:main", "- namespace: acme:nowhere"))
    with pytest.raises(access.NotFound):
        recall_checks.keep(principal, drafts, now=now)
    assert count(RecallCheck) == 0

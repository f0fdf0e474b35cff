"""Evidence recall: what counts as found, and at which depth."""

import json

import pytest

from script.benches._scoring import evidence, is_beam, means, questions, scored, sessions


def question(*named, category=1):
    return {"question": "Who?", "evidence": list(named), "category": category}


def test_evidence_may_be_listed_within_one_text():
    assert evidence(question("D1:3; D1:4", "D2:1,D2:2", "D1:3 ")) == {"D1:3", "D1:4", "D2:1", "D2:2"}


def test_recall_is_the_share_of_the_evidence_among_the_first():
    row = scored(question("D1:1", "D1:2"), ["x", "D1:1", *"abcd", "D1:2"])
    assert (row["recall@5"], row["recall@10"], row["recall@20"]) == (0.5, 1.0, 1.0)
    assert (row["hit@5"], row["hit@10"]) == (1.0, 1.0)


def test_pieces_of_a_message_count_once():
    row = scored(question("7"), ["3#1", "3#2", "4#1", "5", "6", "6#1", "7#4"])
    assert row["recall@5"] == 1.0


def test_questions_of_both_layouts_are_read(tmp_path):
    path = tmp_path / "chat.json"
    said = [{"id": n, "session": n // 2, "role": "user", "content": "x"} for n in range(3)]
    rows = [{"kind": "ordering", "question": "Who?", "evidence": [0, 2]}]
    path.write_text(json.dumps({"messages": said, "questions": [*rows, {**rows[0], "evidence": []}]}))
    assert is_beam(path)
    (item,) = questions(path)
    assert (item["category"], evidence(item)) == ("ordering", {"0", "2"})
    by_session = {name: [row["id"] for row in rows] for name, rows in sessions(path).items()}
    assert by_session == {"chat:0": ["0", "1"], "chat:1": ["2"]}


def test_nothing_found_is_nothing():
    row = scored(question("D1:1"), [])
    assert {row[name] for name in row if name != "category"} == {0.0}


def test_only_questions_with_evidence_of_the_four_categories_count(tmp_path):
    rows = [question("D1:1", category=category) for category in range(1, 6)]
    path = tmp_path / "one.json"
    path.write_text(json.dumps([{"qa": [*rows, question(category=2)]}]))
    assert [row["category"] for row in questions(path)] == [1, 2, 3, 4]


def test_means_are_over_questions_not_over_evidence():
    rows = [scored(question("D1:1"), ["D1:1"]), scored(question("D1:1", "D1:2", "D1:3"), [])]
    assert means(rows)["recall@5"] == pytest.approx(0.5)

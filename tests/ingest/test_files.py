"""Messages from files: every format works, every broken file says what and where."""

import datetime
import json
import time
from pathlib import Path
from typing import Any

import pytest

from memories.ingest.files import Message, UnreadableFile, read

UTC = datetime.UTC

LOCOMO = {
    "speaker_a": "Ada",
    "speaker_b": "Grace",
    "session_10_date_time": "12:05 am on 2 January, 2024",
    "session_10": [{"speaker": "Ada", "dia_id": "D10:1", "text": "Happy new year!"}],
    "session_2_date_time": "1:56 pm on 8 May, 2023",
    "session_2": [
        {"speaker": "Grace", "dia_id": "D2:1", "text": "I planted a pear tree. "},
        {"speaker": "Ada", "dia_id": "D2:2", "text": "Here is mine.", "blip_caption": "a photo of a plum tree"},
        {"speaker": "Grace", "dia_id": "D2:3", "text": "", "blip_caption": "a wheelbarrow"},
    ],
    "session_2_summary": "Trees.",
    "events_session_2": {"Grace": ["Grace plants a tree."]},
    "qa": [{"question": "What did Grace plant?", "answer": "A pear tree", "evidence": ["D2:1"], "category": 4}],
}


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def messages(folder: Path, name: str, content: Any) -> list[Message]:
    return list(read(written(folder, name, content)))


def complaint(folder: Path, name: str, content: Any) -> str:
    path = written(folder, name, content)
    with pytest.raises(UnreadableFile) as caught:
        list(read(path))
    assert caught.value.path == path
    assert str(caught.value) == f"{path}: {caught.value.why}"
    return caught.value.why


class TestLocomo:
    def test_every_turn_is_a_message_of_its_session(self, tmp_path: Path) -> None:
        found = messages(tmp_path, "walk.json", LOCOMO)
        assert [(m.source_id, m.conversation_id, m.sequence) for m in found] == [
            ("D2:1", "walk:session_2", 1),
            ("D2:2", "walk:session_2", 2),
            ("D2:3", "walk:session_2", 3),
            ("D10:1", "walk:session_10", 1),
        ]
        assert {(m.role, m.kind) for m in found} == {("user", "message")}

    def test_the_speaker_stands_before_the_text_and_a_photo_behind_it(self, tmp_path: Path) -> None:
        found = messages(tmp_path, "walk.json", LOCOMO)
        assert [(m.speaker, m.content) for m in found] == [
            ("Grace", "Grace: I planted a pear tree."),
            ("Ada", "Ada: Here is mine. [shares a photo: a photo of a plum tree]"),
            ("Grace", "Grace: [shares a photo: a wheelbarrow]"),
            ("Ada", "Ada: Happy new year!"),
        ]

    def test_the_session_time_is_read_as_utc(self, tmp_path: Path) -> None:
        found = messages(tmp_path, "walk.json", LOCOMO)
        assert found[0].at == datetime.datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
        assert found[-1].at == datetime.datetime(2024, 1, 2, 0, 5, tzinfo=UTC)

    def test_a_session_without_a_time_has_none(self, tmp_path: Path) -> None:
        assert messages(tmp_path, "w.json", {"session_1": LOCOMO["session_10"]})[0].at is None

    def test_the_original_list_of_samples_is_read_too(self, tmp_path: Path) -> None:
        samples = [{"sample_id": "conv-1", "conversation": LOCOMO, "qa": []}, {"conversation": LOCOMO}]
        found = messages(tmp_path, "all.json", samples)
        assert len(found) == 8
        assert found[0].conversation_id == "all:conv-1:session_2"
        assert found[-1].conversation_id == "all:2:session_10"

    @pytest.mark.parametrize(
        ("turn", "why"),
        [
            ({"speaker": "Ada", "dia_id": "D1:2"}, "session_1, turn 2: expected an object with speaker and text"),
            ("Hello", "session_1, turn 2: expected an object with speaker and text"),
            ({"dia_id": "D1:2", "text": "Hello"}, "session_1, turn 2: has no speaker"),
        ],
    )
    def test_a_broken_turn_is_named(self, tmp_path: Path, turn: Any, why: str) -> None:
        assert complaint(tmp_path, "w.json", {"session_1": [LOCOMO["session_10"][0], turn]}) == why

    def test_a_broken_session_time_is_named(self, tmp_path: Path) -> None:
        data = {**LOCOMO, "session_2_date_time": "yesterday"}
        assert complaint(tmp_path, "w.json", data).startswith("session_2: date_time 'yesterday'")


class TestChat:
    def test_a_list_of_messages_works(self, tmp_path: Path) -> None:
        turns = [
            {"role": "user", "content": "Book a table.", "id": "m-1", "at": "2024-05-01T10:00:00Z"},
            {"role": "assistant", "content": "Booked.", "id": 2},
        ]
        noon = datetime.datetime(2024, 5, 1, 10, tzinfo=UTC)
        assert messages(tmp_path, "talk.json", turns) == [
            Message("user", "Book a table.", noon, "m-1", "talk", 1, "message", None),
            Message("assistant", "Booked.", None, "2", "talk", 2, "message", None),
        ]

    def test_an_object_with_messages_works(self, tmp_path: Path) -> None:
        data = {"messages": [{"role": "user", "content": "Hello", "name": "Ada"}], "conversation_id": "c-9"}
        (found,) = messages(tmp_path, "talk.json", data)
        assert (found.content, found.conversation_id, found.speaker) == ("Hello", "c-9", "Ada")

    def test_a_single_message_works(self, tmp_path: Path) -> None:
        assert [m.content for m in messages(tmp_path, "one.json", {"role": "user", "content": "Hello"})] == ["Hello"]

    def test_a_message_without_id_is_named_after_its_place_in_the_file(self, tmp_path: Path) -> None:
        found = messages(
            tmp_path, "talk.json", [{"role": "user", "content": "One"}, {"role": "user", "content": "Two"}]
        )
        assert [m.source_id for m in found] == ["talk.json#1", "talk.json#2"]

    def test_the_text_parts_of_a_content_array_are_joined(self, tmp_path: Path) -> None:
        parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "x"}}, "a cat"]
        assert messages(tmp_path, "t.json", [{"role": "user", "content": parts}])[0].content == "Look:\na cat"

    @pytest.mark.parametrize("turn", [{"content": None}, {"tool_calls": []}, {"content": ""}, {"content": []}])
    def test_a_message_without_words_is_empty(self, tmp_path: Path, turn: dict[str, Any]) -> None:
        assert messages(tmp_path, "t.json", [{"role": "assistant", **turn}])[0].content == ""

    @pytest.mark.parametrize(
        ("given", "role"), [("Human", "user"), ("ai", "assistant"), ("developer", "system"), ("function", "tool")]
    )
    def test_other_names_of_the_roles_are_understood(self, tmp_path: Path, given: str, role: str) -> None:
        assert messages(tmp_path, "t.json", [{"role": given, "content": "Hello"}])[0].role == role

    @pytest.mark.parametrize("field", ["at", "timestamp", "created_at"])
    @pytest.mark.parametrize(
        "value", ["2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00Z", 1714557600, 1714557600.0, 1714557600000]
    )
    def test_a_time_may_have_any_zone_or_be_a_number(self, tmp_path: Path, field: str, value: Any) -> None:
        (found,) = messages(tmp_path, "t.json", [{"role": "user", "content": "Hello", field: value}])
        assert found.at == datetime.datetime(2024, 5, 1, 10, tzinfo=UTC)

    @pytest.mark.parametrize("value", ["2024-05-01T12:00:00", "2024-05-01"])
    def test_a_naive_time_is_refused_naming_the_place(self, tmp_path: Path, value: str) -> None:
        turns = [{"role": "user", "content": "Hello"}, {"role": "user", "content": "Hello", "timestamp": value}]
        assert complaint(tmp_path, "t.json", turns).startswith(f"message 2: timestamp '{value}' has no time zone")

    @pytest.mark.parametrize("value", ["noon", 1e300, True, [], {}, "0001-01-01T00:00:00+14:00"])
    def test_what_is_no_time_is_refused(self, tmp_path: Path, value: Any) -> None:
        assert "is not a time" in complaint(tmp_path, "t.json", [{"role": "user", "content": "Hello", "at": value}])

    @pytest.mark.parametrize(
        ("turn", "why"),
        [
            ({"content": "Hello"}, "has no role"),
            ({"role": "wizard", "content": "Hello"}, "unknown role 'wizard'"),
            ({"role": 7, "content": "Hello"}, "unknown role 7"),
            ({"role": "user"}, "has no content"),
            ({"role": "user", "content": {"a": 1}}, "content is an object, not text"),
            ({"role": "user", "content": "a\0b"}, "content holds the character U+0000"),
            ({"role": "user", "content": "a\ud800b"}, "content holds the character U+D800"),
            ({"role": "user", "content": "Hello", "id": ["x"]}, "id is a list"),
            ({"role": "user", "content": "Hello", "id": "x" * 256}, "id is longer than 255 characters"),
            ("Hello", "expected an object with role and content, not a string"),
            (None, "expected an object with role and content, not null"),
        ],
    )
    def test_a_broken_message_is_named(self, tmp_path: Path, turn: Any, why: str) -> None:
        assert complaint(tmp_path, "t.json", [turn]).startswith(f"message 1: {why}")

    @pytest.mark.parametrize("data", [{}, [], {"messages": []}, {"messages": "none"}, 42, "text", None])
    def test_other_json_holds_no_messages(self, tmp_path: Path, data: Any) -> None:
        assert complaint(tmp_path, "t.json", json.dumps(data)).startswith("holds no messages")

    def test_broken_json_names_its_line(self, tmp_path: Path) -> None:
        assert complaint(tmp_path, "t.json", '[\n{"role": "user"}\n{').startswith("line 3: broken JSON")

    @pytest.mark.parametrize("hostile", ["[" * 100_000, "[" + "9" * 5000 + "]"])
    def test_json_that_no_parser_likes_is_refused(self, tmp_path: Path, hostile: str) -> None:
        assert complaint(tmp_path, "t.json", hostile).startswith("line 1: JSON that can't be read")


class TestJsonLines:
    LINES = '{"role": "user", "content": "One", "id": "a"}\n\n{"role": "assistant", "content": "Two"}\r\n'

    @pytest.mark.parametrize("name", ["talk.jsonl", "talk.ndjson", "talk.json", "talk", "talk.dump"])
    def test_a_message_per_line_works_under_any_suffix(self, tmp_path: Path, name: str) -> None:
        found = messages(tmp_path, name, self.LINES)
        assert [(m.content, m.source_id, m.sequence) for m in found] == [("One", "a", 1), ("Two", f"{name}#2", 2)]
        assert {m.conversation_id for m in found} == {"talk"}

    def test_a_conversation_per_line_works(self, tmp_path: Path) -> None:
        line = json.dumps({"messages": [{"role": "user", "content": "Hello"}]})
        found = messages(tmp_path, "many.jsonl", f"{line}\n{line}\n")
        assert [m.conversation_id for m in found] == ["many:1", "many:2"]
        assert [m.source_id for m in found] == ["many.jsonl:1#1", "many.jsonl:2#1"]

    def test_what_comes_before_a_broken_line_is_read(self, tmp_path: Path) -> None:
        reading = read(written(tmp_path, "t.jsonl", self.LINES + "{oops\n"))
        assert [next(reading).content, next(reading).content] == ["One", "Two"]
        with pytest.raises(UnreadableFile, match="line 4: broken JSON"):
            next(reading)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ('{"role": "user"}', "line 4: has no content"),
            ("[1]", "line 4: expected an object"),
            ('{"messages": [{"content": "x"}]}', "line 4: message 1: has no role"),
            ('{"role": "user", "content": "x", "at": "2024-05-01"}', "line 4: at '2024-05-01' has no time zone"),
        ],
    )
    def test_a_broken_message_names_its_line(self, tmp_path: Path, line: str, why: str) -> None:
        assert complaint(tmp_path, "t.jsonl", self.LINES + line).startswith(why)


class TestTexts:
    @pytest.mark.parametrize("name", ["notes.md", "notes.markdown", "notes.txt", "NOTES.TXT", "notes", "notes.org"])
    def test_a_short_text_is_one_piece(self, tmp_path: Path, name: str) -> None:
        assert messages(tmp_path, name, "# Notes\n\nBuy milk.\n") == [
            Message("document", "# Notes\n\nBuy milk.", None, f"{name}#1", name, 1, "text", None)
        ]

    def test_a_long_text_becomes_an_ordered_set(self, tmp_path: Path) -> None:
        words = "words " * 100
        found = messages(tmp_path, "book.md", "".join(f"# Part {n}\n\n{words}\n\n" for n in range(1, 6)))
        assert [m.source_id for m in found] == [f"book.md#{n}" for n in range(1, 6)]
        assert [m.sequence for m in found] == [1, 2, 3, 4, 5]
        assert all(m.content.startswith(f"# Part {m.sequence}") for m in found)

    def test_the_same_file_twice_gives_the_same(self, tmp_path: Path) -> None:
        path = written(tmp_path, "book.md", "Chapter. " * 1000)
        assert list(read(path)) == list(read(path))

    @pytest.mark.parametrize("text", ["[draft] Buy milk.", "{unfinished", "42"])
    def test_a_text_that_only_looks_like_json_is_a_text(self, tmp_path: Path, text: str) -> None:
        assert [m.content for m in messages(tmp_path, "notes", text)] == [text]

    def test_a_byte_order_mark_is_no_text(self, tmp_path: Path) -> None:
        assert messages(tmp_path, "t.txt", b"\xef\xbb\xbfHello there")[0].content == "Hello there"
        assert messages(tmp_path, "t.json", b'\xef\xbb\xbf[{"role": "user", "content": "Hi"}]')[0].content == "Hi"

    def test_a_very_long_file_name_leaves_room_for_the_number(self, tmp_path: Path) -> None:
        (found,) = messages(tmp_path, "x" * 250 + ".md", "Hello there")
        assert found.source_id == "x" * 200 + "#1"


class TestUnreadable:
    @pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.md", "t.txt", "t"])
    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"", "is empty"),
            (b" \n\t\n", "is empty"),
            (b"one\ntwo \xff", "line 2: is not UTF-8 text (byte 0xff)"),
            ("Grüße".encode("utf-16"), "line 1: is not UTF-8 text (byte 0xff)"),
            (b"one\n\ntwo \x00", "line 3: holds a NUL character"),
        ],
    )
    def test_bytes_that_are_no_text_are_refused(self, tmp_path: Path, name: str, content: bytes, why: str) -> None:
        assert complaint(tmp_path, name, content) == why

    def test_a_directory_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableFile, match="is not a file, but a directory"):
            list(read(tmp_path))

    def test_a_missing_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableFile, match="there is no such file"):
            list(read(tmp_path / "gone.json"))

    def test_a_name_too_long_for_the_system_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnreadableFile):
            list(read(tmp_path / ("x" * 5000)))


def test_a_hundred_thousand_lines_take_linear_time(tmp_path: Path) -> None:
    path = written(tmp_path, "big.jsonl", '{"role": "user", "content": "One more line."}\n' * 100_000)
    before = time.process_time()
    assert sum(1 for _ in read(path)) == 100_000
    assert time.process_time() - before < 10  # a quadratic pass takes minutes

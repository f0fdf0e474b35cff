"""The YAML file of checks: read strictly, each fault with its line, and written so that it reads back the same."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from memories.errors import NovaError
from memories.models import RecallCheck
from memories.models.enums import Expectation
from memories.models.namespace import is_written
from memories.models.recall import MOST_CHECKS, TOP_K
from memories.recall_checks.checks import NAME_LENGTH, CheckDraft
from memories.strict_json import UNSTORABLE

LARGEST = 256 * 1024  # characters of a file
VERSION, DEPTH = 1, 8
LONGEST = {"name": NAME_LENGTH, "question": 1000, "text": 1000, "value": 1000, "note": 1000}
FIELDS = ("name", "namespace", "question", *Expectation.values, "top_k", "note")
SCALARS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "timestamp")}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
WHOLE = "tag:yaml.org,2002:int"


class BadCheckFile(NovaError):
    """A file of checks can't be read; `line` counts from 1."""

    status = 400
    code = "validation"
    title = "This file can’t be read"

    def __init__(self, why: str, line: int) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return where."""
        return [{"field": "yaml", "message": str(self)}]


def read_file(text: str) -> list[CheckDraft]:
    """Return the checks of a file. Raise BadCheckFile for the first fault; nothing is read past it."""
    if len(text) > LARGEST:
        raise BadCheckFile(f"a file has at most {LARGEST} characters", 1)
    top = _mapping(_tree(text), ("version", "checks"))
    for name in ("version", "checks"):
        if name not in top:
            raise BadCheckFile(f"{name} is missing", 1)
    if _whole(top["version"], VERSION, VERSION, "version") != VERSION:
        raise _fault(top["version"], "this version is not known")
    rows = top["checks"]
    if not isinstance(rows, yaml.SequenceNode):
        raise _fault(rows, "checks is a list")
    if len(rows.value) > MOST_CHECKS:
        raise _fault(rows, f"there are at most {MOST_CHECKS} checks")
    drafts: dict[tuple[str, str], CheckDraft] = {}
    for node in rows.value:
        draft = _check(node)
        key = draft.namespace, draft.known_as
        if key in drafts:
            raise _fault(node, "another check of this namespace has the same name")
        drafts[key] = draft
    return list(drafts.values())


def _tree(text: str) -> yaml.Node:
    """Return the nodes of the only document, of which none stands twice. Raise BadCheckFile."""
    try:
        depth = 0  # composing nests calls as deep as the text does, in C
        for event in yaml.parse(text, Loader=LOADER):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise _fault(event, "anchors and aliases are not taken")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH:
                raise _fault(event, "this is nested too deeply")
        found = yaml.compose(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        at, begun = (mark.line + 1 if mark else 1 for mark in (error.problem_mark, error.context_mark))
        where = f", in what begins in line {begun}" if error.context_mark and begun != at else ""
        raise BadCheckFile(f"{error.problem or 'this is no YAML'}{where}", at) from error
    except yaml.reader.ReaderError as error:
        raise BadCheckFile("this character is not taken", text.count("\n", 0, error.position) + 1) from error
    if found is None:
        raise BadCheckFile("the file is empty", 1)
    return found


def _fault(at: Any, why: str) -> BadCheckFile:
    return BadCheckFile(why, at.start_mark.line + 1)


def _mapping(node: yaml.Node, known: Iterable[str]) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise _fault(node, "this has to be fields with their values")
    found: dict[str, yaml.Node] = {}
    for name, value in node.value:
        if not isinstance(name, yaml.ScalarNode) or name.value not in known:
            raise _fault(name, f"the field {str(name.value)[:50]!r} is not known; use {', '.join(known)}")
        if name.value in found:
            raise _fault(name, f"{name.value} stands twice")
        found[name.value] = value
    return found


def _check(node: yaml.Node) -> CheckDraft:
    given = _mapping(node, FIELDS)
    for name in ("namespace", "question"):
        if name not in given:
            raise _fault(node, f"{name} is missing")
    wanted = [name for name in Expectation.values if name in given]
    if len(wanted) != 1:
        raise _fault(node, f"give one of {', '.join(Expectation.values)}")
    (expects,) = wanted
    texts = {name: _text(value, name) for name, value in given.items() if name != "top_k"}
    if not is_written(texts["namespace"]):
        raise _fault(given["namespace"], "a namespace is written project:agent")
    if expects == Expectation.MEMORY:
        texts[expects] = _id(given[expects], texts[expects])
    top_k = _whole(given["top_k"], 1, 100, "top_k") if "top_k" in given else TOP_K
    return CheckDraft(
        namespace=texts["namespace"],
        question=texts["question"],
        expects=expects,
        expected=texts[expects],
        top_k=top_k,
        name=texts.get("name", ""),
        note=texts.get("note", ""),
    )


def _text(node: yaml.Node, name: str) -> str:
    """Return a text as it is written, so that `value: 007` is no number."""
    if not isinstance(node, yaml.ScalarNode) or node.tag not in SCALARS:
        raise _fault(node, f"{name} is a text")
    text = str(node.value).strip()
    if not text:
        raise _fault(node, f"{name} is empty")
    if UNSTORABLE.search(text):
        raise _fault(node, f"{name} holds a character that is not taken")
    if len(text) > LONGEST.get(name, 1000):
        raise _fault(node, f"{name} has at most {LONGEST.get(name, 1000)} characters")
    return text


def _whole(node: yaml.Node, low: int, high: int, name: str) -> int:
    plain = isinstance(node, yaml.ScalarNode) and node.tag == WHOLE and node.value.isdecimal() and len(node.value) < 5
    if not plain or not low <= int(node.value) <= high:
        raise _fault(node, f"{name} is {low}" if low == high else f"{name} is a whole number from {low} to {high}")
    return int(node.value)


def _id(node: yaml.Node, text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise _fault(node, "memory is the id of a memory") from error


def written_file(checks: Iterable[RecallCheck]) -> str:
    """Return the file of some checks, in their order."""
    return str(
        yaml.safe_dump(
            {"version": VERSION, "checks": [_row(check) for check in checks]},
            sort_keys=False,
            allow_unicode=True,
            width=110,
        )
    )


def _row(check: RecallCheck) -> Mapping[str, Any]:
    row: dict[str, Any] = {"name": check.name, "namespace": check.namespace.name, "question": check.question}
    row |= {check.expects: check.wanted}
    row |= {"top_k": check.top_k} if check.top_k != TOP_K else {}
    return row | ({"note": check.note} if check.note else {})

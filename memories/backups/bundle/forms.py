"""Forms: what the product itself writes into columns of JSON and into copies; who reads them expects nothing else."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Form = Callable[[Any], bool]

# As Postgres writes times, of the years that Python has too; in this form the order of texts is that of times.
TIME = re.compile(r"(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00", re.ASCII)
DATE = re.compile(r"(?!0000)\d{4}-\d\d-\d\d", re.ASCII)
BYTES = re.compile(r"\\x([0-9a-f]{2})*", re.ASCII)
DIGEST = re.compile(r"([0-9a-f]{2})*", re.ASCII)
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


def _of(*types: type) -> Form:
    return lambda record: type(record) in types


def _like(pattern: re.Pattern[str]) -> Form:
    return lambda record: type(record) is str and pattern.fullmatch(record) is not None


def _maybe(form: Form) -> Form:
    return lambda record: record is None or form(record)


def _each(form: Form) -> Form:
    return lambda record: type(record) is list and all(map(form, record))


def _row(*parts: Form) -> Form:
    return lambda record: (
        type(record) is list
        and len(record) == len(parts)
        and all(form(each) for form, each in zip(parts, record, strict=True))
    )


def _by_id(form: Form) -> Form:
    return lambda record: (
        type(record) is dict and all(ID.fullmatch(key) and form(value) for key, value in record.items())
    )


def _object(optional: Mapping[str, Form] | None = None, **parts: Form) -> Form:
    more = optional or {}
    both = {**parts, **more}
    return lambda record: (
        type(record) is dict
        and record.keys() - more.keys() == parts.keys()
        and all(both[name](value) for name, value in record.items())
    )


_text, _flag, _whole, _number = _of(str), _of(bool), _of(int), _of(int, float)
_id, _time = _like(ID), _like(TIME)


def _share(record: Any) -> bool:
    return _number(record) and 0 <= record <= 1


def _details(record: Any) -> bool:
    return type(record) is dict and all(type(each) in (str, int, float, bool) for each in record.values())


_CLAIM = (_whole, _maybe(_time), _maybe(_time), _flag)
_STATE = _by_id(
    _object(
        {"claim": _row(*_CLAIM), "claims": _by_id(_row(*_CLAIM, _text, _maybe(_id)))},
        fragment=_row(_text, _maybe(_id), _text, _time),
    )
)
_OF_A_CASE: dict[str, Form] = {"case": _object(decision=_id, place=_whole)}
_DECIDED = _object(
    {"made": _each(_id), "claims_made": _each(_id), "contests": _each(_id), **_OF_A_CASE},
    fragments=_STATE,
    after=_STATE,
    siblings=_each(_id),
    pairs=_by_id(
        _object(
            {"existing_claim": _maybe(_id)},
            existing_authority=_maybe(_whole),
            existing_trust=_maybe(_number),
            reason=_text,
            existing_id=_maybe(_id),
        )
    ),
    succession=_object({"claims": _by_id(_maybe(_id))}, moved=_by_id(_id), ended=_each(_id), links=_each(_id)),
    predicate=_maybe(
        _object(
            namespace_id=_id,
            predicate_name=_text,
            former=_object(registered=_flag, exclusive=_maybe(_flag), exceptions=_each(_id), left=_whole),
        )
    ),
)
_SETTLED = _object(_OF_A_CASE, settled_with=_id)

_FORMER: dict[str, Form] = {"subject": _text, "predicate": _text, "value": _text, "value_digest": _like(DIGEST)}

# Of every column that holds JSON.
FORMS: dict[tuple[str, str], Form] = {
    ("memories.Fragment", "extra"): _of(dict),
    ("memories.Fragment", "entities"): _each(_object(text=_text, label=_text, confidence=_share)),
    ("memories.Revision", "claim"): _maybe(
        _object({"others": _each(_object(None, **_FORMER))}, **_FORMER),
    ),
    ("conflicts.PendingConflict", "statement"): _maybe(
        _object(subject=_text, predicate=_text, value=_text, negated=_flag)
    ),
    ("conflicts.PendingConflict", "before"): _maybe(lambda told: _DECIDED(told) or _SETTLED(told)),
    ("memories.Tombstone", "reason_details"): _details,
}

# What a copy holds of a fragment that left beside the rows under it: the ids of those that named it.
_ids = _maybe(_each(_id))
NAMING: Form = _object({"outdone": _ids}, replaced=_ids, newcomer_of=_ids, existing_of=_ids)
# What it holds of one whose text was shortened.
SHORTENED: Form = _object(
    fragment=_object(content=_text, compression=_text, revision=_whole),
    made=_object(content=_text, compression=_text),
)

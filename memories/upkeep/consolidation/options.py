"""What is asked of a consolidation, checked; the defaults and ranges are those of docs/spec.md §7."""

import uuid
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings

from memories import governance
from memories.operations import ACCEPT, BadOptions, Options

LEAST_LIKENESS = 0.5
MOST_LEFT_OUT = 1000
RANGES: dict[str, tuple[float, float]] = {
    "dedup_threshold": (LEAST_LIKENESS, 1),
    "corroborate_threshold": (LEAST_LIKENESS, 1),
    "compress_age_days": (0, 36_500),
    "prune_age_days": (0, 36_500),
    "max_memories": (1, 2**31 - 1),
}
WHOLE = ("compress_age_days", "prune_age_days", "max_memories")
FLAGS = ("prune_superseded", "confirm", ACCEPT)
LLM = "llm"
METHODS = ("extractive", LLM)


@dataclass(frozen=True, slots=True)
class ConsolidationOptions:
    """The options of a run. `max_memories`: how many memories it may change at most; the rest is deferred.

    `plan_id`: apply the plan of that operation instead of making one, without its steps of the numbers `leave_out`;
    `confirm`: although it changes much; `accept_recall_loss`: although recall checks would fail afterwards.
    """

    dedup_threshold: float = settings.CONSOLIDATION["dedup_threshold"]
    corroborate_threshold: float = settings.CONSOLIDATION["corroborate_threshold"]
    compress_age_days: int = settings.CONSOLIDATION["compress_age_days"]
    prune_superseded: bool = True
    prune_age_days: int = settings.CONSOLIDATION["prune_age_days"]
    method: str = "extractive"
    max_memories: int | None = None
    plan_id: uuid.UUID | None = None
    confirm: bool = False
    accept_recall_loss: bool = False
    leave_out: frozenset[int] = frozenset()


def parse_options(options: Options) -> ConsolidationOptions:
    """Return the options of an operation. Raise BadOptions."""
    known = {field.name for field in fields(ConsolidationOptions)}
    for name in sorted(set(options) - known):
        raise BadOptions(name, "This option is not known.")
    given = {name: value for name, value in options.items() if value is not None}
    for name, (low, high) in RANGES.items():
        if name in given:
            _check_number(name, given[name], low, high)
    for name in FLAGS:
        if not isinstance(given.get(name, False), bool):
            raise BadOptions(name, "Give true or false.")
    if given.get("method", METHODS[0]) not in METHODS:
        raise BadOptions("method", f"Use one of: {', '.join(METHODS)}.")
    left = _numbers(given.pop("leave_out", []), planned="plan_id" in given)
    return ConsolidationOptions(**given | {"plan_id": _id(given.get("plan_id")), "leave_out": left})


def _numbers(value: Any, *, planned: bool) -> frozenset[int]:
    good = isinstance(value, list) and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in value)
    if not good or len(value) > MOST_LEFT_OUT:
        raise BadOptions("leave_out", f"Give up to {MOST_LEFT_OUT} numbers of steps.")
    if value and not planned:
        raise BadOptions("leave_out", "This goes with a plan_id.")
    return frozenset(value)


def check_method(method: Any) -> None:
    """Raise BadOptions unless digests can be made by this method."""
    if method not in METHODS:
        raise BadOptions("method", f"Use one of: {', '.join(METHODS)}.")
    if method == LLM and not governance.digests.has_model():
        raise BadOptions("method", "No language model is bound: use extractive.")


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    kinds = int if name in WHOLE else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise BadOptions(name, f"Give a {'whole ' if name in WHOLE else ''}number from {low:g} to {high:g}.")


def _id(value: Any) -> uuid.UUID | None:
    if value is None:
        return None
    try:
        return uuid.UUID(value)
    except (TypeError, ValueError, AttributeError) as error:
        raise BadOptions("plan_id", "Give the id of a plan.") from error


def check(options: Options) -> None:
    """Raise BadOptions unless they are those of a consolidation that can begin now."""
    check_method(parse_options(options).method)

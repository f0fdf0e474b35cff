"""Thresholds at which memories get cold, shorter, archived and evicted: the installation's, or a project's own."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from django.conf import settings

from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Operation, Project
from memories.models.enums import Verb
from memories.models.scoring import COLD, FADED
from memories.operations import BadOptions

# None of them is below the one before.
AGES = ("summary_days", "keywords_days", "hash_days")
RISING = (("archive_below", "cold_below"), AGES, ("eviction_target", "eviction_start"))
# The largest of those that are whole; the others are shares.
WHOLE = {**dict.fromkeys(("warm_days", *AGES), 36_500), "capacity": 10**12}


class BadThreshold(NovaError):
    """A number that is none, out of its range, or does not rise where it has to."""

    status = 400
    code = "bad_threshold"
    title = "These thresholds are not possible"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Relevances and shares of the capacity from 0 to 1, days without use from 1 on; the capacity in memories."""

    cold_below: float = COLD
    archive_below: float = FADED
    warm_days: int = settings.TIERING["warm_days"]
    summary_days: int = settings.COMPACTION_DAYS["summary"]
    keywords_days: int = settings.COMPACTION_DAYS["keywords"]
    hash_days: int = settings.COMPACTION_DAYS["hash"]
    capacity: int = field(default_factory=lambda: int(settings.CAPACITY["all"]))
    eviction_start: float = settings.EVICTION["start"]
    eviction_target: float = settings.EVICTION["target"]

    @property
    def compaction_days(self) -> dict[str, int]:
        """Days by level."""
        return {"summary": self.summary_days, "keywords": self.keywords_days, "hash": self.hash_days}


NAMES = [each.name for each in fields(Thresholds)]


def thresholds_of(project_id: uuid.UUID) -> Thresholds:
    """Return those in force in a project."""
    return Thresholds(**own_thresholds(project_id))


def own_thresholds(project_id: uuid.UUID) -> dict[str, Any]:
    """Return those that a project sets for itself, by name."""
    own = Project.objects.filter(id=project_id).values_list("thresholds", flat=True).first() or {}
    return {name: own[name] for name in NAMES if name in own}


def parse_thresholds(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers of texts, without what is empty. Raise BadThreshold, which names what is wrong."""
    texts = {name: str(given.get(name, "")).strip() for name in NAMES}
    own: dict[str, Any] = {name: _number(name, text) for name, text in texts.items() if text}
    values = asdict(Thresholds(**own))
    for names in RISING:
        numbers = [values[name] for name in names]
        if numbers != sorted(numbers) or (names == AGES and len({*numbers}) < len(numbers)):
            raise BadThreshold(f"{', '.join(names)} have to rise, and would be {', '.join(map(str, numbers))}.")
    return own


def _number(name: str, text: str) -> float | int:
    most = WHOLE.get(name)
    low, high = (1, most) if most else (0, 1)
    try:
        value = int(text) if most else float(text)
    except ValueError as error:
        raise BadThreshold(f"{name} has to be a {'whole ' if most else ''}number.") from error
    if not low <= value <= high:
        raise BadThreshold(f"{name} has to be from {low} to {high}.")
    return value


def set_thresholds(principal: Principal, own: Mapping[str, Any]) -> None:
    """Let a project have its own; what is left out is the installation's. Raise NotPermitted, BadThreshold."""
    principal.require(Verb.ADMIN)
    with access.enter(principal, why="set thresholds"):
        Project.objects.filter(id=principal.project_id).update(thresholds=parse_thresholds(own))


def compaction_days(operation: Operation) -> dict[str, int]:
    """Return the days by level of one compaction: those that it names, else its project's."""
    own = thresholds_of(operation.project_id).compaction_days
    return {level: operation.options.get(f"{level}_days", days) for level, days in own.items()}


def refuse_falling_days(operation: Operation) -> None:
    """Raise BadOptions where the days of a compaction do not rise."""
    ages = list(compaction_days(operation).values())
    if ages != sorted(set(ages)):
        raise BadOptions("options", f"The days have to rise: {', '.join(AGES)} would be {ages}.")

"""Thresholds at which memories get cold, shorter, archived and evicted, and the rates at which they come there.

The installation's, or a project's own.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from django.conf import settings
from django.utils import timezone

from memories import access, operations
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Operation, Project
from memories.models.enums import Verb
from memories.models.scoring import COLD, FADED, RATES, Rates
from memories.operations import BadOptions

# None of them is below the one before.
AGES = ("summary_days", "keywords_days", "hash_days")
RISING = (("archive_below", "cold_below"), AGES, ("eviction_target", "eviction_start"))
# The largest of those that are whole; from where to where those may be that are no shares.
WHOLE = {**dict.fromkeys(("warm_days", *AGES), 36_500), "capacity": 10**12}
FACTORS = dict.fromkeys(("decay_per_day", "weight_access", "weight_decay_per_day", "weight_emotion"), (0, 10))
RANGES = {**{name: (1, most) for name, most in WHOLE.items()}, **FACTORS, "weight_kept": (1, 10)}
FLAGS = {"yes": True, "no": False}
PLACES = 6  # Postgres refuses products of what is next to nothing


class BadThreshold(NovaError):
    """A threshold or rate that is none, out of its range, or does not rise where it has to."""

    status = 400
    code = "bad_threshold"
    title = "These thresholds or rates are not possible"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Relevances and shares of the capacity from 0 to 1, days without use from 1 on; the capacity in memories.

    Beside them the rates by which relevance and weight come there.
    """

    cold_below: float = COLD
    archive_below: float = FADED
    warm_days: int = settings.TIERING["warm_days"]
    summary_days: int = settings.COMPACTION_DAYS["summary"]
    keywords_days: int = settings.COMPACTION_DAYS["keywords"]
    hash_days: int = settings.COMPACTION_DAYS["hash"]
    capacity: int = field(default_factory=lambda: int(settings.CAPACITY["all"]))
    eviction_start: float = settings.EVICTION["start"]
    eviction_target: float = settings.EVICTION["target"]
    rates: Rates = field(default_factory=Rates)

    @classmethod
    def of(cls, own: Mapping[str, Any]) -> Self:
        """Return those in force where these are set, by name, rates among them."""
        return cls(**{name: own[name] for name in THRESHOLDS if name in own}, rates=Rates.of(own))

    @property
    def values(self) -> dict[str, Any]:
        """All by name, rates among them."""
        return {**{name: getattr(self, name) for name in THRESHOLDS}, **self.rates.params}

    @property
    def compaction_days(self) -> dict[str, int]:
        """Days by level."""
        return {"summary": self.summary_days, "keywords": self.keywords_days, "hash": self.hash_days}


THRESHOLDS = [each.name for each in fields(Thresholds) if each.name != "rates"]
NAMES = [*THRESHOLDS, *RATES]


def thresholds_of(project_id: uuid.UUID) -> Thresholds:
    """Return those in force in a project, with its rates."""
    return Thresholds.of(own_thresholds(project_id))


def own_thresholds(project_id: uuid.UUID) -> dict[str, Any]:
    """Return the thresholds and rates that a project sets for itself, by name."""
    found = Project.objects.filter(id=project_id).values_list("thresholds", "rates").first() or ({}, {})
    own = {**found[0], **found[1]}
    return {name: own[name] for name in NAMES if name in own}


def texts_of(own: Mapping[str, Any]) -> dict[str, str]:
    """Return all by name as `parse_thresholds` reads them, empty where the installation's hold."""
    words = {value: word for word, value in FLAGS.items()}
    values = {name: own.get(name, "") for name in NAMES}
    return {name: words[value] if isinstance(value, bool) else str(value) for name, value in values.items()}


def parse_thresholds(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers of texts, without what is empty. Raise BadThreshold, which names what is wrong."""
    texts = {name: str(given.get(name, "")).strip() for name in NAMES}
    own: dict[str, Any] = {name: _value(name, text) for name, text in texts.items() if text}
    values = Thresholds.of(own).values
    for names in RISING:
        numbers = [values[name] for name in names]
        if numbers != sorted(numbers) or (names == AGES and len({*numbers}) < len(numbers)):
            raise BadThreshold(f"{', '.join(names)} have to rise, and would be {', '.join(map(str, numbers))}.")
    return own


def _value(name: str, text: str) -> float | int | bool:
    if name == "decay_sm2":
        if text not in FLAGS:
            raise BadThreshold(f"{name} has to be {' or '.join(FLAGS)}.")
        return FLAGS[text]
    low, high = RANGES.get(name, (0, 1))
    try:
        value = int(text) if name in WHOLE else round(float(text), PLACES)
    except ValueError as error:
        raise BadThreshold(f"{name} has to be a {'whole ' if name in WHOLE else ''}number.") from error
    if not low <= value <= high:
        raise BadThreshold(f"{name} has to be from {low} to {high}.")
    return value


def set_thresholds(principal: Principal, own: Mapping[str, Any]) -> None:
    """Let a project have its own, rates among them; what is left out is the installation's. Noted as an operation.

    Raise NotPermitted, BadThreshold.
    """
    principal.require(Verb.ADMIN)
    wanted = parse_thresholds(own)
    thresholds, rates = ({name: wanted[name] for name in names if name in wanted} for names in (THRESHOLDS, RATES))
    with access.enter(principal, why="set thresholds"):
        projects = Project.objects.filter(id=principal.project_id)
        # Without its key, to which every row that is written refers: nobody's writes wait, and none is waited for.
        former = projects.select_for_update(no_key=True).values("thresholds", "rates").get()
        if former == {"thresholds": thresholds, "rates": rates}:
            return
        projects.update(thresholds=thresholds, rates=rates)
        report = {"before": {**former["thresholds"], **former["rates"]}, "after": wanted}
        operations.record(principal, kind="set_thresholds", report=report, now=timezone.now())


def compaction_days(operation: Operation) -> dict[str, int]:
    """Return the days by level of one compaction: those that it names, else its project's."""
    own = thresholds_of(operation.project_id).compaction_days
    return {level: operation.options.get(f"{level}_days", days) for level, days in own.items()}


def refuse_falling_days(operation: Operation) -> None:
    """Raise BadOptions where the days of a compaction do not rise."""
    ages = list(compaction_days(operation).values())
    if ages != sorted(set(ages)):
        raise BadOptions("options", f"The days have to rise: {', '.join(AGES)} would be {ages}.")

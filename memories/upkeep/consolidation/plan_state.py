"""Plan state: how the namespace will stand when the phases planned so far have been applied."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memories.access import Principal
from memories.models import EmbeddingModel, Namespace, Operation, PlanStep
from memories.upkeep.consolidation.options import ConsolidationOptions
from memories.upkeep.consolidation.steps import Phase, StepDraft
from memories.upkeep.failures import SetAside
from memories.upkeep.thresholds import Thresholds

# A cap a run, so that one run's transaction stays short; what it puts off is `deferred`.
MOST_HEARD, MOST_DIGESTS = 5_000, 5


@dataclass(slots=True)
class Outlook:
    """A plan in the making. Phases read it, answer steps and say what changes."""

    principal: Principal
    operation: Operation
    namespace: Namespace
    wish: ConsolidationOptions
    model: EmbeddingModel
    # What earlier runs at the same `now` used up of the caps, by the name of the cap.
    used: dict[str, int] = field(default_factory=dict)
    declined: set[tuple[str, uuid.UUID, uuid.UUID | None]] = field(default_factory=set)
    examined_to: int = 0
    steps: list[StepDraft] = field(default_factory=list)
    deferred: dict[str, int] = field(default_factory=dict)
    # Who yields to whom by merging; who says at the gate what whom says; who is not active any more; who is active
    # again; who changes.
    merged: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    repeated: dict[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    gone: set[uuid.UUID] = field(default_factory=set)
    arrived: set[uuid.UUID] = field(default_factory=set)
    changed: set[uuid.UUID] = field(default_factory=set)
    # Who waits for its digest in a later run and does not fade until then.
    waiting: set[uuid.UUID] = field(default_factory=set)
    # Who is going to claim something that is believed more than a document.
    believed: set[uuid.UUID] = field(default_factory=set)
    thresholds: Thresholds = field(default_factory=Thresholds)
    # The rows that a phase failed on.
    aside: SetAside = field(default_factory=SetAside)

    @property
    def project_id(self) -> uuid.UUID:
        """The tenant."""
        return self.principal.project_id

    @property
    def now(self) -> datetime.datetime:
        """The time of the run, fixed by its operation."""
        return self.operation.created_at

    def wanted(self, steps: Iterable[StepDraft]) -> list[StepDraft]:
        """Return those that nobody took back before."""
        return [s for s in steps if (str(s.phase), s.fragment, s.other) not in self.declined]

    def take(self, steps: Sequence[StepDraft]) -> list[StepDraft]:
        """Add steps to the plan, as many as the run may still change; the rest is deferred. Answers those added."""
        room = len(steps)
        if self.wish.max_memories is not None:
            planned = sum(counts(step) for step in self.steps)
            room = max(0, self.wish.max_memories - self.used.get("memories", 0) - planned)
        taken = steps[:room]
        self.put_off(steps[0].phase if steps else "", len(steps) - len(taken))
        self.steps += taken
        return list(taken)

    def put_off(self, name: str, number: int) -> None:
        """Note what a cap keeps for a later run."""
        if number > 0:
            self.deferred[str(name)] = self.deferred.get(str(name), 0) + number


def counts(step: StepDraft) -> bool:
    """Whether a step counts as a change of a memory: fading is no change, and a new claim of what stands neither."""
    return step.phase != Phase.DECAY


def declined_steps(namespace: Namespace) -> set[tuple[str, uuid.UUID, uuid.UUID | None]]:
    """Return what runs in the namespace did that somebody took back."""
    rows = PlanStep.objects.within(namespace.project_id).filter(declined=True, operation__namespace=namespace)
    return set(rows.values_list("phase", "fragment_id", "other_id"))

"""Plan execution: every phase of the namespace in one transaction, so that it stands as before or as after it."""

import datetime
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from django.db import connection, transaction
from django.db.models import Q

from conflicts.public import lock_namespace
from memories import access, failpoints
from memories.errors import NovaError
from memories.models import Fragment, Operation
from memories.models.enums import OperationState, RecallCause
from memories.operations import Progress
from memories.recall_checks import RecallGuard
from memories.run_changes import count_changes, record_changes
from memories.upkeep.consolidation import (
    contradiction_scan,
    corroboration,
    decay,
    deduplication,
    digest_phase,
    digests,
    reports,
    steps,
)
from memories.upkeep.consolidation.options import LLM
from memories.upkeep.consolidation.plan_state import Outlook
from memories.upkeep.consolidation.steps import Phase, StepDraft, of_phase
from memories.upkeep.failures import SetAside

FREE, SHARE = 100, 0.2  # a run that changes more than both asks before


class _OnlyLooked(Exception):
    """A rehearsal ends: all is as before."""


class NeedsConfirmation(NovaError):
    """The plan would change so much that an administrator has to confirm it."""

    code = "needs_confirmation"


def guard(outlook: Outlook, plan: Sequence[StepDraft], before: dict[str, int]) -> None:
    """Raise NeedsConfirmation for a plan that changes more than 100 memories and a fifth of all, unless confirmed.

    Of the scopes of users it counts what was changed in an hour below their root, or many small runs would pass it.
    """
    if outlook.wish.confirm or not (number := reports.changed(plan)):
        return
    number += _changed_beside(outlook)
    total = before["total"] if outlook.namespace.parent_id is None else _total_under_root(outlook)
    if number > max(FREE, SHARE * total):
        raise NeedsConfirmation(f"{number} of {total} memories would change")


def _changed_beside(outlook: Outlook) -> int:
    """Return how many memories runs of the last hour changed in the scopes of the root's other users."""
    if outlook.namespace.parent_id is None:
        return 0
    with access.enter(outlook.principal, why="consolidate"):
        runs = Operation.objects.within(outlook.project_id).filter(
            kind=outlook.operation.kind,
            namespace__parent=outlook.namespace.parent_id,
            state=OperationState.SUCCEEDED,
            dry_run=False,
            finished_at__gte=outlook.now - datetime.timedelta(hours=1),
        )
        used = [(report or {}).get("used", {}).get("memories", 0) for report in runs.values_list("report", flat=True)]
    return sum(used)


def _total_under_root(outlook: Outlook) -> int:
    here = Q(namespace=outlook.namespace.root_id) | Q(namespace__parent=outlook.namespace.root_id)
    with access.enter(outlook.principal, why="consolidate"):
        return int(Fragment.objects.within(outlook.project_id).filter(here).count())


def run(outlook: Outlook, plan: Operation, told: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Apply a plan; answer what was done. Raise NeedsConfirmation, RecallLost, LeaseLost; nothing is applied."""
    with access.enter(outlook.principal, why="consolidate"):
        known = {n: step for n, step in steps.load_steps(plan).items() if n not in outlook.wish.leave_out}
    guard(outlook, list(known.values()), told["before"])
    outlook.aside = SetAside(str(Phase.DIGEST), told.get("set_aside", ()))
    drafts = digest_phase.prepare(outlook, of_phase(known.values(), Phase.DIGEST))
    recall = _recall_guard(outlook)
    with access.enter(outlook.principal, why="consolidate"):
        lock_namespace(outlook.namespace.id)
        memories = Fragment.objects.within(outlook.namespace.project_id).in_namespaces([outlook.namespace])
        before = memories.totals()
        unchanged = _lock_planned(outlook, plan)
        ready = [step for ordinal, step in sorted(known.items()) if ordinal in unchanged]
        with record_changes(outlook.operation):
            done = _phases(outlook, ready, list(known.values()), drafts, progress)
        did = {(step.phase, step.fragment, step.other) for step in done}
        left = {n: step for n, step in known.items() if (step.phase, step.fragment, step.other) not in did}
        report = {
            **reports.counted(done),
            "stale": reports.named(list(left.values())),
            "left": sorted(left),
            "before": before,
            "after": memories.totals(),
            "recorded": count_changes(outlook.operation),
            "used": _used(done),
            **outlook.aside.report(),
            **recall.settle(accept=outlook.wish.accept_recall_loss, progress=progress),
        }
        progress.save(stage="applied", done=steps.STAGES, total=steps.STAGES, cursor={"plan": told, "applied": report})
        failpoints.reach("consolidation.applied")
    failpoints.reach("consolidation.committed")
    return report


def rehearse(outlook: Outlook, plan: Operation, text: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Answer what recall checks would find: applies the plan and take it back. Nothing where a model would write."""
    with access.enter(outlook.principal, why="plan"):
        known = steps.load_steps(plan)
    if not known or outlook.wish.method == LLM:
        return {}
    recall = _recall_guard(outlook)
    if not recall.asked:
        return {}
    outlook.aside = SetAside(str(Phase.DIGEST), text.get("set_aside", ()))
    drafts = digest_phase.prepare(outlook, of_phase(known.values(), Phase.DIGEST))
    with access.enter(outlook.principal, why="plan"), suppress(_OnlyLooked), transaction.atomic():
        lock_namespace(outlook.namespace.id)
        unchanged = _lock_planned(outlook, plan)
        ready = [step for ordinal, step in sorted(known.items()) if ordinal in unchanged]
        _phases(outlook, ready, list(known.values()), drafts, progress)
        recall.look()
        raise _OnlyLooked
    return recall.told()


def _recall_guard(outlook: Outlook) -> RecallGuard:
    operation = outlook.operation
    return RecallGuard.around(
        outlook.principal,
        [outlook.namespace],
        cause=RecallCause.CONSOLIDATION,
        now=operation.started_at or operation.created_at,
        namespace=outlook.namespace,
        operation=operation,
    )


def _lock_planned(outlook: Outlook, plan: Operation) -> set[int]:
    """Lock all that the plan names, in the order in which everybody does; the steps that nothing overtook."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM (SELECT f.id FROM memories_fragment f WHERE f.project_id = %(project)s AND f.id IN (
                   SELECT s.fragment_id FROM memories_planstep s
                       WHERE s.project_id = %(project)s AND s.operation_id = %(plan)s
                   UNION SELECT s.other_id FROM memories_planstep s
                       WHERE s.project_id = %(project)s AND s.operation_id = %(plan)s)
               ORDER BY f.id FOR NO KEY UPDATE OF f) AS held""",
            {"project": outlook.project_id, "plan": plan.id},
        )
    return steps.unchanged_steps(plan)


def _phases(
    outlook: Outlook,
    ready: Sequence[StepDraft],
    planned: Sequence[StepDraft],
    drafts: Sequence[digests.DigestDraft],
    progress: Progress,
) -> list[StepDraft]:
    phases: list[tuple[Phase, Callable[[Sequence[StepDraft]], list[StepDraft]]]] = [
        (Phase.DEDUPLICATE, lambda wanted: deduplication.apply(outlook, wanted)),
        (Phase.CONTRADICTIONS, lambda wanted: contradiction_scan.apply(outlook, wanted)),
        (Phase.CORROBORATE, lambda wanted: corroboration.apply(outlook, wanted)),
        (
            Phase.DIGEST,
            lambda wanted: digest_phase.apply(outlook, wanted, drafts, planned=of_phase(planned, Phase.DIGEST)),
        ),
        (Phase.DECAY, lambda wanted: decay.move_faded_to_cold(outlook, wanted)),
        (Phase.ARCHIVE, lambda wanted: decay.archive(outlook, wanted)),
        (Phase.PRUNE, lambda wanted: decay.prune(outlook, wanted)),
    ]
    done: list[StepDraft] = []
    for number, (phase, apply) in enumerate(phases, start=steps.PLANNED):
        progress.note(stage=f"apply {phase}", done=number, total=steps.STAGES)
        outlook.aside.phase = str(phase)
        done += outlook.aside.together(of_phase(ready, phase), apply, name=lambda step: step.fragment)
        if progress.report is not None:
            progress.report["phases"].append(str(phase))
        failpoints.reach(f"consolidation.apply.{phase}")
    return done


def _used(done: Sequence[StepDraft]) -> dict[str, int]:
    """Return what this run used up of the caps that hold for all runs at one time."""
    return {
        "memories": reports.changed(done),
        Phase.DIGEST: len({step.details["cluster"] for step in of_phase(done, Phase.DIGEST)}),
        Phase.CONTRADICTIONS: len(of_phase(done, Phase.CONTRADICTIONS)),
    }

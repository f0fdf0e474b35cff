"""What a restore or a merge said it would do or did, in words; a plan and its report read alike."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memories import backups
from memories.access import NotFound, Principal
from memories.console.samples import samples_of
from memories.models import Operation
from memories.models.enums import Status
from memories.models.namespace import BadUser, parts_of

RESTORES = {
    "insert": "to come back",
    "update": "to be replaced by a newer version",
    "unchanged": "standing already as they are",
    "skipped_stale": "left out, for what stands is newer",
    "blocked_by_erasure": "staying forgotten",
    "contained": "of these set aside again, for a containment in force reaches them",
    "conflict": "different at the same time: for a person to settle",
}
RESTORED = RESTORES | {
    "insert": "came back",
    "update": "were replaced by a newer version",
    "unchanged": "stood already as they were",
    "skipped_stale": "left out, for what stood was newer",
    "blocked_by_erasure": "stayed forgotten",
    "contained": "of these were set aside again, for a containment in force reaches them",
}
# Records that a bundle holds and a restore does not take at all, by the report's `left_out`.
LEFT_OUT = {
    "forgotten": "memories of users who were erased",
    "contained": "memories that are contained",
    "quarantined": "memories that waited for a person there",
    "erasure": "fingerprints of what was forgotten, keyed with another salt",
    "owner": "owners",
    "predicate": "rules of predicates",
    "origin": "origins",
    "conflict": "conflicts",
    "ruling": "rulings",
    "tombstone": "tombstones",
    "archive": "copies of what was evicted",
    "access": "counts of reads",
    "vector": "vectors, which are computed anew",
    "link": "links",
}
# What the gate made of claims that oppose what is believed here.
AT_THE_GATE: dict[str, str] = {
    Status.ACTIVE: "of these oppose what is believed here, and stand",
    Status.QUARANTINED: "of these oppose what is believed here, and wait in review",
    Status.SUPERSEDED: "of these oppose what is believed here, and were replaced by it",
    Status.ARCHIVED: "of these oppose what is believed here, and were ruled out",
    Status.DISPUTED: "of these oppose what is believed here, and are disputed",
}
SUCH = {
    "come back": "came back",
    "are replaced": "were replaced",
    "are left out": "were left out",
    "are for a person to settle": "went to a person to settle",
    "stay forgotten": "stayed forgotten",
    "are refused": "were refused",
}
MERGES = {
    "added": "Only there: come in",
    "superseded": "Replaced by what comes in",
    "conflicting": "Conflict: go to review",
    "skipped": "Left out",
    "blocked_by_erasure": "Stay forgotten",
    "forgotten": "Forgotten in the branch: will be forgotten here",
    "carried": "On both sides: details, votes and use move along",
}
MERGED = MERGES | {
    "added": "Came in",
    "superseded": "Were replaced by what came in",
    "conflicting": "Conflicts: wait in review",
    "blocked_by_erasure": "Stayed forgotten",
    "forgotten": "Were forgotten, as in the branch",
    "carried": "On both sides: details, votes and use moved along",
    "history": "Former versions brought along",
}
# Of a rollback: lists of memories, what is counted beside them, and why something was let be.
ROLLBACKS = {
    "set_aside": "Came since: are archived",
    "changed": "Changed since: stand as they stood",
    "reworded": "Rewritten since: read as they did",
    "returned": "Evicted since: come back",
}
ROLLED_BACK = {
    "set_aside": "Came since: were archived",
    "changed": "Changed since: stand as they stood",
    "reworded": "Rewritten since: read as they did",
    "returned": "Evicted since: came back",
}
BESIDE_ROLLBACKS = {
    "conflicts_reopened": "Conflicts that wait again",
    "conflicts_closed": "Conflicts that wait no more",
    "rulings_withdrawn": "Decisions taken back",
    "rulings_restored": "Decisions that hold again",
}
LET_BE = {
    "contained": "contained",
    "forgotten": "forgotten since",
    "purged": "evicted since, and no copy is kept",
    "text_forgotten": "former text was forgotten",
    "text_lost": "former text is not kept",
    "words_lost": "former claim is not kept",
    "votes_lost": "former votes are not kept",
    "cause_forgotten": "what they stood behind is forgotten or contained",
    "details": "tags and the like",
}


@dataclass(frozen=True, slots=True)
class AgentPart:
    """An agent's namespace with how many of its users' scopes, and the counts of all of these together."""

    name: str
    users: int
    counts: Mapping[str, int]
    refused: int = 0


@dataclass(frozen=True, slots=True)
class ReportText:
    """What a restore would do or did: how many memories, by agent and together, with examples."""

    lines: list[tuple[str, int, str]]
    refused: list[tuple[str, int]]
    places: list[AgentPart]
    changes: int
    forgotten: int
    conflicts: int
    samples: list[tuple[str, list[tuple[str, str]]]]
    left_out: list[tuple[str, int]] = field(default_factory=list)

    @property
    def changes_anything(self) -> bool:
        """Whether any memory comes, changes, goes or has to be settled."""
        return bool(self.changes or self.forgotten or self.conflicts)


def report_of(
    principal: Principal, file: str, report: Mapping[str, Any], *, done: bool = False, salt: str = ""
) -> ReportText:
    """Return the report of a restore or of its plan; the backup's file tells what stands nowhere else.

    `salt`: of the ids that a plan for a new namespace names.
    """
    says = RESTORED if done else RESTORES
    parts, gate = report.get("namespaces") or {}, Counter[str]()
    for part in parts.values():
        gate.update(part.get("through_the_gate") or {})
    samples = samples_of(principal, file, report, salt=salt) if parts else []
    return ReportText(
        lines=[(name.replace("_", " "), report.get(name, 0), text) for name, text in says.items()]
        + [("through the gate", count, AT_THE_GATE.get(status, status)) for status, count in gate.items()],
        refused=[(reason.replace("_", " "), count) for reason, count in (report.get("rejected") or {}).items()],
        places=by_agent(parts),
        changes=report.get("insert", 0) + report.get("update", 0),
        forgotten=report.get("forgotten", 0),
        conflicts=report.get("conflict", 0),
        samples=[(SUCH[such] if done else such, ones) for such, ones in samples],
        left_out=[(LEFT_OUT.get(kind, kind), count) for kind, count in (report.get("left_out") or {}).items()],
    )


def by_agent(parts: Mapping[str, Mapping[str, Any]] | Iterable[str]) -> list[AgentPart]:
    """Return namespaces by agent, in their order: an agent may have more users than a page can name."""
    counts, users, refused = defaultdict[str, Counter[str]](Counter), Counter[str](), Counter[str]()
    for name in parts:
        try:
            agent, user = parts_of(name)
        except BadUser:
            agent, user = name, None
        part = parts[name] if isinstance(parts, Mapping) else {}
        counts[agent].update({bucket: count for bucket, count in part.items() if isinstance(count, int)})
        users[agent] += user is not None
        refused[agent] += sum((part.get("rejected") or {}).values())
    return [AgentPart(agent, users[agent], counts[agent], refused[agent]) for agent in counts]


def salt_of(plan: Operation) -> str:
    """Return what the ids of a plan for a new namespace are made with; empty for any other."""
    return str(plan.id) if plan.options.get("into") else ""


def restore_told(principal: Principal, row: Operation, report: Mapping[str, Any]) -> ReportText:
    """Return the same where only the operation is at hand."""
    try:
        file = backups.get_backup(principal, uuid.UUID(report["backup_id"])).file
    except NotFound:
        file = ""  # it was deleted since
    return report_of(principal, file, report, done=not row.dry_run, salt=salt_of(row))


def merge_lines(report: Mapping[str, Any], *, done: bool) -> list[tuple[str, str]]:
    """Return the counts of a merge or of its preview."""
    counts, because = report.get("counts") or {}, report.get("skipped_because") or {}
    says = MERGED if done else MERGES
    lines = [(text, str(counts[name])) for name, text in says.items() if name in counts]
    return lines + [(f"Left out: {reason.replace('_', ' ')}", str(n)) for reason, n in because.items()]


def rollback_lines(report: Mapping[str, Any], *, done: bool) -> list[tuple[str, str]]:
    """Return the counts of a rollback or of its plan."""
    counts, says = report.get("counts") or {}, (ROLLED_BACK if done else ROLLBACKS) | BESIDE_ROLLBACKS
    lines = [(text, str(counts[name])) for name, text in says.items() if name in counts]
    let_be = report.get("let_be") or {}
    return lines + [(f"Left as it is: {LET_BE.get(why, why)}", str(n)) for why, n in let_be.items()]

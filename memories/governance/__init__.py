"""Language models under governance: calls with provenance, the reduction gate, proposals, tasks of agents."""

from memories.governance.calls import expire_calls
from memories.governance.checking import Checked, check_sidecar, has_sidecar, sidecar_state
from memories.governance.deciding import decide, obstacle, undo
from memories.governance.digesting import NoDigest, Summary, has_model, summarise
from memories.governance.evolving import check_evolving, evolve
from memories.governance.extracting import read_pending
from memories.governance.gate import is_shut, judge, judge_name
from memories.governance.history import size, trim
from memories.governance.impasses import check_impasse, propose_way_out
from memories.governance.proposing import Considered, OptionProposer, Situation, conclude, consider
from memories.governance.reducing import LocalChecks
from memories.governance.reduction import Candidate, Reduction, ReductionClient
from memories.governance.tasks import RecentTask, Reported, Snapshot, TaskReport, prepare_report, recent, report_task

__all__ = [
    "Candidate",
    "Checked",
    "Considered",
    "LocalChecks",
    "NoDigest",
    "OptionProposer",
    "Reduction",
    "RecentTask",
    "ReductionClient",
    "Reported",
    "Situation",
    "Snapshot",
    "Summary",
    "TaskReport",
    "check_evolving",
    "check_impasse",
    "check_sidecar",
    "conclude",
    "consider",
    "decide",
    "evolve",
    "expire_calls",
    "has_model",
    "has_sidecar",
    "is_shut",
    "judge",
    "judge_name",
    "obstacle",
    "prepare_report",
    "propose_way_out",
    "read_pending",
    "recent",
    "report_task",
    "sidecar_state",
    "size",
    "summarise",
    "trim",
    "undo",
]

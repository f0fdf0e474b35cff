"""Language models under governance: calls with provenance, the reduction gate, proposals."""

from memories.governance.calls import expire_calls
from memories.governance.claim_extraction import read_pending
from memories.governance.decisions import decide, obstacle, undo
from memories.governance.digests import NoDigest, Summary, has_model, summarise
from memories.governance.evolution import check_evolving, evolve
from memories.governance.failed_tasks import check_impasse, propose_way_out
from memories.governance.gate import is_shut, judge, judge_name
from memories.governance.health import Checked, check_sidecar, has_sidecar, sidecar_state
from memories.governance.history import size, trim
from memories.governance.reduction_contract import ProposalCandidate, Reduction, ReductionClient
from memories.governance.reduction_judge import LocalChecks
from memories.governance.task_proposals import Considered, OptionProposer, Situation, conclude, consider

__all__ = [
    "ProposalCandidate",
    "Checked",
    "Considered",
    "LocalChecks",
    "NoDigest",
    "OptionProposer",
    "Reduction",
    "ReductionClient",
    "Situation",
    "Summary",
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
    "propose_way_out",
    "read_pending",
    "sidecar_state",
    "size",
    "summarise",
    "trim",
    "undo",
]

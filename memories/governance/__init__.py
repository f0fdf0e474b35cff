"""Language models under governance: calls with provenance, the reduction gate, proposals."""

from memories.governance import digests, health, task_proposals
from memories.governance.calls import expire_calls
from memories.governance.claim_extraction import read_pending
from memories.governance.decisions import decide, undo, why_not_replaceable
from memories.governance.evolution import check_evolving, find_contradictions
from memories.governance.failed_tasks import check_impasse, propose_way_out
from memories.governance.forget_requests import propose_forgetting
from memories.governance.gate import is_shut, judge, judge_name
from memories.governance.history import find_rewritten, size, trim

# The judge that ships, and what another one has to know: named in settings by these paths.
from memories.governance.reduction_contract import ProposalCandidate, Reduction, ReductionClient
from memories.governance.reduction_judge import LocalChecks

__all__ = [
    "check_evolving",
    "check_impasse",
    "decide",
    "digests",
    "find_contradictions",
    "find_rewritten",
    "expire_calls",
    "health",
    "is_shut",
    "LocalChecks",
    "judge",
    "ProposalCandidate",
    "Reduction",
    "ReductionClient",
    "judge_name",
    "why_not_replaceable",
    "propose_forgetting",
    "propose_way_out",
    "read_pending",
    "size",
    "task_proposals",
    "trim",
    "undo",
]

"""Long jobs: the row is the truth, a worker holds it by a lease, and a job run twice changes nothing."""

from memories.operations.kinds import BadOptions, OperationKind, Options
from memories.operations.leases import (
    OPEN,
    LeaseLost,
    NotOpen,
    cancel,
    claim,
    expire,
    record,
    start,
    starter,
    stranded_operations,
)
from memories.operations.plans import (
    ACCEPT,
    NoPlan,
    PlanChanged,
    PlanUsed,
    check_accepted,
    check_plan_id,
    plan_of,
    refuse_unfit_plan,
    runs_of,
)
from memories.operations.runner import Cancelled, Progress, error_code_of, run

__all__ = [
    "ACCEPT",
    "OPEN",
    "BadOptions",
    "Cancelled",
    "OperationKind",
    "LeaseLost",
    "NoPlan",
    "NotOpen",
    "Options",
    "PlanChanged",
    "PlanUsed",
    "Progress",
    "cancel",
    "check_plan_id",
    "check_accepted",
    "claim",
    "error_code_of",
    "expire",
    "plan_of",
    "record",
    "refuse_unfit_plan",
    "run",
    "runs_of",
    "start",
    "starter",
    "stranded_operations",
]

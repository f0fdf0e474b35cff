"""Long jobs: the row is the truth, a worker holds it by a lease, and a job run twice changes nothing."""

from memories.operations.leasing import OPEN, LeaseLost, NotOpen, cancel, claim, start, stranded
from memories.operations.running import Cancelled, Progress, run

__all__ = ["OPEN", "Cancelled", "LeaseLost", "NotOpen", "Progress", "cancel", "claim", "run", "start", "stranded"]

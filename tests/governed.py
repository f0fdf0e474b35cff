"""A language model that answers as it is told, and judges to bind_judge."""

import dataclasses

import pytest

from memories import access, governance
from memories.governance import gate
from memories.governance.reduction_contract import Reduction
from memories.governance.task_proposals import Situation
from memories.models import LlmCall, Proposal
from memories.providers import sidecar as sidecar_module
from memories.providers.fake_sidecar import serving


@pytest.fixture
def model_server(settings, monkeypatch):
    """The sidecar that the settings name; a test whose model keeps silent sets a shorter time for it."""
    monkeypatch.setattr(sidecar_module, "_made", [])
    monkeypatch.setattr(sidecar_module, "FIRST_PAUSE", 0.01)
    with serving() as running:
        settings.SIDECAR_URL, settings.SIDECAR_OPENAI, settings.SIDECAR_TIMEOUT = running.url, True, 20.0
        yield running


@dataclasses.dataclass
class Judge:
    """Says what it is told to, and keeps what it was asked."""

    allowed: bool = True
    error: Exception | None = None
    name: str = "of_the_test"
    asked: list = dataclasses.field(default_factory=list)

    def reduce(self, candidate):
        self.asked.append(candidate)
        if self.error:
            raise self.error
        return Reduction(self.allowed, () if self.allowed else ("not today",))


class Unmakable:
    """A judge that can't be made."""

    def __init__(self):
        raise RuntimeError("no")


@pytest.fixture
def bind_judge(monkeypatch, settings):
    """Binds a judge, or with None nobody."""

    def to(judge, *, advisory=False):
        settings.REDUCTION_CLIENT = "of.the.Test" if judge else ""
        settings.ADVISORY_MODE = advisory
        monkeypatch.setattr(gate, "_load_judge", lambda path: judge)
        return judge

    return to


@pytest.fixture
def propose(principal, now):
    """Asks for a proposal, here and now."""

    def ask(task="t1", context="The build failed.", *, namespace="acme:main", at=now, **more):
        considered = governance.task_proposals.ask_and_judge(
            principal, namespace, Situation(task, context), now=at, **more
        )
        return governance.task_proposals.store_outcome(principal, considered, now=at)

    return ask


@pytest.fixture
def llm_calls(principal):
    """The rows of the calls, oldest first."""

    def found():
        with access.enter(principal, why="test"):
            return list(LlmCall.objects.within(principal.project_id).order_by("created_at", "latency_ms"))

    return found


@pytest.fixture
def proposal_history(principal):
    """The entries of the history, oldest first."""

    def found(**filters):
        with access.enter(principal, why="test"):
            rows = Proposal.objects.within(principal.project_id).select_related("fragment")
            return list(rows.filter(**filters).order_by("created_at", "id"))

    return found


@pytest.fixture
def contradict(principal):
    """A proposal that waits: the newer of two memories may replace the older one."""

    def wait(older, newer, *, reason="one denies the other"):
        with access.enter(principal, why="test"):
            return Proposal.objects.create(
                project_id=principal.project_id,
                namespace_id=older.namespace_id,
                task_id="evolve",
                kind="supersession",
                outcome="allowed",
                proposal={"older": str(older.id), "newer": str(newer.id), "reason": reason},
                judge="local_checks",
                about=[older.id, newer.id],
                waiting=True,
            )

    return wait

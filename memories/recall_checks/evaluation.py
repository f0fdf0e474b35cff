"""Evaluation: what each check finds, in whatever state the open transaction is; without a reranker, and uncounted."""

import datetime
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from conflicts.keys import Naming, naming
from memories import access, retrieval
from memories.access import Principal
from memories.models import Claim, EmbeddingModel, Project, RecallCheck
from memories.models.enums import Expectation, Status
from memories.providers import active_model, embed_queries
from memories.retrieval import Question, Results, UnderstoodQuestion, plain

AT_ONCE = 50

# By check the place of what it expects, from 1; None: not among the first.
Places = dict[uuid.UUID, int | None]


@dataclass(frozen=True, slots=True)
class AskedCheck:
    """A check whose question was read and embedded."""

    check: RecallCheck
    question: UnderstoodQuestion


@dataclass(slots=True)
class Judge:
    """Who asks: the service, so that a check finds the same whoever runs it; by a model of its own or the active."""

    principal: Principal
    now: datetime.datetime
    model: EmbeddingModel | None = None
    _names: dict[uuid.UUID, Naming] = field(default_factory=dict)

    @classmethod
    def of(cls, project_id: uuid.UUID, *, now: datetime.datetime, model: EmbeddingModel | None = None) -> "Judge":
        """Return the judge of a project."""
        return cls(access.system_principal(Project.objects.get(id=project_id)), now, model)

    def asked(self, checks: Sequence[RecallCheck]) -> Iterator[list[AskedCheck]]:
        """Read and embed the questions, some at a time. Not inside a transaction: a model may be slow."""
        for start in range(0, len(checks), AT_ONCE):
            some = checks[start : start + AT_ONCE]
            embed_queries([check.question for check in some], model=self.model or active_model())  # in one call
            yield [AskedCheck(check, self._understood(check)) for check in some]

    def _understood(self, check: RecallCheck) -> UnderstoodQuestion:
        question = Question(
            query=check.question, namespaces=[check.namespace.name], top_k=check.top_k, project_wide=False, rerank=False
        )
        return retrieval.prepare_question(self.principal, question, now=self.now, model=self.model)

    def places(self, checks: Sequence[AskedCheck]) -> Places:
        """Return where each finds what it expects, as the open transaction has it, or as it is committed."""
        with access.enter(self.principal, why="recall checks"):
            return {each.check.id: self._place(each) for each in checks}

    def _place(self, check: AskedCheck) -> int | None:
        results = retrieval.answer(self.principal, check.question, now=self.now)
        fits = self._fitting(check.check, results)
        return next((n for n, which in enumerate(results.ids, start=1) if which in fits), None)

    def _fitting(self, check: RecallCheck, results: Results) -> set[uuid.UUID]:
        if check.fragment_id is not None:
            return {check.fragment_id}
        if check.expects == Expectation.TEXT:
            wanted = plain(check.expected)
            return {hit.fragment.id for hit in results.hits if wanted in plain(hit.fragment.content)}
        claims = Claim.objects.by_fragment(self.principal.project_id, results.ids)
        return {
            which
            for which, stated in claims.items()
            if any(self._is_value(claim, check.expected) for claim in stated if claim.status == Status.ACTIVE)
        }

    def _is_value(self, claim: Claim, value: str) -> bool:
        """Return whether it is the claim's value, read as those of its predicate are."""
        namespace = claim.namespace_id
        if namespace not in self._names:
            self._names |= naming(self.principal.project_id, [namespace])
        return self._names[namespace].value(claim.predicate, value) == bytes(claim.value_digest)

    def by(self, model: EmbeddingModel) -> "Judge":
        """Return the same by another model."""
        return replace(self, model=model)

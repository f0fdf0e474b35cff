"""The judge that ships: deterministic checks of a proposal's shape, authority, intent, ground and consequences."""

import uuid
from collections.abc import Sequence

from pydantic import ValidationError

from conflicts.authority import SOURCE_RANK
from conflicts.public import ClaimDraft, Newcomer
from conflicts.reevaluation import Fate, Reassessment, preview_reevaluation
from memories import access
from memories.extraction import certain_claims, is_of_the_user
from memories.governance.destructive_intent import destroys, sentences
from memories.governance.grounding import is_grounded, states_claim
from memories.governance.reduction_contract import ProposalCandidate, Reduction
from memories.governance.shapes import DigestShape, ProposalOption, ReadClaim, Supersession
from memories.models import Fragment, Namespace, Project
from memories.models.enums import Compression, ProposalKind, SourceClass, Status

INFERENCE = SOURCE_RANK[SourceClass.INFERENCE]
STANDS = (Fate.CLAIMS, Fate.WINS)


class LocalChecks:
    """Judges by this project's own rules; the same proposal over the same memories gets the same judgement."""

    name = "local_checks"

    def reduce(self, candidate: ProposalCandidate) -> Reduction:
        """See ReductionClient."""
        if candidate.authority > INFERENCE:
            return Reduction(False, ("authority",))
        try:
            return CHECKS[ProposalKind(candidate.kind)](candidate)
        except ValidationError:
            return Reduction(False, ("schema",))


def _verdict(*reasons: str) -> Reduction:
    found = tuple(reason for reason in reasons if reason)
    return Reduction(not found, found)


def _option(candidate: ProposalCandidate) -> Reduction:
    option = ProposalOption.model_validate(candidate.body)
    if not option.steps:
        return _verdict("schema")
    parts = [option.title, option.trigger, *option.steps]
    return _verdict(
        "deletion" if destroys(parts) else "", "" if _agrees(candidate, "\n".join(parts)) else "contradiction"
    )


def _digest(candidate: ProposalCandidate) -> Reduction:
    summary = DigestShape.model_validate(candidate.body).summary
    return _verdict(
        "deletion" if destroys(sentences(summary)) else "",
        "" if is_grounded(summary, [source.text for source in candidate.sources]) else "not_in_the_texts",
        "" if _agrees(candidate, summary) else "contradiction",
    )


def _claim(candidate: ProposalCandidate) -> Reduction:
    claim = ReadClaim.model_validate(candidate.body)
    (source,) = candidate.sources
    with access.enter(access.system_principal(Project.objects.get(name=candidate.project)), why="judge"):
        row = Fragment.objects.select_related("namespace").filter(id=source.id, status=Status.ACTIVE).first()
        if not states_claim(claim, source.text, by_user=row is not None and is_of_the_user(row)):
            return _verdict("not_in_the_text")
        if row is None or row.compression != Compression.FULL or row.content != source.text:
            return _verdict("changed_meanwhile")
        newcomer = Newcomer(row, claims=[claim_draft(claim, row)])
        finding, *_ = preview_reevaluation([newcomer], now=candidate.now)
        return _verdict(refusal(finding, row))


def _supersession(candidate: ProposalCandidate) -> Reduction:
    Supersession.model_validate(candidate.body)
    older, newer = candidate.sources
    return _verdict("authority" if newer.authority < older.authority else "")


def claim_draft(claim: ReadClaim, fragment: Fragment) -> ClaimDraft:
    """Return the claim that a model read: never believed more than its fragment, and at most as an inference.

    It replaces others only where the registry says that there is one value.
    """
    authority, at = min(INFERENCE, fragment.authority), fragment.content.find(claim.span)
    triple = (claim.subject, claim.predicate, claim.value)
    return ClaimDraft(*triple, exclusive=False, authority=authority, span=(at, at + len(claim.span)))


def refusal(finding: Reassessment, fragment: Fragment) -> str:
    """Return why a claim may not enter that would have this effect; empty when it may.

    It may stand, and replace what is of no more authority: the claim and the whole memory. It takes nothing away from
    its own fragment.
    """
    if finding.fate not in STANDS:
        return f"it {finding.fate}"
    return "authority" if strongest(fragment.project_id, finding.others) > fragment.authority else ""


def strongest(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> int:
    """Return the highest authority among these fragments; 0 for none. To be asked inside `access.enter`."""
    rows = Fragment.objects.within(project_id).filter(id__in=ids)
    return max(rows.values_list("authority", flat=True), default=0)


def _agrees(candidate: ProposalCandidate, text: str) -> bool:
    """Return whether a text, as an inference, contradicts nothing of more authority."""
    claims = certain_claims(text, {})
    if not claims:
        return True
    project = Project.objects.get(name=candidate.project)
    with access.enter(access.system_principal(project), why="judge"):
        namespace = Namespace.objects.within(project.id).filter(name=candidate.namespace).first()
        if namespace is None:
            return True
        guise = Fragment(
            project_id=project.id,
            namespace=namespace,
            content=text,
            source=SourceClass.INFERENCE,
            authority=candidate.authority,
            created_at=candidate.now,
            updated_at=candidate.now,
        )
        finding, *_ = preview_reevaluation([Newcomer(guise, statements=claims)], now=candidate.now)
    return finding.fate not in (Fate.LOSES, Fate.BARRED)


CHECKS = {
    ProposalKind.OPTION: _option,
    ProposalKind.DIGEST: _digest,
    ProposalKind.CLAIM: _claim,
    ProposalKind.SUPERSESSION: _supersession,
}

"""Edits of a memory: its text and what it claims, so that no claim is left that the text no longer says."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conflicts.keys import canonical_key, says_something
from conflicts.public import ClaimDraft, Statement
from memories import access, ingest
from memories.access import NotFound, Principal
from memories.console.errors import Refusal
from memories.console.explorer_query import normalise_newlines
from memories.extraction import certain_claims, read_text
from memories.models import Fragment, Revision
from memories.models.fragment import CONTENT_LIMIT

PARTS = {"subject": 100, "predicate": 100, "value": 1_000}  # of a claim, with the most characters of each
UNSAID = "The text no longer says what it claims"


@dataclass(frozen=True, slots=True)
class Edit:
    """What of a memory is to change; or why nothing does, with what the form shows instead of what was typed."""

    changes: dict[str, Any] = field(default_factory=dict)
    refusal: Refusal | None = None
    shown: dict[str, str] = field(default_factory=dict)
    # Whether it gives a claim to what had none, or takes the claim away: the strip can't take that back.
    alters_kind: bool = False


def edit_of(principal: Principal, row: Fragment, form: Mapping[str, str]) -> Edit:
    """Read the form. A claim that nobody touched has to stand in the new text, or be confirmed (`holds`)."""
    text = normalise_newlines(form.get("content", ""))
    if not 0 < len(text) <= CONTENT_LIMIT or "\0" in text:
        detail = f"A sentence has 1 to {CONTENT_LIMIT} characters; yours {len(text)}."
        return Edit(refusal=Refusal("Nothing was changed", detail))
    with access.enter(principal, why="console"):
        claims = ingest.updates.claims_of(row)
    old, others = (claims[0] if claims else None), claims[1:]
    claim_asked, fault = _claim(old, form)
    if fault:
        return Edit(refusal=Refusal("Nothing was changed", fault))
    changes: dict[str, Any] = {"content": text} if text != row.content else {}
    if claim_asked != old:
        return Edit(
            changes | {"claims": [*([claim_asked] if claim_asked else []), *others]},
            alters_kind=(claim_asked is None) != (old is None),
        )
    kept = [claim for claim in claims if "holds" in form or _says(text, claim)]
    if changes and old and old not in kept:
        return _doubt(text, old)
    # Of several what the new text no longer says is claimed no more.
    return Edit(changes if not changes or _are_read_anew(row, text, claims, kept) else changes | {"claims": kept})


def _are_read_anew(row: Fragment, text: str, claims: Sequence[ClaimDraft], kept: Sequence[ClaimDraft]) -> bool:
    """Return whether reading the new text keeps these claims, and no others, by itself."""
    read = {_words(claim) for claim in read_text(text, row.extra).claims_for(row)}
    return all((claim in kept) == (claim.span is None or _words(claim) in read) for claim in claims)


def _words(claim: ClaimDraft) -> tuple[str, ...]:
    return tuple(canonical_key(getattr(claim, part)) for part in PARTS)


def _claim(old: ClaimDraft | None, form: Mapping[str, str]) -> tuple[ClaimDraft | None, str]:
    """Return the claim that the form has, None for three empty fields; or what is wrong with it."""
    if not PARTS.keys() <= form.keys():
        return old, ""
    values = {name: form[name].strip() for name in PARTS}
    if not any(values.values()):
        return None, ""
    for name, most in PARTS.items():
        if not 0 < len(values[name]) <= most or "\0" in values[name] or not says_something(values[name]):
            return old, f"A claim has a subject, a predicate and a value; its {name} has 1 to {most} characters."
    if old is None:
        return ClaimDraft(values["subject"], values["predicate"], values["value"]), ""
    # How many values a key takes is the new predicate's to say.
    exclusive = old.exclusive if values["predicate"] == old.predicate else None
    options: dict[str, Any] = {**values, "exclusive": exclusive}
    changed = replace(old, **options)
    return (old if changed == old else changed.says), ""


def _says(text: str, claim: ClaimDraft) -> bool:
    """Return whether a text has the value in it as words of their own, and is not read to say otherwise."""
    value, words = canonical_key(claim.value), canonical_key(text)
    named = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", words)
    return bool(named) and not any(
        stated.negated or canonical_key(stated.value) != value for stated in _stated_values(text, claim)
    )


def _stated_values(text: str, claim: ClaimDraft) -> list[Statement]:
    """Return what a text states of a claim's key."""
    key = canonical_key(claim.subject), canonical_key(claim.predicate)
    return [
        one for one in certain_claims(text, {}) if (canonical_key(one.subject), canonical_key(one.predicate)) == key
    ]


def _doubt(text: str, old: ClaimDraft) -> Edit:
    """Ask what the memory claims now; with the value that the new text is read to give."""
    value = next((stated.value for stated in _stated_values(text, old) if not stated.negated), old.value)
    detail = (
        f"It would go on claiming {old.subject} · {old.predicate} = {old.value}. Correct the claim below, empty its "
        "three fields, or tick that it still holds."
    )
    return Edit(refusal=Refusal(UNSAID, detail), shown={"value": value, "doubt": "yes"})


def former_of(principal: Principal, fragment_id: uuid.UUID, revision: int) -> dict[str, Any]:
    """Return the changes that bring back what a memory said and claimed at a revision. Raise NotFound."""
    with access.enter(principal, why="console"):
        row = Fragment.objects.within(principal.project_id).filter(id=fragment_id).first()
        kept = Revision.objects.within(principal.project_id).filter(fragment=fragment_id, revision=revision).first()
        now = ingest.updates.claims_of(row) if row else []
    if row is None or kept is None:
        raise NotFound("revision")
    former = [kept.claim, *kept.claim.get("others", ())] if kept.claim else []
    said = [ClaimDraft(*(claim_values[name] for name in PARTS)) for claim_values in former]
    read = {_words(claim): claim for claim in read_text(kept.content, row.extra).claims_for(row)}
    changes: dict[str, Any] = {"content": kept.content}
    if said and (not now or any(claim.span for claim in now)) and all(_words(claim) in read for claim in said):
        changes["claims"] = [read[_words(claim)] for claim in said]
    elif said and now:
        rules = [*now, *[now[0]] * len(said)]
        changes["claims"] = [
            replace(rule.says, subject=claim.subject, predicate=claim.predicate, value=claim.value)
            for claim, rule in zip(said, rules, strict=False)
        ]
    return changes

"""Snapshots: how fragments and claims were before a decision and after it, so that it can be taken back exactly."""

import datetime
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from conflicts.evaluation import Evaluation
from conflicts.gate import is_kept
from memories.errors import NovaError
from memories.models import Claim, Fragment, Link
from memories.models.enums import LinkKind
from memories.models.sql import execute

FRAGMENT = ("status", "superseded_by_id", "archived_reason", "updated_at")
CLAIM = ("slot", "valid_from", "valid_until", "exclusive")
OWN = ("verdict", "superseded_by_id")  # of a claim among several

NAMED = 3  # memories in a sentence
TAKEN, MAKE_ROOM = "other values came to stand meanwhile", "archive or forget them, then undo again"
State = dict[str, dict[str, Any]]


class CannotUndo(NovaError):
    """Something changed since; the message says what, and what to do. `memories` are those in the way."""

    code = "cannot_undo"
    title = "This can’t be undone"

    def __init__(self, why: str, memories: Iterable[uuid.UUID | str] = (), *, then: str = "") -> None:
        self.why, self.then = why, then
        self.memories = sorted(map(str, memories))
        named = ", ".join([*self.memories[:NAMED], *["…"] * (len(self.memories) > NAMED)])
        super().__init__(why + (f": {named}" if named else "") + (f"; {then}" if then else ""))

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return which memories are in the way."""
        return [{"field": "fragments", "message": one} for one in self.memories]


def snapshot(project_id: uuid.UUID, fragment_ids: Iterable[uuid.UUID]) -> State:
    """Return what decisions change of these fragments, by id, in JSON's terms."""
    wanted = list(fragment_ids)
    rows = Fragment.objects.within(project_id).filter(id__in=wanted).values_list("id", *FRAGMENT)
    found: State = {str(row[0]): {"fragment": _plain(row[1:])} for row in rows}
    claims = Claim.objects.within(project_id).filter(fragment__in=wanted).order_by("fragment", "position")
    several: dict[str, dict[str, Any]] = {}
    for fragment_id, claim_id, *values in claims.values_list("fragment_id", "id", *CLAIM, *OWN):
        several.setdefault(str(fragment_id), {})[str(claim_id)] = _plain(values)
    for fragment_id, states in several.items():
        if len(states) > 1:
            found[fragment_id]["claims"] = states
        else:
            found[fragment_id]["claim"] = states.popitem()[1][: len(CLAIM)]
    return found


def same_belief(one: State, other: State) -> bool:
    """Return whether both say the same of what is believed; when a row was last touched is nobody's belief."""
    when = FRAGMENT.index("updated_at")

    def belief(state: State) -> dict[str, Any]:
        return {
            key: {**parts, "fragment": [v for n, v in enumerate(parts["fragment"]) if n != when]}
            for key, parts in state.items()
        }

    return belief(one) == belief(other)


def successor_of(parts: Mapping[str, Any]) -> str | None:
    """Return by what a memory is superseded in a snapshot."""
    found: str | None = parts["fragment"][FRAGMENT.index("superseded_by_id")]
    return found


def changed_since(project_id: uuid.UUID, then: State) -> list[str]:
    """Return the memories that are believed otherwise than they were left, or are gone."""
    now = snapshot(project_id, map(uuid.UUID, then))
    return [key for key, state in then.items() if not same_belief({key: now[key]} if key in now else {}, {key: state})]


def bring_back(project_id: uuid.UUID, state: State, *, now: datetime.datetime) -> None:
    """Make these fragments and claims what they were; what no longer replaces them is not linked to them either.

    It is a change like any other: a backup from before it is older.
    """
    standing = [key for key, parts in state.items() if successor_of(parts) is None]
    Link.objects.within(project_id).filter(other__in=standing, kind=LinkKind.SUPERSEDES).delete()
    columns = [[parts["fragment"][n] for parts in state.values()] for n in range(len(FRAGMENT))]
    columns[FRAGMENT.index("updated_at")] = [now] * len(state)
    _write("memories_fragment", "id", FRAGMENT, project_id, [list(state), *columns], ", revision = f.revision + 1")
    single = [[key, *parts["claim"]] for key, parts in state.items() if "claim" in parts]
    _write("memories_claim", "fragment_id", CLAIM, project_id, list(zip(*single, strict=True)))
    several = [[key, *values] for parts in state.values() for key, values in parts.get("claims", {}).items()]
    _write("memories_claim", "id", (*CLAIM, *OWN), project_id, list(zip(*several, strict=True)))


# As the columns of snapshots come back.
TYPES = {"superseded_by_id": "uuid", "slot": "int", "exclusive": "boolean"} | dict.fromkeys(
    ("updated_at", "valid_from", "valid_until"), "timestamptz"
)


def _write(
    table: str, key: str, names: Sequence[str], project_id: uuid.UUID, columns: Sequence[Sequence[Any]], more: str = ""
) -> None:
    if not columns:
        return
    given = ", ".join(f"%s::{kind}[]" for kind in ("uuid", *(TYPES.get(name, "text") for name in names)))
    execute(
        f"""UPDATE {table} f SET {", ".join(f"{name} = t.{name}" for name in names)}{more}
            FROM unnest({given}) AS t ({", ".join(("key", *names))}) WHERE f.project_id = %s AND f.{key} = t.key""",
        [*map(list, columns), project_id],
    )


def refuse_rivals(
    evaluation: Evaluation,
    restored: Collection[uuid.UUID],
    *,
    known: Collection[uuid.UUID | None],
    since: datetime.datetime,
) -> None:
    """Raise CannotUndo when what stands again opposes what came to stand meanwhile, which is none of the `known`.

    A newcomer that stood already, against a ruling, waits again with its conflict; equals that the rule keeps stand.
    """
    for (namespace_id, _), key_state in evaluation.key_states.items():
        for assertion in [one for one in key_state.standing.values() if one.fragment_id in restored]:
            policy = evaluation.namings[namespace_id].rule(evaluation.claims[assertion.id].predicate).policy
            others = [o for o in key_state.opponents(assertion) if o.fragment_id not in known]
            others = [o for o in others if not is_kept(o, assertion, policy)]
            rivals = [o for o in others if o.id not in key_state.contesting]
            rivals = [
                o for o in rivals if o.slot == assertion.slot or evaluation.claims[o.id].fragment.created_at >= since
            ]
            if rivals:
                raise CannotUndo(TAKEN, {o.fragment_id for o in rivals}, then=MAKE_ROOM)


def _plain(values: Iterable[Any]) -> list[Any]:
    return [_told(value) for value in values]


def _told(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value

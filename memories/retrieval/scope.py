"""Which namespaces a question draws on, and which of them goes before which."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from django.conf import settings
from django.db.models import Q

from conflicts.keys import CLAIMED, NAMES, Naming, names_from
from conflicts.nearness import FOREIGN
from memories import access
from memories.access import NotPermitted, Principal
from memories.models import EmbeddingModel, Namespace
from memories.models.answer_rows import ModelColumns
from memories.models.namespace import SHARED, parts_of, roots_of
from memories.models.scoring import OWN_RATES, Rates
from memories.models.sql import fetch_prepared
from memories.retrieval.candidate_search import INDEXED, suffix_of
from memories.retrieval.questions import Question
from memories.retrieval.search_scopes import SearchScope, scopes_of

NAMESPACE = ModelColumns.of(Namespace, 0)


@dataclass(frozen=True)
class Places:
    """The asked scopes with the shared one, and the other agents' that a project-wide question adds."""

    own: Sequence[SearchScope] = field(default_factory=list)
    others: Sequence[SearchScope] = field(default_factory=list)
    # The shared one, where nobody asked for it.
    shared: uuid.UUID | None = None
    # By own namespace or scope in which something is claimed: its names.
    names: Mapping[uuid.UUID, Naming] = field(default_factory=dict)
    # By scope whose vectors have an index that is ready: about how many it holds.
    indexed: Mapping[uuid.UUID, int] = field(default_factory=dict)
    # By which all of them fade and weigh.
    rates: Rates = field(default_factory=Rates)

    @cached_property
    def ranks(self) -> dict[uuid.UUID, int]:
        """0 for the first asked; the shared one last of the own; from FOREIGN on those of other agents.

        The scopes of users of a whole one are not in it: they rank as 0.
        """
        own = {scope.id: n for n, scope in enumerate(self.own)}
        return own | {scope.id: FOREIGN + n for n, scope in enumerate(self.others)}

    @property
    def pools(self) -> list[Sequence[SearchScope]]:
        """Return what is drawn from apart: the own scopes, and those of others; none that is empty."""
        return [pool for pool in (self.own, self.others) if pool]

    @property
    def nearest(self) -> set[uuid.UUID]:
        """The scopes of the question's user, which hide wider ones."""
        return {scope.id for scope in self.own if scope.id != scope.root_id}

    def reaches(self, row: Namespace) -> bool:
        """Return whether the question draws on a namespace or scope."""
        return row.id in self.ranks or any(scope.whole and scope.id == row.root_id for scope in self.own)

    def scope_ids(self, *, foreign: bool = True) -> Any:
        """Return what `namespace__in` takes: the ids of all scopes, or a query for them."""
        scopes = [*self.own, *(self.others if foreign else ())]
        if not (whole := [scope.id for scope in scopes if scope.whole]):
            return [scope.id for scope in scopes]
        rows = Namespace.objects.within(scopes[0].project_id)
        return rows.filter(Q(id__in=[scope.id for scope in scopes]) | Q(parent__in=whole)).values("id")

    def is_foreign(self, namespace_id: uuid.UUID) -> bool:
        """Return whether it is another agent's."""
        return bool(self.others) and self.ranks.get(namespace_id, 0) >= FOREIGN

    def is_beside(self, namespace_id: uuid.UUID) -> bool:
        """Return whether it is read beside those that are asked for: another agent's, or the shared one."""
        return namespace_id == self.shared or self.is_foreign(namespace_id)

    @cached_property
    def commons(self) -> uuid.UUID | None:
        """The shared namespace, whether somebody asked for it or not."""
        roots = (scope for scope in self.own if scope.id == scope.root_id)
        return next((scope.id for scope in roots if scope.name.endswith(f":{SHARED}")), None)

    def roots(self, scope_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
        """Return by scope, those of a whole namespace's users too, the namespace that it belongs to."""
        known = {scope.id: scope.root_id for scope in (*self.own, *self.others)}
        wanted = set(scope_ids) - known.keys()
        whole = [scope for scope in self.own if scope.whole]
        if len(whole) == 1:
            return known | dict.fromkeys(wanted, whole[0].id)
        return known | (roots_of(whole[0].project_id, wanted) if wanted and whole else {})


def places_of(principal: Principal, question: Question, model: EmbeddingModel) -> Places:
    """Return the existing ones among what the question reaches, and which have an index under the model.

    A question for a user reads the user's scope, its namespace and the shared one, in this order.
    Raise NotFound when an asked one is not covered, NotPermitted for a project-wide question of whoever may not read
    wide.
    """
    access.require_reach(principal, question.namespaces)
    requested = [parts_of(principal.scope(name)) for name in question.namespaces]
    shared = f"{principal.project}:{SHARED}"
    keys = [*((root, user) for root, user in requested if user is not None), *((root, None) for root, _ in requested)]
    order = {key: n for n, key in enumerate(dict.fromkeys([*keys, (shared, None)]))}
    wanted_roots = {root for root, _ in requested}
    wide = reads_whole_project(principal, wanted=question.project_wide)
    whole = principal.all_users and question.all_users
    wanted = {"project": principal.project_id, "wanted": list(wanted_roots), "model": suffix_of(model)}
    wanted |= {"roots": [root for root, _ in order], "users": [user for _, user in order]}
    known = [_namespace(row) for row in fetch_prepared(_known(wide=wide, whole=whole), wanted)]
    rows = [row for row in known if _key(row) in order or wide and principal.covers_reading(row.name)]
    family = relatives([row for row in rows if row.root_name in wanted_roots], known)
    own = [row for row in rows if _key(row) in order and (row.root_name in wanted_roots or row.id not in family)]
    own.sort(key=lambda row: order[_key(row)])
    # A branch is an attempt apart: whoever wants it asks for it by name.
    others = [row for row in rows if _key(row) not in order and row.id not in family and row.forked_from_id is None]
    scopes = [SearchScope.of(row, whole=whole and row.root_name in wanted_roots) for row in own]
    beside = next((row.id for row in own if row.root_name not in wanted_roots), None)
    names = {row.id: names_from(row.named) for row in own if row.named}
    indexed = {row.id: row.vectors for row in [*own, *others] if row.vectors is not None}
    rates = Rates.of(known[0].rates) if known else Rates()
    return Places(scopes, scopes_of(others), beside, names, indexed, rates)


@cache
def _known(*, wide: bool, whole: bool) -> str:
    """Return the statement for what may be asked for, and what it may be related to, with what a search needs of it.

    Raw, because the ORM takes longer to word it than Postgres to answer it. Both flags stand in the text: one plan for
    all would read every namespace of the project.
    """
    columns = NAMESPACE.worded("n")
    everything, everybody = str(wide).lower(), str(whole).lower()
    with_users = f"{everybody} AND n.name = ANY (%(wanted)s::text[])"
    return f"""
    SELECT {columns}, CASE WHEN n.name = ANY (%(roots)s::text[]) AND ({everybody} OR {CLAIMED}) THEN {NAMES} END,
        {INDEXED.format(scope="n.id", whole=with_users)}, {OWN_RATES}
    FROM memories_namespace n
    WHERE n.project_id = %(project)s AND n.parent_id IS NULL
        AND ({everything} OR n.name = ANY (%(roots)s::text[]) OR n.forked_from_id IS NOT NULL)
    UNION ALL
    SELECT {columns}, CASE WHEN {CLAIMED} THEN {NAMES} END, {INDEXED.format(scope="n.id", whole="false")}, {OWN_RATES}
    FROM unnest(%(roots)s::text[], %(users)s::text[]) AS asked (root, "user")
    JOIN memories_namespace r ON r.project_id = %(project)s AND r.parent_id IS NULL AND r.name = asked.root
    JOIN memories_namespace n ON n.project_id = r.project_id AND n.parent_id = r.id AND n."user" = asked."user"
    ORDER BY name"""


def _namespace(row: Sequence[Any]) -> Any:
    """Return a namespace with what stands beside it: its names, how many vectors its index holds, its rates."""
    namespace = NAMESPACE.instance(row)
    namespace.named, namespace.vectors, namespace.rates = row[NAMESPACE.end :]
    return namespace


def _key(row: Namespace) -> tuple[str, str | None]:
    return row.root_name, row.user


def reads_whole_project(principal: Principal, *, wanted: bool | None) -> bool:
    """Return whether other agents' memories answer too. Raise NotPermitted when they are asked for and not granted."""
    if wanted and not principal.may_read_wide:
        raise NotPermitted("project_wide needs a key that may read wide")
    by_default: bool = settings.RETRIEVAL_INCLUDES_CROSS_AGENT
    return by_default and principal.may_read_wide if wanted is None else wanted


def relatives(namespaces: Iterable[Namespace], known: Iterable[Namespace]) -> set[uuid.UUID]:
    """Return what these namespaces were forked from, and what was forked from that: none of it sees the other's writes.

    Among the `known` are all of the project's forks.
    """
    forks = {row.id: row.forked_from_id for row in known if row.forked_from_id}
    found = {namespace.id for namespace in namespaces}
    grown = True
    while grown and forks:
        new = {parent for child, parent in forks.items() if child in found}
        new |= {child for child, parent in forks.items() if parent in found}
        grown = not new <= found
        found |= new
    return found if forks else set()

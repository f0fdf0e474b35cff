"""Belief history: what was true when (valid time) and what was believed when (record time) (docs/spec.md §4).

The row history of claims is the axis of record time. It holds digests: the words come from the claim as it stands, or
from the revision that kept them when it was changed, and go with the fragment.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import DateTimeField, Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from conflicts.claim_wordings import Words, wordings, words_of_event
from conflicts.gate import Assertion
from conflicts.keys import Naming, naming
from conflicts.nearness import Contender, outdone
from conflicts.ruling_marks import RulingMark, RulingVerb, Subject, latest_mark, ruling_marks
from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.models import AuditHorizon, Claim, Fragment, Namespace, Owner, Revision
from memories.models.enums import ClaimScope, Status
from memories.models.history import events_of
from memories.models.namespace import parts_of

FIRST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
BEYOND = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BeliefQuery:
    """Which claims, in which state (None for all), at which points of both times; now, for one that is not given.

    A session's own claims are among them only when it is named.
    """

    namespace: str | None = None
    subject: str | None = None
    predicate: str | None = None
    session_id: str = ""
    status: str | None = Status.ACTIVE
    as_of: datetime.datetime | None = None
    known_at: datetime.datetime | None = None
    # As a search reads: also what the namespace of a user's scope and the shared one believe, of rivals the nearest.
    wider: bool = False


@dataclass(frozen=True, slots=True)
class Believed:
    """A claim as it was believed at one point of record time."""

    id: uuid.UUID
    fragment_id: uuid.UUID
    namespace: str
    user: str | None
    subject: str
    predicate: str
    value: str
    exclusive: bool
    scope: str
    session_id: str
    valid_from: datetime.datetime | None
    valid_until: datetime.datetime | None
    authority: int
    source: str
    owner_id: uuid.UUID | None
    owner: str
    status: str
    recorded_at: datetime.datetime
    # The ruling in force that chose or ruled out what it says.
    ruling: RulingMark | None


@dataclass(frozen=True, slots=True)
class Interval:
    """What was believed of a claim from one moment of record time until another, or is still."""

    since: datetime.datetime
    until: datetime.datetime | None
    status: str
    value: str
    valid_from: datetime.datetime | None
    valid_until: datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Life(Believed):
    """A claim on a key, and all that was ever believed of it; `moved` when it says nothing of this key any more."""

    superseded_by: uuid.UUID | None
    moved: bool
    beliefs: tuple[Interval, ...]
    # All that was ever ruled on what it says, oldest first.
    rulings: tuple[RulingMark, ...]
    # What it says, however it is spelled.
    value_digest: bytes


class HistoryLetGo(NovaError):
    """What was believed then is not known any more: the history was let go."""

    status = 410
    code = "history_let_go"
    title = "That far back there is no history any more"


def claims(principal: Principal, question: BeliefQuery, *, now: datetime.datetime) -> QuerySet[Any]:
    """Return the fragments whose claims were believed at `known_at` to hold at `as_of`.

    To be read inside `access.enter`, shown by `believed_claims`. Raise NotFound for a namespace that is not covered,
    HistoryLetGo.
    """
    known_at = question.known_at if question.known_at and question.known_at < now else None
    with access.enter(principal, why="claims"):
        if known_at:
            refuse_let_go(principal.project_id, known_at)
        scopes = _scopes(principal, question.namespace, wider=question.wider)
        names = _names(principal, scopes)
        rows: QuerySet[Any] = _fragments(principal, names)
        key = _key(names, question)
        events = _last_events(principal, question.session_id, known_at) if known_at else _said_now(principal, question)
        own_key = key | _renamed(principal, key) if known_at else key
        events = events.filter(_holding(question.as_of or now), namespace__in=list(names))
        if question.status:
            events = events.filter(status=question.status)
        if question.status == Status.ACTIVE:
            ranked = _ranked(principal, question.namespace, scopes) if question.wider else []
            hidden = _outdone(events.filter(own_key), ranked, question.session_id, known_at)
            events = events.exclude(**{"pgh_obj__in" if known_at else "id__in": hidden})
    if known_at is None:
        # Named, so that its index is used: what stands stands in what stands.
        rows = rows.filter(status=question.status) if question.status == Status.ACTIVE else rows
        own_events = events.filter(own_key, fragment=OuterRef("id"))
        rows = rows.annotate(said=ArraySubquery(own_events.order_by("position").values("id")))
        return rows.filter(Exists(own_events))
    events = events.filter(own_key)
    if question.subject is not None:
        events = events.filter(pgh_obj__in=_ever_on(principal, key, claim="pgh_obj", now="id"))
    own_events = events.filter(fragment=OuterRef("id")).order_by("pgh_obj")
    known = Value(known_at, DateTimeField())
    rows = rows.annotate(beliefs=ArraySubquery(own_events.values("pgh_id")), known_at=known)
    return rows.filter(id__in=events.values("fragment"))


def refuse_let_go(project_id: uuid.UUID, known_at: datetime.datetime) -> None:
    """Raise HistoryLetGo for a time of which nothing is known any more."""
    horizon = AuditHorizon.objects.within(project_id).first()
    if horizon and known_at < horizon.sealed_at:
        raise HistoryLetGo(f"history begins on {horizon.sealed_at:%Y-%m-%d}: ask for a later known_at")


def _scopes(principal: Principal, namespace: str | None, *, wider: bool) -> list[Namespace]:
    return (access.believed_scopes if wider else access.requested_scopes)(principal, namespace)


def _names(principal: Principal, scopes: Sequence[Namespace]) -> dict[uuid.UUID, Naming]:
    return naming(principal.project_id, [row.id for row in scopes])


def _ranked(principal: Principal, namespace: str | None, scopes: Sequence[Namespace]) -> list[Namespace]:
    """Return the scopes whose claims are rivals, the nearest first; users in a request about all speak for themselves.

    Without a namespace none are: each believes for itself.
    """
    if namespace is None:
        return []
    _, user = parts_of(principal.scope(namespace))
    return [row for row in scopes if row.user in (None, user)]


def _fragments(principal: Principal, names: Mapping[uuid.UUID, Naming]) -> QuerySet[Any]:
    """With when they were recorded first to claim something."""
    events = events_of(Claim).objects.filter(project=principal.project_id, fragment=OuterRef("id"))
    first = Subquery(events.order_by("pgh_id").values("pgh_created_at")[:1])
    rows: QuerySet[Any] = Fragment.objects.within(principal.project_id).in_namespaces(list(names))
    rows = rows.annotate(recorded_at=first)
    return rows.select_related("namespace")


def _key(names: Mapping[uuid.UUID, Naming], question: BeliefQuery) -> Q:
    """Claims (or their events) of the asked subject, predicate or both, as each namespace names them."""
    subject, predicate = question.subject, question.predicate
    alike: dict[tuple[tuple[str, bytes], ...], list[uuid.UUID]] = defaultdict(list)
    for namespace_id, known in names.items():
        digests = {}
        if subject is not None:
            digests["subject_digest"] = known.subject(subject)
        if predicate is not None:
            digests["predicate_digest"] = known.predicate(predicate)
        if subject is not None and predicate is not None:
            digests["key_digest"] = known.key(subject, predicate).both
        alike[tuple(digests.items())].append(namespace_id)
    found = Q(pk__in=[])
    for same, namespace_ids in alike.items():
        found |= Q(namespace__in=namespace_ids, **dict(same))
    return found


def _holding(as_of: datetime.datetime) -> Q:
    """Half-open."""
    begun = Q(valid_from=None) | Q(valid_from__lte=as_of)
    return begun & (Q(valid_until=None) | Q(valid_until__gt=as_of))


def _ever_on(principal: Principal, key: Q, *, claim: str, now: str) -> QuerySet[Any]:
    """Who claims this, or did; also under the names that today's rules give. By a column of events and of claims."""
    then: QuerySet[Any] = events_of(Claim).objects.filter(key, project=principal.project_id)
    return then.values(claim).union(Claim.objects.within(principal.project_id).filter(key).values(now))


def _said_now(principal: Principal, question: BeliefQuery) -> QuerySet[Any]:
    """Return the claims as they stand, those of other sessions left out."""
    rows: QuerySet[Any] = Claim.objects.within(principal.project_id)
    return rows.filter(session_id__in={"", question.session_id})


def _last_events(principal: Principal, session_id: str, known_at: datetime.datetime) -> QuerySet[Any]:
    """Return each claim's last event until `known_at`, those of other sessions left out."""
    events: QuerySet[Any] = events_of(Claim).objects.filter(project=principal.project_id, pgh_created_at__lte=known_at)
    later = events.filter(pgh_obj=OuterRef("pgh_obj"), pgh_id__gt=OuterRef("pgh_id"))
    claims_now = Claim.objects.within(principal.project_id).filter(id=OuterRef("pgh_obj"), session_id=session_id)
    in_session = ~Q(scope=ClaimScope.SESSION) | Exists(claims_now.filter(scope=ClaimScope.SESSION))
    return events.filter(~Exists(later), in_session).exclude(pgh_label="delete")


def _renamed(principal: Principal, key: Q) -> Q:
    """Events of claims that have the asked names by now: a rule that changed leaves the names in old events alone."""
    claims_now = Claim.objects.within(principal.project_id).filter(key, id=OuterRef("pgh_obj"))
    former = Revision.objects.within(principal.project_id).filter(fragment=OuterRef("fragment"), claim__isnull=False)
    return Q(Exists(claims_now)) & ~Q(Exists(former))


def _outdone(
    events: QuerySet[Any], ranked: Sequence[Namespace], session_id: str, known_at: datetime.datetime | None
) -> set[uuid.UUID]:
    """Return which claims, or those of which events, give way to others of their keys, as in a search."""
    # What is told for all in the namespace itself meets rivals only where one of the others claims something.
    root = next((row.id for row in ranked if row.user is None), None)
    beside = [row.id for row in ranked if row.id != root]
    if not (beside or session_id):
        return set()
    contested = events.filter(Q(scope=ClaimScope.SESSION) | Q(namespace__in=beside))
    keys = {bytes(key) for key in contested.values_list("key_digest", flat=True)}
    rivals = _contenders(events.filter(key_digest__in=keys).select_related("fragment"), session_id, known_at)
    places = {row.id: n for n, row in enumerate(ranked)}
    nearest = {row.id for row in ranked if row.user is not None}
    return {claim.assertion.id for claim in outdone(rivals, places=places, nearest=nearest)}


def _contenders(events: QuerySet[Any], session_id: str, known_at: datetime.datetime | None) -> list[Contender]:
    """Return what claims or events say, those of a session of this one; as rulings bound by then."""
    rows = []
    for row in events:
        session = session_id if row.scope == ClaimScope.SESSION else ""
        rows.append((row, Subject(row.namespace_id, session, bytes(row.key_digest), bytes(row.value_digest))))
    marks = ruling_marks(rows[0][0].project_id, [subject for _, subject in rows]) if rows else {}
    found = []
    for row, subject in rows:
        binding = [m for m in marks[subject] if m.decision == RulingVerb.CHOSEN and m.is_in_force(known_at)]
        ruling = max(binding, key=lambda mark: mark.authority, default=None)
        assertion = Assertion(
            row.fragment_id,
            row.fragment.owner_id,
            row.authority,
            subject.value_digest,
            session_id=subject.session_id,
            exclusive=row.exclusive,
            claim_id=row.id if isinstance(row, Claim) else row.pgh_obj_id,
            ruling=ruling.authority if ruling else 0,
            ruled_by=ruling.decided_by if ruling else None,
        )
        found.append(Contender(row.namespace_id, subject.key_digest, assertion))
    return found


def believed_claims(principal: Principal, rows: Sequence[Any]) -> list[Believed]:
    """Return what the fragments of `claims` were believed to claim, in their order, in a fixed number of queries."""
    owners = _owners(principal, rows)
    found = _load_rows(principal, rows)
    marks = ruling_marks(principal.project_id, [_subject(row, event, now) for row, _, event, now in found])
    return [
        _believed(row, state, event, owners, now, marks[_subject(row, event, now)]) for row, state, event, now in found
    ]


def _load_rows(principal: Principal, rows: Sequence[Any]) -> list[tuple[Any, Any, Words, Claim | None]]:
    """Return each fragment with a claim, or an event of one, its words, and the claim as it stands, if it does."""
    claims = Claim.objects.by_fragment(principal.project_id, [row.id for row in rows])
    if not any(hasattr(row, "beliefs") for row in rows):
        pairs = [(row, claim) for row in rows for claim in claims[row.id] if claim.id in row.said]
        return [(row, claim, Words.of_claim(claim), claim) for row, claim in pairs]
    ids = [event_id for row in rows for event_id in row.beliefs]
    events = events_of(Claim).objects.filter(project=principal.project_id).in_bulk(ids)
    names = naming(principal.project_id, {row.namespace_id for row in rows})
    words = wordings(principal.project_id, rows, names)
    now = {claim.id: claim for claims_of_row in claims.values() for claim in claims_of_row}
    then = [(row, events[event_id]) for row in rows for event_id in row.beliefs]
    found = [(row, event, words_of_event(event, words[row.id])) for row, event in then]
    return [(row, event, told_event, now.get(event.pgh_obj_id)) for row, event, told_event in found if told_event]


def _subject(row: Any, words: Words, now: Claim | None) -> Subject:
    """Return what rulings are looked up for: the words' digests follow the rules of today, as those of rulings do."""
    return Subject(row.namespace_id, now.session_id if now else "", words.key, words.value_digest)


def _owners(principal: Principal, rows: Sequence[Any]) -> dict[uuid.UUID, str]:
    found = Owner.objects.within(principal.project_id).filter(id__in={row.owner_id for row in rows if row.owner_id})
    return dict(found.values_list("id", "name"))


def _believed(
    row: Any,
    state: Any,
    words: Words,
    owners: Mapping[uuid.UUID, str],
    now: Claim | None,
    marks: Sequence[RulingMark],
) -> Believed:
    """From a fragment and the claim, or an event of the claim, that tells its state; `now` is the claim, if it is."""
    return Believed(
        id=state.id if isinstance(state, Claim) else state.pgh_obj_id,
        fragment_id=row.id,
        namespace=row.namespace.root_name,
        user=row.namespace.user,
        subject=words.subject,
        predicate=words.predicate,
        value=words.value,
        exclusive=state.exclusive,
        scope=state.scope,
        session_id=now.session_id if now and state.scope == ClaimScope.SESSION else "",
        valid_from=state.valid_from,
        valid_until=state.valid_until,
        authority=state.authority,
        source=row.source,
        owner_id=row.owner_id,
        owner=owners.get(row.owner_id, ""),
        status=state.status,
        recorded_at=row.recorded_at,
        ruling=latest_mark(marks, getattr(row, "known_at", None)),
    )


def timeline(
    principal: Principal,
    *,
    subject: str,
    predicate: str,
    namespace: str | None = None,
    session_id: str = "",
    wider: bool = True,
) -> QuerySet[Any]:
    """Return the fragments with a claim on this key, once or now, in the order of `begins`, `recorded_at` and id.

    `wider` as in a BeliefQuery, but all rivals.
    To be read inside `access.enter` and shown by `load_lives`. Raise NotFound for a namespace that is not covered.
    """
    with access.enter(principal, why="claims"):
        names = _names(principal, _scopes(principal, namespace, wider=wider))
    key = _key(names, BeliefQuery(subject=subject, predicate=predicate))
    ever = _ever_on(principal, key, claim="fragment", now="fragment")
    rows: QuerySet[Any] = _fragments(principal, names).filter(id__in=ever)
    claims_now = Claim.objects.within(principal.project_id).filter(fragment=OuterRef("id"))
    rows = rows.filter(~Exists(claims_now) | Exists(claims_now.filter(session_id__in={"", session_id})))
    first = claims_now.order_by("position").values("valid_from")
    began = Coalesce(Subquery(first.filter(key)[:1]), Subquery(first[:1]), FIRST)
    rows = rows.annotate(begins=began)
    return rows.order_by("begins", "recorded_at", "id")


def load_lives(principal: Principal, rows: Sequence[Any], *, subject: str, predicate: str) -> list[Life]:
    """Return what was believed of the fragments of `timeline`, in their order, in a fixed number of queries."""
    events: dict[uuid.UUID, dict[uuid.UUID, list[Any]]] = defaultdict(lambda: defaultdict(list))
    ids = [row.id for row in rows]
    for event in events_of(Claim).objects.filter(project=principal.project_id, fragment__in=ids).order_by("pgh_id"):
        events[event.fragment_id][event.pgh_obj_id].append(event)
    names = naming(principal.project_id, {row.namespace_id for row in rows})
    words = wordings(principal.project_id, rows, names)
    claims = {
        c.id: c for own_events in Claim.objects.by_fragment(principal.project_id, ids).values() for c in own_events
    }
    owners = _owners(principal, rows)
    found = []
    for row in rows:
        key = names[row.namespace_id].key(subject, predicate).both
        for claim_id, own_events in sorted(events[row.id].items(), key=lambda item: item[1][0].pgh_id):
            now = claims.get(claim_id)
            worded = [(event, _words_after(event, words[row.id], key, now)) for event in own_events]
            on_key = [(event, what) for event, what in worded if what is not None]
            if on_key:
                found.append((row, now, worded, *on_key[-1]))
    marks = ruling_marks(principal.project_id, [_subject(row, what, now) for row, now, _, _, what in found])
    return [_life(row, now, worded, last, what, owners, marks) for row, now, worded, last, what in found]


def _life(
    row: Any,
    now: Claim | None,
    words: Sequence[tuple[Any, Words | None]],
    last: Any,
    what: Words,
    owners: Mapping[uuid.UUID, str],
    marks: Mapping[Subject, Sequence[RulingMark]],
) -> Life:
    """All that was ever believed of a claim; `said` is what each of its events said of the key, `last` the last one."""
    own_marks = marks[_subject(row, what, now)]
    claim = _believed(row, last, what, owners, now, own_marks)
    values = {one.name: getattr(claim, one.name) for one in fields(Believed)}
    return Life(
        **{**values, "status": now.status if now else row.status},
        superseded_by=(now.superseded_by_id if now else None) or row.superseded_by_id,
        moved=words[-1][1] is None,
        beliefs=tuple(_intervals(words)),
        rulings=tuple(own_marks),
        value_digest=what.value_digest,
    )


def _words_after(event: Any, words: Sequence[Words], key: bytes, now: Claim | None) -> Words | None:
    """Return what a claim said of the key after an event; None for nothing, or nothing for other sessions' ears."""
    found = words_of_event(event, words)
    whispered = event.scope == ClaimScope.SESSION and not (now and now.session_id)
    if found is None or event.pgh_label == "delete" or whispered or key not in (bytes(event.key_digest), found.key):
        return None
    return found


def _intervals(words: Sequence[tuple[Any, Words | None]]) -> list[Interval]:
    """Return the states between events; of several in one transaction the last one counts, and what is equal is one."""
    states: dict[datetime.datetime, tuple[Any, ...] | None] = {}
    moment = FIRST
    for event, what in words:
        moment = max(moment, event.pgh_created_at)  # transactions that began in one order may write in another
        states[moment] = (event.status, what.value, event.valid_from, event.valid_until) if what else None
    changes = [next(same) for _, same in groupby(states.items(), key=lambda item: item[1])]
    ends = [*(at for at, _ in changes[1:]), None]
    return [Interval(at, end, *state) for (at, state), end in zip(changes, ends, strict=True) if state]

"""What other systems tell: an event told again changes what it told before instead of adding to it."""

import datetime

from conflicts.authority import SOURCE_RANK
from conflicts.public import Admission
from conflicts.search_index import BlockedByErasure, find_forgotten_texts
from memories import access
from memories.access import NotPermitted, Principal
from memories.ingest.drafts import Draft
from memories.ingest.pipeline import Prepared, source_of, store_each
from memories.ingest.updates import ReadText, revise
from memories.models import Fragment, Namespace
from memories.models.enums import STANDING, SourceClass


def find_previous(
    principal: Principal, *, namespace: str, source_type: str, source_id: str, own: bool = False, **more: str
) -> Fragment | None:
    """Return the newest standing fragment of a source, or None; with `own` of those that the principal's owner wrote.

    `more` are fields that it must have besides.

    To be asked inside `access.enter`.
    """
    namespaces = Namespace.objects.within(principal.project_id).named([principal.scope(namespace)])
    rows = Fragment.objects.within(principal.project_id).filter(
        namespace__in=namespaces, source_type=source_type, source_id=source_id, status__in=STANDING, **more
    )
    rows = rows.filter(owner_id=principal.owner_id) if own else rows
    found: Fragment | None = rows.order_by("-created_at", "-id").first()
    return found


def store_events(principal: Principal, prepared: Prepared, *, now: datetime.datetime) -> list[Admission | None]:
    """Store what events tell, in order; what the same source told before gets the new text; None what was forgotten.

    Raise NotFound, CeilingExceeded, NotPermitted; nothing is stored then.
    """
    principal.require("write")
    with access.enter(principal, why="event"):
        for name in sorted({draft.namespace for draft in prepared.drafts}):
            namespace = access.writable(principal, name)
            # The same event delivered twice at once is stored once.
            Namespace.objects.within(principal.project_id).select_for_update(no_key=True, of=("self",)).get(
                id=namespace.id
            )
        return [_store_one(principal, prepared, namespace, now=now) for namespace in range(len(prepared.drafts))]


def _store_one(principal: Principal, prepared: Prepared, place: int, *, now: datetime.datetime) -> Admission | None:
    draft, read = prepared.drafts[place], ReadText(prepared.vectors[place], prepared.routings[place])
    former = _former(principal, draft)
    if former is None:
        return store_each(principal, prepared.only(place), now=now)[0]
    changes = _changes(former, draft)
    if not changes:
        return Admission(former, deduplicated=True)
    rank = SOURCE_RANK[SourceClass(source_of(principal, draft))]
    if rank < former.authority:
        raise NotPermitted("what was told before has more authority than this text would have")
    if find_forgotten_texts(principal.project_id, [(former.namespace_id, text, rank) for text in draft.parts]):
        return None
    try:
        return revise(principal, former.id, changes=changes, revision=None, now=now, read=read)
    except BlockedByErasure:  # before anything of it was written
        return None


def _former(principal: Principal, draft: Draft) -> Fragment | None:
    """Return what its writer told before under the draft's key; without one, of its source."""
    values = {"namespace": draft.namespace, "source_type": draft.source_type, "source_id": draft.source_id}
    return find_previous(principal, **values, own=True, **({"key": draft.key} if draft.key else {}))


def _changes(former: Fragment, draft: Draft) -> dict[str, object]:
    """Return what an event tells otherwise than the last time."""
    text: dict[str, object] = {"content": draft.content, "outcome": draft.outcome, "extra": draft.extra}
    text |= {"event_at": draft.event_at, "tags": list(dict.fromkeys([*draft.tags, former.agent_id]))}
    return {name: value for name, value in text.items() if value != getattr(former, name)}

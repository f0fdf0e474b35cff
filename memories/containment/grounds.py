"""Grounds: by what the memories of a containment are told, and which these are."""

import datetime
import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.db.models.expressions import RawSQL

from memories.access import NotFound, Principal
from memories.models import ApiKey, Fragment, Owner
from memories.models.enums import ContainmentKind
from memories.models.fragment import CONTAINED
from memories.models.sql import fetch

# Keys that were rotated into each other share a grant: who wrote it stands in its history, as long as that is kept.
BY_ANOTHER_KEY = """EXISTS (SELECT FROM memories_fragmentevent e
    WHERE e.project_id = memories_fragment.project_id AND e.pgh_obj_id = memories_fragment.id
        AND e.pgh_label = 'insert' AND e.pgh_context ->> 'key' = ANY (%s))"""
# What a memory says now may be another key's of its owner, or of another time.
REWRITTEN = """
    SELECT DISTINCT e.pgh_obj_id FROM memories_fragmentevent e
    WHERE e.project_id = %(project)s AND e.pgh_label = 'update' AND e.pgh_context ->> %(by)s = %(whose)s
        AND e.pgh_created_at >= coalesce(%(since)s::timestamptz, '-infinity')
        AND e.revision > (SELECT b.revision FROM memories_fragmentevent b
            WHERE b.project_id = e.project_id AND b.pgh_obj_id = e.pgh_obj_id AND b.pgh_id < e.pgh_id
            ORDER BY b.pgh_id DESC LIMIT 1)"""
# Whatever was derived from it.
DERIVED = f"""
    SELECT id FROM memories_fragment
    WHERE project_id = %(project)s AND (parents && %(ids)s OR roots && %(ids)s) AND source_type <> 'digest'
        AND archived_reason <> '{CONTAINED}'"""


@dataclass(frozen=True, slots=True)
class ContainmentGround:
    """What is contained: a key's writes, an owner's, those of a source or of a text; `since` some time.

    `keys` are those that write so: they are revoked.
    """

    kind: str
    owner_id: uuid.UUID | None = None
    keys: tuple[ApiKey, ...] = ()
    source_id: str = ""
    content: str = ""
    since: datetime.datetime | None = None

    @property
    def target_id(self) -> uuid.UUID | None:
        """The key or the owner."""
        return self.keys[0].id if self.kind == ContainmentKind.KEY else self.owner_id

    @property
    def owners(self) -> list[uuid.UUID]:
        """Whose word it is."""
        return [self.owner_id] if self.owner_id else []


def by_key(principal: Principal, key_id: str, *, since: datetime.datetime | None = None) -> ContainmentGround:
    """Return the ground that a key is, by its id or by what it shows of itself. Raise NotFound."""
    rows = ApiKey.objects.within(principal.project_id).select_related("owner")
    short = key_id.removeprefix("nova_").partition("_")[0]
    found = rows.filter(Q(id=_id(key_id)) if _id(key_id) else Q(key_id=short)).first()
    if found is None:
        raise NotFound("key")
    return ContainmentGround(ContainmentKind.KEY, found.owner_id, (found,), since=since)


def by_owner(principal: Principal, owner: str, *, since: datetime.datetime | None = None) -> ContainmentGround:
    """Return the ground that an owner is, by id or name, with all keys. Raise NotFound."""
    rows = Owner.objects.within(principal.project_id)
    found = rows.filter(name=owner).first() or rows.filter(id=_id(owner)).first()
    if found is None:
        raise NotFound("owner")
    keys = tuple(ApiKey.objects.within(principal.project_id).filter(owner=found).order_by("created_at", "id"))
    return ContainmentGround(ContainmentKind.OWNER, found.id, keys, since=since)


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def written(project_id: uuid.UUID, ground: ContainmentGround) -> set[uuid.UUID]:
    """Return the memories of a ground, whatever became of them, but for those that are contained already."""
    rows: Any = Fragment.objects.within(project_id).exclude(archived_reason=CONTAINED)
    born = rows.filter(created_at__gte=ground.since) if ground.since else rows
    if ground.kind == ContainmentKind.KEY:
        return set(_by_key(born, ground.keys[0]).values_list("id", flat=True)) | _rewritten(project_id, rows, ground)
    if ground.kind == ContainmentKind.OWNER:
        own = set(born.filter(owner_id=ground.owner_id).values_list("id", flat=True))
        return own | (_rewritten(project_id, rows, ground) if ground.since else set())
    if ground.kind == ContainmentKind.SOURCE:
        source = ground.source_id
        found = born.filter(Q(source_id=source) | Q(provenance_source_id=source) | Q(source_ids__contains=[source]))
    else:
        found = born.saying(ground.content)
    return set(found.values_list("id", flat=True))


def _by_key(rows: Any, key: ApiKey) -> Any:
    others = ApiKey.objects.within(key.project_id).filter(grant=key.grant_id).exclude(id=key.id)
    same = rows.filter(grant_id=key.grant_id, owner_id=key.owner_id)
    names = [str(i) for i in others.values_list("id", flat=True)]
    return same.alias(other=RawSQL(BY_ANOTHER_KEY, [names])).filter(other=False) if names else same


def _rewritten(project_id: uuid.UUID, rows: Any, ground: ContainmentGround) -> set[uuid.UUID]:
    values = {"by": ground.kind, "whose": str(ground.target_id), "since": ground.since}
    found = [i for (i,) in fetch(REWRITTEN, {"project": project_id, **values})]
    return set(rows.filter(id__in=found, owner_id=ground.owner_id).values_list("id", flat=True))


def derived(project_id: uuid.UUID, ids: set[uuid.UUID]) -> set[uuid.UUID]:
    """Return the memories that were made of these, at whatever remove; digests are told by their lineage."""
    found: set[uuid.UUID] = set()
    new = ids
    while new:
        rows = fetch(DERIVED, {"project": project_id, "ids": list(new)})
        new = {i for (i,) in rows} - ids - found
        found |= new
    return found

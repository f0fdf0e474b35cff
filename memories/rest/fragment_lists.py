"""Lists of fragments: what may be asked for, and which rows these are."""

import uuid
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from memories import access
from memories.access import Principal
from memories.models import KEY_LIMIT, Fragment
from memories.models.enums import FragmentType, SourceType, Status, Tier
from memories.rest.fields import AboutUserQuery, Moment, Text, several
from memories.rest.inputs import namespace_form
from memories.retrieval import Filters

MOST_IDS = 200


class ListQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    type = serializers.ChoiceField(FragmentType.choices, required=False)
    status = several([*Status.choices, ("all", "all")])
    tier = serializers.ChoiceField(Tier.choices, required=False)
    tag = Text(max_length=100, required=False)
    agent = Text(max_length=63, required=False)
    source_type = serializers.ChoiceField(SourceType.choices, required=False)
    key = Text(max_length=KEY_LIMIT, required=False, trim_whitespace=False)
    since = Moment(required=False)
    until = Moment(required=False)
    q = Text(max_length=200, required=False)
    owner = serializers.ChoiceField(["me"], required=False)
    ids = Text(required=False)
    count = serializers.BooleanField(default=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


def matching_fragments(principal: Principal, query: dict[str, Any]) -> QuerySet[Any]:
    """Return the rows that a validated ListQuery asks for, newest first. Raise NotFound, ValidationError."""
    rows = Fragment.objects.within(principal.project_id)
    if "ids" in query:
        return rows.filter(namespace__in=access.readable_scopes(principal), id__in=_uuids(query["ids"])).newest_first()
    if "namespace" in query:
        rows = rows.filter(namespace__in=access.readable_scopes(principal, [query["namespace"]]))
    else:
        rows = rows.filter(namespace__in=access.readable_scopes(principal))
    names = {"type": "type", "tier": "tier", "agent": "agent", "source_type": "source_type", "tags": "tag"}
    wanted: dict[str, Any] = {field: [query[name]] for field, name in names.items() if name in query}
    wanted |= {name: query[name] for name in ("since", "until") if name in query}
    statuses = query.get("status") or [Status.ACTIVE]
    conditions = {"status__in": statuses} if "all" not in statuses else {}
    conditions |= {"key": query["key"]} if "key" in query else {}
    conditions |= {"content__icontains": query["q"]} if "q" in query else {}
    conditions |= {"owner_id": principal.owner_id} if "owner" in query else {}
    return rows.filter(Filters(**wanted).conditions(), **conditions).newest_first()


def _uuids(text: str) -> list[uuid.UUID]:
    try:
        found = [uuid.UUID(part) for part in text.split(",")]
    except ValueError as error:
        raise serializers.ValidationError({"ids": ["Give ids separated by commas."]}) from error
    if len(found) > MOST_IDS:
        raise serializers.ValidationError({"ids": [f"Give at most {MOST_IDS} ids."]})
    return found

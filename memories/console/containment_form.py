"""The form of /containments/: by what it is told what is set aside, and the ground that it names."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.http import Http404
from django.utils.dateparse import parse_datetime

from memories import access, containment
from memories.access import NotFound, Principal
from memories.console.errors import Refusal
from memories.console.explorer_query import normalise_newlines
from memories.containment import ContainmentGround
from memories.models import ApiKey, Owner
from memories.models.enums import ContainmentKind
from memories.models.fragment import CONTENT_LIMIT

LISTED = 200  # keys and owners in a select box
KINDS = {
    ContainmentKind.KEY: "one key",
    ContainmentKind.OWNER: "one owner",
    ContainmentKind.SOURCE: "one source",
    ContainmentKind.CONTENT: "one text",
}
LONGEST = {"key": 100, "owner": 100, "source": 255, "content": CONTENT_LIMIT, "note": 1000, "since": 40}
ASKED_FOR = {
    ContainmentKind.KEY: "Choose a key.",
    ContainmentKind.OWNER: "Choose an owner.",
    ContainmentKind.SOURCE: "Name the source, as its writers did.",
    ContainmentKind.CONTENT: "Give the text, whole.",
}
REFUSED = "This can’t be looked at"


@dataclass(frozen=True, slots=True)
class GroundForm:
    """The form as it was filled in: the kind of ground, the field of each kind, since when, and a note."""

    by: str = ContainmentKind.KEY.value
    key: str = ""
    owner: str = ""
    source: str = ""
    content: str = ""
    since: str = ""
    note: str = ""

    @property
    def named(self) -> str:
        """What the field of its kind says."""
        return str(getattr(self, self.by))

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """The fields, but for the note, as a form carries them on."""
        return [("by", self.by), (self.by, self.named), ("since", self.since)]

    @property
    def since_at(self) -> datetime.datetime | None:
        """The time, in UTC where it says no other. Raise ValueError."""
        if not self.since:
            return None
        at = parse_datetime(self.since)
        if at is None:
            raise ValueError(self.since)
        return at if at.tzinfo else at.replace(tzinfo=datetime.UTC)


def read_form(given: Mapping[str, str]) -> GroundForm:
    """Return what an address or a form names. Raise Http404 for what no such form sends."""
    found = {field.name: normalise_newlines(given.get(field.name, "")).strip() for field in fields(GroundForm)}
    found["by"] = found["by"] or ContainmentKind.KEY.value
    too_long = any(len(found[name]) > most for name, most in LONGEST.items())
    if found["by"] not in KINDS or too_long or any("\0" in text for text in found.values()):
        raise Http404
    return GroundForm(**found)


def ground_of(principal: Principal, form: GroundForm) -> ContainmentGround | Refusal:
    """Return the ground that a form names, or why it names none."""
    try:
        since = form.since_at
    except ValueError:
        return Refusal(REFUSED, "Since when? Give a day and a time, or leave it empty.")
    kind = ContainmentKind(form.by)
    if not form.named:
        return Refusal(REFUSED, ASKED_FOR[kind])
    try:
        with access.enter(principal, why="console"):
            match kind:
                case ContainmentKind.KEY:
                    return containment.by_key(principal, form.key, since=since)
                case ContainmentKind.OWNER:
                    return containment.by_owner(principal, form.owner, since=since)
                case ContainmentKind.SOURCE:
                    return ContainmentGround(kind, source_id=form.source, since=since)
        return ContainmentGround(kind, content=form.content, since=since)
    except NotFound:
        return Refusal(REFUSED, f"There is no such {kind}.")


def choices(principal: Principal, form: GroundForm) -> dict[str, Any]:
    """Return the keys and owners that the form offers, none where they are too many. Inside `access.enter`."""
    keys = ApiKey.objects.within(principal.project_id).select_related("owner").order_by("owner__name", "-created_at")
    owners = Owner.objects.within(principal.project_id).order_by("name")
    return {
        "form": form,
        "kinds": KINDS.items(),
        "keys": _few(keys),
        "owners": [(row, row.name.removeprefix("user:")) for row in _few(owners)],
        "longest": CONTENT_LIMIT,
    }


def _few(rows: Any) -> list[Any]:
    found = list(rows[: LISTED + 1])
    return found if len(found) <= LISTED else []

"""What a caller wants of the memory, and about whom: by headers, the user also by the body."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from memories.access import NotFound, Principal
from memories.models.enums import Users, Verb
from memories.models.namespace import FORM, BadUser, parts_of, user_in_header, user_of
from memories.proxy.errors import ProxyRefused
from memories.retrieval import reads_whole_project

NAMESPACE, SESSION, MODE = "X-NovaMem-Namespace", "X-NovaMem-Session", "X-NovaMem-Mode"
TOP_K, WIDE, USER = "X-NovaMem-Top-K", "X-NovaMem-Project-Wide", "X-NovaMem-User"
FLOOR = "X-NovaMem-Floor"
MOST = 200
SESSION_LIMIT = 255
DECIMAL = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,9})?", re.ASCII)


class Mode(StrEnum):
    """What the memory does in a chat."""

    FULL = "full"
    RECALL = "recall"
    CAPTURE = "capture"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Where to look and to keep, and whether. Without a namespace neither happens.

    `why_not` says why nothing is looked up.
    """

    namespace: str
    session: str
    recall: bool
    capture: bool
    top_k: int | None = None
    project_wide: bool | None = None
    floor: float | None = None
    why_not: str = ""


def principal_for(
    principal: Principal, headers: Mapping[str, str], named_users: Sequence[tuple[str, Any]]
) -> Principal:
    """Return who asks, about the user whom the header or else the body (see Prompt) names, or the namespace, which no
    other may contradict. Raise Refused, NotPermitted, UserRequired: a chat without memory (mode off) alone needs no
    user."""
    if _mode(headers) == Mode.OFF:
        return principal
    place, named = next(((name, value) for name, value in named_users if value is not None), (USER, None))
    if principal.users == Users.NONE:
        place, named = USER, None  # clients say it for reasons of their own; a header is meant for us
    try:
        if (header := headers.get(USER)) is not None:
            place, named = USER, user_in_header(header)
        if not isinstance(named, str | None):
            raise BadUser("A user is a string.")
        if (scoped := _named_scope(headers)[1]) is not None:
            if named is not None and user_of(named) != scoped:
                raise BadUser(f"{NAMESPACE} names another user.")
            named = scoped
        return principal.of_user(named)
    except BadUser as error:
        raise ProxyRefused(400, "invalid_user", str(error), param=place) from error
    except NotFound as error:
        raise ProxyRefused(404, "user_not_found", "There is no such user for this key.", param=place) from error


def options_of(principal: Principal, headers: Mapping[str, str]) -> MemoryOptions:
    """The wish of a request. What was not asked for happens as far as the grant reaches; what was asked for and is not
    granted is refused. Raise Refused, NotFound, NotPermitted."""
    recall_mode = _mode(headers)
    session = headers.get(SESSION, "").strip()
    if len(session) > SESSION_LIMIT:
        raise ProxyRefused(400, "invalid_session", f"{SESSION} has at most {SESSION_LIMIT} characters.", param=SESSION)
    mode = Mode(recall_mode or Mode.FULL)
    namespace = _named_scope(headers)[0] or only_namespace(principal)
    top_k, wide, floor = _top_k(headers), _wide(headers), _floor(headers)
    reads_whole_project(principal, wanted=wide)
    if not namespace or mode is Mode.OFF:
        why_not = "off" if mode is Mode.OFF else "no_namespace"
        return MemoryOptions(namespace, session, recall=False, capture=False, why_not=why_not)
    if not FORM.fullmatch(namespace) or not principal.covers_reading(namespace):
        raise NotFound(f"namespace {namespace}")
    recall, capture = mode in (Mode.FULL, Mode.RECALL), mode in (Mode.FULL, Mode.CAPTURE)
    if recall_mode:
        _require(principal, namespace, recall=recall, capture=capture)
    may_capture = principal.covers(principal.scope(namespace)) and Verb.WRITE in principal.verbs
    why_not = "capture_only" if not recall else "" if Verb.READ in principal.verbs else "not_permitted"
    return MemoryOptions(namespace, session, not why_not, capture and may_capture, top_k, wide, floor, why_not)


def _named_scope(headers: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the namespace that the header names, and the user where it is a scope's name; what is neither as it is."""
    name = headers.get(NAMESPACE, "").strip()
    try:
        return parts_of(name)
    except BadUser:
        return name, None


def _mode(headers: Mapping[str, str]) -> str:
    value = headers.get(MODE, "").strip().lower()
    if value not in ("", *Mode):
        raise ProxyRefused(400, "invalid_mode", f"{MODE} is one of {', '.join(Mode)}.", param=MODE)
    return value


def _top_k(headers: Mapping[str, str]) -> int | None:
    value = headers.get(TOP_K, "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit() and len(value) <= len(str(MOST)) and 1 <= int(value) <= MOST:
        return int(value)
    raise ProxyRefused(400, "invalid_top_k", f"{TOP_K} is a whole number from 1 to {MOST}.", param=TOP_K)


def _floor(headers: Mapping[str, str]) -> float | None:
    value = headers.get(FLOOR, "").strip().lower()
    if value in ("", "auto"):
        return None
    if DECIMAL.fullmatch(value) and float(value) <= 1:
        return float(value)
    raise ProxyRefused(400, "invalid_floor", f"{FLOOR} is auto, or a number from 0 to 1.", param=FLOOR)


def _wide(headers: Mapping[str, str]) -> bool | None:
    value = headers.get(WIDE, "").strip().lower()
    if value not in ("", "true", "false"):
        raise ProxyRefused(400, "invalid_project_wide", f"{WIDE} is true or false.", param=WIDE)
    return value == "true" if value else None


def _require(principal: Principal, namespace: str, *, recall: bool, capture: bool) -> None:
    if recall:
        principal.require(Verb.READ)
    if capture:
        principal.require(Verb.WRITE)
        if not principal.covers(principal.scope(namespace)):
            raise NotFound(f"namespace {namespace}")


def only_namespace(principal: Principal) -> str:
    """Return the grant's namespace when it names exactly one, without a pattern; else ""."""
    names = principal.namespaces
    return names[0] if len(names) == 1 and FORM.fullmatch(names[0]) else ""

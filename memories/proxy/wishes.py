"""What a caller wants of the memory, by headers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memories.access import NotFound, Principal
from memories.models.namespace import FORM
from memories.models.words import Verb
from memories.proxy.refusals import Refused

NAMESPACE, SESSION, MODE = "X-NovaMem-Namespace", "X-NovaMem-Session", "X-NovaMem-Mode"
SESSION_LIMIT = 255


class Mode(StrEnum):
    """What the memory does in a chat."""

    FULL = "full"
    RECALL = "recall"
    CAPTURE = "capture"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Wish:
    """Where to look and to keep, and whether. Without a namespace neither happens."""

    namespace: str
    session: str
    recall: bool
    capture: bool


def wish_of(principal: Principal, headers: Mapping[str, str]) -> Wish:
    """The wish of a request. What was not asked for happens as far as the grant reaches; what was asked for and is not
    granted is refused. Raises Refused, NotFound, NotPermitted."""
    asked = headers.get(MODE, "").strip().lower()
    if asked not in ("", *Mode):
        raise Refused(400, "invalid_mode", f"{MODE} is one of {', '.join(Mode)}.", param=MODE)
    session = headers.get(SESSION, "").strip()
    if len(session) > SESSION_LIMIT:
        raise Refused(400, "invalid_session", f"{SESSION} has at most {SESSION_LIMIT} characters.", param=SESSION)
    mode = Mode(asked or Mode.FULL)
    namespace = headers.get(NAMESPACE, "").strip() or only_namespace(principal)
    if not namespace or mode is Mode.OFF:
        return Wish(namespace, session, recall=False, capture=False)
    if not FORM.fullmatch(namespace) or not principal.covers_reading(namespace):
        raise NotFound(f"namespace {namespace}")
    recall, capture = mode in (Mode.FULL, Mode.RECALL), mode in (Mode.FULL, Mode.CAPTURE)
    if asked:
        _require(principal, namespace, recall=recall, capture=capture)
    may_capture = principal.covers(namespace) and Verb.WRITE in principal.verbs
    return Wish(namespace, session, recall=recall and Verb.READ in principal.verbs, capture=capture and may_capture)


def _require(principal: Principal, namespace: str, *, recall: bool, capture: bool) -> None:
    if recall:
        principal.require(Verb.READ)
    if capture:
        principal.require(Verb.WRITE)
        if not principal.covers(namespace):
            raise NotFound(f"namespace {namespace}")


def only_namespace(principal: Principal) -> str:
    """The grant's namespace when it names exactly one, without a pattern; else ""."""
    names = principal.namespaces
    return names[0] if len(names) == 1 and FORM.fullmatch(names[0]) else ""

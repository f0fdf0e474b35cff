"""Whether the language model is there: what the last calls showed, and a try."""

import datetime
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from memories.access import Principal
from memories.governance.calls import ALIVE, Conversation
from memories.models import LlmCall
from memories.providers import current_sidecar

NONE = "none is set"


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a try: whether the model answered, why not, and the row of the call."""

    works: bool
    why: str
    call: LlmCall | None


def has_sidecar() -> bool:
    """Return whether the settings name a language model."""
    return current_sidecar() is not None


def sidecar_state() -> tuple[bool, str]:
    """Whether the language model is in order as far as this process knows, and which it is; none is in order too."""
    found = current_sidecar()
    if found is None:
        return True, NONE
    name = f"{found.model} at {found.host}"
    return (False, f"{name} failed often and rests") if found.circuit.open else (True, name)


def check_sidecar(principal: Principal, *, now: datetime.datetime) -> Checked:
    """Ask the model for a sign of life. No transaction may be open."""
    talk = Conversation(principal, namespace=None, purpose="check", now=now)
    found = talk.ask(*ALIVE)
    return Checked(found is not None, talk.why, talk.calls[-1] if talk.calls else None)


@register
def check_setting(app_configs: Any, **_: Any) -> list[CheckMessage]:
    """Return a deprecated name is told at start."""
    if settings.SIDECAR_SETTING != "OLLAMA_HOST":
        return []
    return [Warning("OLLAMA_HOST is deprecated.", hint="Rename it: LLM_SIDECAR_URL.", id="novamem.W001")]

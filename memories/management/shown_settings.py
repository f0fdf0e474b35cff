"""The settings in force, as they may be shown: without secrets."""

import re
from typing import Any

from django.conf import settings

SECRET = re.compile(r"(_KEYS?|_TOKEN|_PASSWORD|_HEADERS)$")
PASSWORD = re.compile(r"//([^:/@]*):[^@]*@")
HIDDEN = "(not shown)"


def shown_settings() -> list[dict[str, Any]]:
    """Return each setting with its value, its origin and its place in a TOML file."""
    return [
        {"setting": name, "value": masked(name, value), "origin": settings.ENV_ORIGINS[name], "toml": place}
        for name, value in settings.ENV.items()
        for place in [settings.ENV_PLACES.get(name)]
    ]


def masked(name: str, value: Any) -> Any:
    """Return the value without its secrets."""
    if SECRET.search(name) and isinstance(value, str | list):
        return HIDDEN if value else value
    if isinstance(value, list):
        return [masked(name, each) for each in value]
    if not isinstance(value, str):
        return value
    return PASSWORD.sub(rf"//\1:{HIDDEN}@", value)

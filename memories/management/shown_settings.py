"""The settings in force, as they may be shown: without secrets."""

import re
from typing import Any

from django.conf import settings

SECRET = re.compile(r"(_KEY|_TOKEN|_PASSWORD|_HEADERS)$")
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
    if not isinstance(value, str):
        return value
    if SECRET.search(name):
        return HIDDEN if value else ""
    return PASSWORD.sub(rf"//\1:{HIDDEN}@", value)

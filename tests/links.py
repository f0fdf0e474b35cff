"""Where pages and answers lead."""

import html
import re
from collections.abc import Mapping
from urllib.parse import urljoin

ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
LEADING = re.compile(r"href|src|action|formaction|hx-(get|post|put|patch|delete|push-url|replace-url)")
HEADERS = ("Location", "HX-Redirect", "HX-Location", "HX-Push-Url", "HX-Replace-Url")


def links(text: str) -> list[tuple[str, str]]:
    """The attributes of a page that lead somewhere, with their names; of others those that look like a path."""
    pairs = [(name, html.unescape(value)) for name, value in ATTRIBUTE.findall(text) if name != "data-key"]
    return [(name, value) for name, value in pairs if LEADING.fullmatch(name) or value.startswith("/")]


def links_outside(text: str, headers: Mapping[str, str], *, of: str, prefix: str) -> list[tuple[str, str]]:
    """What leads, or is to be copied, from an answer at a URL to what is beside the prefix on its host."""
    host = "/".join(of.split("/")[:3])
    found = [(name, headers[name]) for name in HEADERS if name in headers] + links(text)
    found += [("text", url) for url in re.findall(rf"{re.escape(host)}[^\s\"'&<]*", text)]
    led = [(name, value, urljoin(of, value)) for name, value in found]
    return [
        (name, value)
        for name, value, url in led
        if url.startswith(host) and url != f"{host}{prefix}" and not url.startswith(f"{host}{prefix}/")
    ]

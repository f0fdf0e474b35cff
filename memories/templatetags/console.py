"""How values look on the console's pages. Memory text is hostile: nothing invisible passes."""

import datetime
import unicodedata
import uuid
from dataclasses import replace
from typing import Any

from django import template
from django.urls import Resolver404, get_script_prefix, resolve, reverse
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from memories.console.auth import FORM
from memories.console.errors import request_id
from memories.console.explorer_query import ALL, ExplorerQuery
from memories.console.snippets import get_curl, server_url
from memories.models.namespace import BadUser, parts_of
from memories.rest.users import address_of

register = template.Library()
register.simple_tag(request_id)

# Icons by word; a word without one gets a plain tag.
ICONS = {
    "active": "check-circle",
    "superseded": "arrow-uturn-right",
    "disputed": "exclamation-triangle",
    "quarantined": "shield-exclamation",
    "archived": "archive-box",
    "episodic": "chat-bubble-left",
    "semantic": "light-bulb",
    "procedural": "list-bullet",
    "hot": "fire",
    "warm": "sun",
    "cold": "cloud",
    "user_explicit": "user",
    "user_implicit": "user-circle",
    "system": "cog-6-tooth",
    "tool_output": "wrench",
    "document": "document-text",
    "inference": "cpu-chip",
    "all": "squares-2x2",
    "queued": "clock",
    "running": "arrow-path",
    "succeeded": "check-circle",
    "failed": "x-circle",
    "cancelled": "no-symbol",
    "revoked": "no-symbol",
    "ended": "no-symbol",
    "stalled": "exclamation-triangle",
    "ok": "check-circle",
    "degraded": "exclamation-triangle",
    "down": "x-circle",
    "waiting": "clock",
    "missing": "exclamation-triangle",
    "sound": "shield-check",
    "unproven": "question-mark-circle",
    "protected": "lock-closed",
    "encrypted": "key",
    "allowed": "check-circle",
    "blocked": "no-symbol",
    "reduction_error": "x-circle",
    "advisory_only": "eye",
    "skipped_no_reduction_client": "forward",
    "llm_returned_null": "minus-circle",
    "passed": "check-circle",
    "never run": "question-mark-circle",
    "accepted": "check",
    "dismissed": "x-mark",
}

# Drawn as nothing, or as a blank, without being format or control characters (Unicode: Default_Ignorable, fillers).
BLANK = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0xE0000, 0xE1000)}
SELECTORS = {*range(0xFE00, 0xFE10), *range(0x180B, 0x1810)}
COLOURED, JOINER = "\ufe0f", "\u200d"
HIDDEN = {"Cf", "Cc", "Cn", "Co", "Cs", "Zl", "Zp"}
UNITS = (("y", 31_536_000), ("mo", 2_592_000), ("d", 86_400), ("h", 3_600), ("min", 60))


@register.simple_tag(takes_context=True)
def signed_form(context: dict[str, Any]) -> SafeString:
    """Return what every form of the console carries: its token, and the project that it was made for."""
    token, request = context["csrf_token"], context["request"]
    return format_html(
        '<input type="hidden" name="csrfmiddlewaretoken" value="{}"><input type="hidden" name="{}" value="{}">',
        token,
        FORM,
        request.principal.project,
    )


@register.filter
def visible(text: Any) -> SafeString:
    """Return the text, escaped; what the eye can't see stands there by its code point, such as ⟨U+202E⟩."""
    shown = str(text)
    if shown.isascii() and shown.isprintable():
        return escape(shown)  # nearly all texts: a list of a hundred is there in a tenth less time
    plain = f" {shown} "
    pieces = [
        _shown(char) if _is_hidden(char, before, after) else str(escape(char))
        for before, char, after in zip(plain, plain[1:], plain[2:], strict=False)
    ]
    return mark_safe("".join(pieces))


@register.filter
def visible_plain(text: Any) -> str:
    """As `visible`, for where no element fits, such as a drawing's text; escaped by the template."""
    plain = f" {text} "
    triples = zip(plain, plain[1:], plain[2:], strict=False)
    return "".join(f"⟨U+{ord(c):04X}⟩" if _is_hidden(c, b, a) else c for b, c, a in triples)


@register.simple_tag
def unseen(*texts: Any) -> SafeString:
    """Beside a field to edit, which shows texts as they are: those with what the eye can't see, by code points."""
    lines = [visible(text) for text in texts if text and visible_plain(text) != str(text)]
    if not lines:
        return SafeString("")
    shown = format_html_join(" · ", "<bdi>{}</bdi>", ((line,) for line in lines))
    return format_html('<p class="strip strip-warn">Characters that can’t be seen: {}</p>', shown)


@register.filter
def place(where: Any) -> SafeString:
    """Return a namespace, as it is written or as a row, and beside it the user whose scope it is."""
    root, user = _parts(where)
    return visible(root) if user is None else format_html("{} {}", visible(root), person(user))


@register.filter
def place_plain(where: Any) -> str:
    """As `place`, for where no element fits; escaped by the template."""
    root, user = _parts(where)
    return visible_plain(root) if user is None else f"{visible_plain(root)}, user {visible_plain(user)}"


@register.filter
def person(user: str) -> SafeString:
    """Return a user's name: a stranger's text, set apart from ours."""
    return format_html('<span class="user"><span>user</span> <bdi>{}</bdi></span>', user_name(user))


@register.filter
def user_name(user: str) -> SafeString:
    """As `visible`, of a user's name; one of blanks alone stands there by code points, since a link has to be seen."""
    return mark_safe("".join(map(_shown, user))) if user.isspace() else visible(user)


def _parts(where: Any) -> tuple[str, str | None]:
    try:
        return parts_of(str(where))
    except BadUser:  # such as "whole project"
        return str(where), None


def _is_hidden(char: str, before: str, after: str) -> bool:
    if char in "\n\t":
        return False
    if char == COLOURED:  # belongs to the symbol before it; anywhere else it hides something
        return not _is_symbol(before)
    if char == JOINER:  # two symbols drawn as one
        return not ((_is_symbol(before) or before == COLOURED) and _is_symbol(after))
    return unicodedata.category(char) in HIDDEN or ord(char) in BLANK or ord(char) in SELECTORS


def _is_symbol(char: str) -> bool:
    return unicodedata.category(char) in ("So", "Sk")


def _shown(char: str) -> str:
    code = f"U+{ord(char):04X}"
    return f'<span class="invisible-char" title="{code}">⟨{code}⟩</span>'


@register.filter
def icon_of(word: str) -> str:
    """Return the heroicon of a status, type, tier or source class."""
    return ICONS.get(str(word), "tag")


@register.filter
def words(name: Any) -> str:
    """Return a word of ours as people read it: `user_explicit` → "user explicit"."""
    return str(name).replace("_", " ")


@register.simple_tag
def moment(at: datetime.datetime | None, now: datetime.datetime) -> SafeString:
    """Return a time, relative to `now`, exact on hover."""
    if at is None:
        return format_html("{}", "never")
    exact = at.astimezone(datetime.UTC)
    title = f"{exact:%Y-%m-%d %H:%M:%S} UTC"
    return format_html('<time datetime="{}" title="{}">{}</time>', exact.isoformat(), title, ago(at, now))


def ago(at: datetime.datetime, now: datetime.datetime) -> str:
    """Return how long ago, in the largest whole unit; "in 3 d" for what is to come."""
    seconds = (now - at).total_seconds()
    if long := _in_units(abs(seconds)):
        return f"{long} ago" if seconds > 0 else f"in {long}"
    return "just now"


@register.filter
def lasting(seconds: float) -> str:
    """Return how long that is, in the largest whole unit."""
    return _in_units(seconds) or "a minute"


def _in_units(seconds: float) -> str:
    """Return a time in the largest whole unit; nothing for less than the smallest."""
    return next((f"{int(seconds // length)} {unit}" for unit, length in UNITS if seconds >= length), "")


@register.filter
def share(value: float) -> str:
    """Return a number of 0..1 in two digits."""
    return f"{value:.2f}"


@register.filter
def signed(value: float) -> str:
    """Return a part of a sum with its sign, in two digits."""
    return f"{'−' if value < 0 else '+'} {abs(value):.2f}"


@register.filter
def percent(value: float) -> str:
    """Return a number of 0..1 as a width of 0..100 in a drawing."""
    return f"{max(0.0, min(1.0, value)) * 100:.2f}"


@register.filter
def shown_value(value: Any) -> str:
    """Return a value of row history."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value not in ("", None) else "none"


@register.inclusion_tag("console/_nav_link.html", takes_context=True)
def nav_link(context: Any, name: str, title: str, icon: str, key: str = "") -> dict[str, Any]:
    """Return a link of the navigation; `key` moves there, and the page that is open is marked."""
    url, path = reverse(f"console:{name}"), context["request"].path
    here = path == url or (url != get_script_prefix() and path.startswith(url))
    return {"url": url, "title": title, "icon": icon, "key": key, "here": here}


@register.simple_tag(takes_context=True)
def api_list(context: Any, label: str, path: str) -> list[tuple[str, str]]:
    """Return a list of the API as `_curls.html` shows it."""
    return [(label, get_curl(server_url(context["request"]), path))]


@register.simple_tag(takes_context=True)
def list_path(context: Any) -> str:
    """Return the list that the open page belongs to: its path without ids, the first page where there is none."""
    path = "/" + context["request"].path_info[1:].partition("/")[0] + "/"
    try:
        return reverse(resolve(path).view_name)
    except Resolver404:
        return reverse("console:dashboard")


@register.filter
def listed(names: str) -> list[str]:
    """Several words of ours, one by one."""
    return names.split()


@register.filter
def minus(number: int, rows: Any) -> int:
    """Return how many are left beside these rows."""
    return int(number) - len(rows)


@register.simple_tag
def list_url(query: ExplorerQuery, **filters: Any) -> str:
    """Return the list of the memories of every status that pass these filters alone."""
    return replace(ExplorerQuery(project=query.project, status=ALL), **filters).url()


@register.simple_tag
def user_url(user: str) -> str:
    """Return the page of a user."""
    return reverse("console:user", args=[address_of(user)])


@register.simple_tag
def memory_url(query: ExplorerQuery, fragment_id: uuid.UUID) -> str:
    """Another memory, opened beside the same list."""
    return query.url(fragment_id, cursor=query.cursor)

"""Commands to copy: what the page shows, asked of the API."""

import json
import shlex
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import get_script_prefix

from memories.console.explorer_query import HITS, PAGE, ExplorerQuery, question_of
from memories.models import Fragment
from memories.models.enums import Status
from memories.models.fragment import CONTAINED

KEY = '-H "Authorization: Bearer $NOVAMEM_KEY"'
JSON = '-H "Content-Type: application/json"'
NAMESPACES_LIMIT = 50  # of one search request


def server_url(request: HttpRequest) -> str:
    """Return the address under which whoever asks reaches this server, without a slash at the end."""
    return request.build_absolute_uri(get_script_prefix()).rstrip("/")


def list_curl(base: str, query: ExplorerQuery, *, project: str, names: list[str], has_users: bool = False) -> str:
    """Return the API call that answers what the list shows; empty where the API has no such filter."""
    if query.is_beyond_search:
        return ""
    times = {"since": query.since, "until": query.until}
    params = {name: at.isoformat() for name, at in times.items() if at}
    if not query.q:
        state = {**query.params, **params, "status": query.status, "limit": PAGE}
        asked_of = {name: value for name, value in state.items() if name not in ("project", "q", "cursor", "day")}
        asked_of |= {"all_users": "true"} if has_users and not query.user else {}
        return get_curl(base, "/api/v1/fragments", **asked_of)
    body = _search_body(query, params, project=project, names=names)
    whose: dict[str, Any] = {"user": query.user} if query.user else {"all_users": True} if has_users else {}
    return _post(f"{base}/api/v1/search", body | whose)


def _search_body(query: ExplorerQuery, times: dict[str, str], *, project: str, names: list[str]) -> dict[str, Any]:
    question = question_of(query, project=project, names=names)
    where = _where(question.namespaces, project=project)
    chosen = {name: [getattr(query, name)] for name in ("type", "tier") if getattr(query, name)}
    chosen |= {"tags": [query.tag]} if query.tag else {}
    standing: dict[str, Any] = {"include_all": True} if query.status == "all" else {"status_filter": [query.status]}
    filters = {**chosen, **times, **standing}
    weighed = {"rerank": query.weighing} if query.weights else {}
    # As the page, which shows the nearest also where nothing is near enough for agents.
    return {"query": query.q, **where, "filters": filters, "floor": 0, "top_k": HITS, **weighed}


def _where(namespaces: list[str], *, project: str) -> dict[str, Any]:
    """Exactly these, or the whole project where they are too many to name."""
    if len(namespaces) > NAMESPACES_LIMIT:
        return {"namespace": f"{project}:shared", "project_wide": True}
    return {"namespaces": namespaces, "project_wide": False}


def context_curl(base: str, query: str, *, project: str, names: list[str], budget: int, user: str = "") -> str:
    """Return the API call that answers the block for a question."""
    whose = {"user": user} if user else {}
    body = {"query": query, **_where(names, project=project), "max_tokens": budget, **whose}
    return _post(f"{base}/api/v1/context", body)


def fragment_curls(base: str, row: Fragment) -> list[tuple[str, str]]:
    """Return what the buttons below an opened memory do, each as an API call."""
    there, user = f"{base}/api/v1/fragments/{row.id}", row.namespace.user
    whose = f"?{urlencode({'user': user})}" if user else ""
    forget = ("Forget", f"curl -X DELETE {shlex.quote(there + whose)} {KEY}")
    if row.archived_reason == CONTAINED:
        return [forget]
    put_away = "unarchive" if row.status == Status.ARCHIVED else "archive"
    return [
        ("Unpin" if row.is_pinned else "Pin", _send("PATCH", there + whose, {"is_pinned": not row.is_pinned})),
        ("No anchor" if row.is_anchor else "Anchor", _send("PATCH", there + whose, {"is_anchor": not row.is_anchor})),
        ("Corroborate", _post(f"{there}/corroborate{whose}", {})),
        (put_away.capitalize(), _post(f"{there}/{put_away}{whose}", {})),
        ("Dispute", _post(f"{there}/dispute{whose}", {"reason": "…"})),
        ("Edit", _send("PATCH", there + whose, {"content": "…", "revision": row.revision})),
        forget,
    ]


def key_command(*, project: str) -> str:
    """Return the command that makes a key for it."""
    grant = f"--namespaces '{project}:*' --verbs read,write --ceiling tool_output"
    return f"script/manage apikey create --project {project} {grant}"


def action_curl(base: str, path: str, body: dict[str, Any] | None = None) -> str:
    """Return the API call that does what a button does."""
    return _post(f"{base}{path}", body or {})


def get_curl(base: str, path: str, **params: Any) -> str:
    """Return the API call that answers a list; what is empty is not asked for."""
    query_string = urlencode({name: value for name, value in params.items() if value})
    return f"curl {shlex.quote(f'{base}{path}?{query_string}' if query_string else base + path)} {KEY}"


def _post(url: str, body: dict[str, Any]) -> str:
    return _send("POST", url, body)


def _send(method: str, url: str, body: dict[str, Any]) -> str:
    return f"curl -X {method} {shlex.quote(url)} {KEY} {JSON} -d {shlex.quote(json.dumps(body))}"

"""Commands to copy: what the page shows, asked of the API."""

import json
import shlex
from typing import Any
from urllib.parse import urlencode

from memories.console.asking import Asked
from memories.console.browsing import HITS, PAGE, question_of

KEY = '-H "Authorization: Bearer $NOVAMEM_KEY"'
JSON = '-H "Content-Type: application/json"'
NAMESPACES_LIMIT = 50  # of one search request


def list_curl(base: str, asked: Asked, *, project: str, names: list[str]) -> str:
    """The API call that answers what the list shows; empty where the API has no such filter."""
    if asked.is_beyond_search:
        return ""
    times = {"since": asked.since, "until": asked.until}
    told = {name: at.isoformat() for name, at in times.items() if at}
    if not asked.q:
        state = {**asked.params, **told, "status": asked.status, "limit": PAGE}
        asked_of = {name: value for name, value in state.items() if name not in ("project", "q", "cursor", "day")}
        return f"curl {shlex.quote(f'{base}/api/v1/fragments?{urlencode(asked_of)}')} {KEY}"
    return _post(f"{base}/api/v1/search", _search_body(asked, told, project=project, names=names))


def _search_body(asked: Asked, times: dict[str, str], *, project: str, names: list[str]) -> dict[str, Any]:
    question = question_of(asked, project=project, names=names)
    few = len(question.namespaces) <= NAMESPACES_LIMIT
    where = {"namespaces": question.namespaces} if few else {"namespace": f"{project}:shared"}
    chosen = {name: [getattr(asked, name)] for name in ("type", "tier") if getattr(asked, name)}
    chosen |= {"tags": [asked.tag]} if asked.tag else {}
    standing: dict[str, Any] = {"include_all": True} if asked.status == "all" else {"status_filter": [asked.status]}
    filters = {**chosen, **times, **standing}
    weighed = {"rerank": asked.weighing} if asked.weights else {}
    return {"query": asked.q, **where, "project_wide": not few, "filters": filters, "top_k": HITS, **weighed}


def key_command(*, project: str) -> str:
    """The command that makes a key for it."""
    grant = f"--namespaces '{project}:*' --verbs read,write --ceiling tool_output"
    return f"script/manage apikey create --project {project} {grant}"


def action_curl(base: str, path: str, body: dict[str, Any] | None = None) -> str:
    """The API call that does what a button does."""
    return _post(f"{base}{path}", body or {})


def _post(url: str, body: dict[str, Any]) -> str:
    return f"curl -X POST {shlex.quote(url)} {KEY} {JSON} -d {shlex.quote(json.dumps(body))}"

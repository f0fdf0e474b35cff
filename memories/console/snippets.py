"""Commands to copy: what the page shows, asked of the API."""

import json
import shlex
from typing import Any
from urllib.parse import urlencode

from memories.console.asking import Asked
from memories.console.browsing import PAGE, question_of

KEY = '-H "Authorization: Bearer $NOVAMEM_KEY"'
JSON = '-H "Content-Type: application/json"'
NAMESPACES_LIMIT = 50  # of one search request


def list_curl(base: str, asked: Asked, *, project: str, names: list[str]) -> str:
    """The API call that answers what the list shows."""
    if not asked.q:
        state = asked.params | {"status": asked.status, "limit": PAGE}
        asked_of = {name: value for name, value in state.items() if name not in ("project", "q", "cursor")}
        return f"curl {shlex.quote(f'{base}/api/v1/fragments?{urlencode(asked_of)}')} {KEY}"
    return _post(f"{base}/api/v1/search", _search_body(asked, project=project, names=names))


def _search_body(asked: Asked, *, project: str, names: list[str]) -> dict[str, Any]:
    question = question_of(asked, project=project, names=names)
    few = len(question.namespaces) <= NAMESPACES_LIMIT
    where = {"namespaces": question.namespaces} if few else {"namespace": f"{project}:shared"}
    chosen = {name: [getattr(asked, name)] for name in ("type", "tier") if getattr(asked, name)}
    chosen |= {"tags": [asked.tag]} if asked.tag else {}
    standing: dict[str, Any] = {"include_all": True} if asked.status == "all" else {"status_filter": [asked.status]}
    filters = {**chosen, **standing}
    return {"query": asked.q, **where, "project_wide": not few, "filters": filters, "top_k": question.top_k}


def store_curl(base: str, *, project: str) -> str:
    """The API call that stores a first memory."""
    body = {"namespace": f"{project}:assistant", "content": "The user prefers short answers."}
    return _post(f"{base}/api/v1/fragments", body)


def key_command(*, project: str) -> str:
    """The command that makes a key for it."""
    grant = f"--namespaces '{project}:*' --verbs read,write --ceiling tool_output"
    return f"python manage.py apikey create --project {project} {grant}"


def _post(url: str, body: dict[str, Any]) -> str:
    return f"curl -X POST {shlex.quote(url)} {KEY} {JSON} -d {shlex.quote(json.dumps(body))}"

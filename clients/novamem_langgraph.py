"""A LangGraph store that keeps its items in NovaMem, over HTTP.

Copy this file; it needs langgraph-checkpoint and httpx2.

    store = NovaMemStore("http://127.0.0.1:8000", "nova_…", namespace="acme:graph")
    graph = builder.compile(store=store)

Each item is a memory under a key made of its path and its own key, so no other is merged with it or takes its place:
its value stands in `extra`, its text in the content, its paths are tags. Deleting archives, so that the same value can
be put again. A search with a query finds no item that was put with `index=False`.
"""

import asyncio
import hashlib
import json
import operator
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

import httpx2
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

CONTENT_LIMIT, KEY_LENGTH, PAGE = 2000, 480, 200
STANDS = ("active", "disputed", "quarantined")
ORDERED = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
EXACT = {"$eq": operator.eq, "$ne": operator.ne}
Path = tuple[str, ...]


class NovaMemStore(BaseStore):
    """Items in one namespace of NovaMem, or of one user in it: those of two users never meet.

    `fields` are the paths whose texts are searched, unless `put` names others.
    """

    def __init__(
        self, url: str, key: str, *, namespace: str, user: str | None = None, fields: Sequence[str] | None = None
    ) -> None:
        self.namespace, self.fields = namespace, fields
        self.user = user and unicodedata.normalize("NFC", user)  # as answers have it
        headers = {"Authorization": f"Bearer {key}"}
        headers |= {} if user is None else {"X-NovaMem-User": quote(user, safe="")}
        self.client = httpx2.Client(base_url=f"{url}/api/v1/", headers=headers, timeout=60)

    def close(self) -> None:
        """Closes its connections."""
        self.client.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries the operations out, in order. Raises InvalidNamespaceError before any of them."""
        wanted = list(ops)
        for op in wanted:
            validate_op_namespace(op)
        return [self._one(op) for op in wanted]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _one(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            row = self._row(op.namespace, op.key)
            return _item(row) if row else None
        if isinstance(op, PutOp):
            return self._put(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise TypeError(f"unknown operation {op!r}")

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            self._archive(op.namespace, op.key)
            return
        values = {"namespace": list(op.namespace), "key": op.key, "value": op.value, "indexed": op.index is not False}
        body = {"content": self._text(op), "extra": {"langgraph": values}}
        prefixes = [op.namespace[:depth] for depth in range(len(op.namespace) + 1)]
        body |= {"namespace": self.namespace, "key": _item_key(op.namespace, op.key), "type": "semantic"}
        self._ask("POST", "fragments", {**body, "tags": [_path_tag(prefix) for prefix in prefixes]})

    def _archive(self, path: Path, key: str) -> None:
        try:
            self._ask("POST", "fragments/archive", {"namespace": self.namespace, "key": _item_key(path, key)})
        except httpx2.HTTPStatusError as error:
            if error.response.status_code not in (httpx2.codes.NOT_FOUND, httpx2.codes.CONFLICT):  # it is gone
                raise

    def _search(self, op: SearchOp) -> list[SearchItem]:
        tag = _path_tag(op.namespace_prefix)
        if op.query:
            filters = {"tags": tag, "status_filter": STANDS}
            body = {
                "query": op.query,
                "namespace": self.namespace,
                "project_wide": False,
                "floor": 0,
                "filters": filters,
            }
            found = self._ask("POST", "search", {**body, "top_k": PAGE})["results"]
            rows: Iterable[Any] = [row for row in found if self._is_own(row) and _told(row).get("indexed", True)]
        else:
            rows = self._rows(tag)
        fitting = [row for row in rows if _fits(_told(row)["value"], op.filter or {})]
        return [_search_item(row) for row in fitting[op.offset : op.offset + op.limit]]

    def _is_own(self, row: Any) -> bool:
        """Whether it is of this store: a search finds what all users may know, too."""
        return bool((row["namespace"], row["user"]) == (self.namespace, self.user))

    def _namespaces(self, op: ListNamespacesOp) -> list[Path]:
        found = {tuple(_told(row)["namespace"]) for row in self._rows(_path_tag(()))}
        matching = {path for path in found if all(_matches(path, one) for one in op.match_conditions or ())}
        cut = sorted({path[: op.max_depth] for path in matching})
        return cut[op.offset : op.offset + op.limit]

    def _text(self, op: PutOp) -> str:
        """What the value says: the texts at the paths that are to be indexed, else all of it."""
        value = op.value or {}
        if op.index is False:
            return op.key
        texts = [
            text for path in op.index or self.fields or [] for text in get_text_at_path(value, tokenize_path(path))
        ]
        return ("\n".join(texts) if texts else json.dumps(value, ensure_ascii=False)).strip()[:CONTENT_LIMIT] or op.key

    def _row(self, path: Path, key: str) -> Any:
        return next(self._listed(key=_item_key(path, key)), None)

    def _rows(self, tag: str) -> Iterator[Any]:
        """The standing memories with a tag, newest first."""
        return self._listed(tag=tag)

    def _listed(self, **path: str) -> Iterator[Any]:
        url = "fragments"
        params: Any = {"namespace": self.namespace, **path, "status": STANDS, "limit": PAGE}
        while url:
            page = self._ask("GET", url, params=params)
            yield from page["results"]
            url, params = page["next"], None

    def _ask(self, method: str, path: str, body: Any = None, params: Any = None) -> Any:
        """The answer. Raises httpx2.HTTPStatusError, with the problem's words."""
        answer = self.client.request(method, path, json=body, params=params)
        if answer.is_error:
            raise httpx2.HTTPStatusError(answer.text, request=answer.request, response=answer)
        return answer.json()


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _path_tag(path: Path) -> str:
    return f"langgraph:{_digest(*path)}"


def _item_key(path: Path, key: str) -> str:
    """The path and the key as one; what is too long as its digest."""
    text = json.dumps([*path, key], ensure_ascii=False)
    return f"langgraph:{text}" if len(text) <= KEY_LENGTH else f"langgraph-item:{_digest(*path, key)}"


def _told(row: Any) -> Any:
    return row["extra"]["langgraph"]


def _parts(row: Any) -> dict[str, Any]:
    values = _told(row)
    return {
        "value": values["value"],
        "key": values["key"],
        "namespace": tuple(values["namespace"]),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }


def _item(row: Any) -> Item:
    return Item(**_parts(row))


def _search_item(row: Any) -> SearchItem:
    return SearchItem(**_parts(row), score=row.get("score"))


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value satisfies a filter, as LangGraph's own stores compare."""
    if isinstance(wanted, dict) and any(name.startswith("$") for name in wanted):
        return all(_holds(value, name, limit) for name, limit in wanted.items())
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(_fits(value.get(name), inner) for name, inner in wanted.items())
    return bool(value == wanted)


def _holds(value: Any, name: str, limit: Any) -> bool:
    if name in EXACT:
        return bool(EXACT[name](value, limit))
    if name in ORDERED:
        return bool(ORDERED[name](float(value), float(limit)))
    raise ValueError(f"Unsupported operator: {name}")


def _matches(path: Path, condition: MatchCondition) -> bool:
    pattern = tuple(condition.path)
    if len(path) < len(pattern):
        return False
    part = path[: len(pattern)] if condition.match_type == "prefix" else path[len(path) - len(pattern) :]
    return all(wanted in ("*", found) for found, wanted in zip(part, pattern, strict=True))

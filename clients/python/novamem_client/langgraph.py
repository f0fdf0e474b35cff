"""A LangGraph store that keeps its items in NovaMem, over HTTP.

    pip install "novamem-client[langgraph]"

    store = NovaMemStore("http://127.0.0.1:8000", "nova_…", namespace="acme:graph")
    graph = builder.compile(store=store)

Each item is a memory under a key made of its path and its own key, so no other is merged with it or takes its place:
its value stands in `extra`, its text in the content, its paths are tags. Deleting archives, so that the same value can
be put again. A search with a query finds no item that was put with `index=False`. An item with a time to live is shown
no more when it is over, and archived by `sweep_ttl`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import operator
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import httpx
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
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from novamem_client import NovaMem, Problem

CONTENT_LIMIT, KEY_LENGTH, PAGE = 2000, 480, 200
STANDS: Any = ["active", "disputed", "quarantined"]
ANSWERS: Any = ["active", "disputed"]  # a question; what waits for a person is only listed
GONE = (404, 409)  # of what is to be archived: it is not there, or not any more
REFRESHED_AFTER = 0.1  # of its time to live: a read before that lets an item be
ORDERED = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
EXACT = {"$eq": operator.eq, "$ne": operator.ne}
Path = tuple[str, ...]


class NovaMemStore(BaseStore):
    """Items in one namespace of NovaMem, or of one user in it: those of two users never meet.

    `fields` are the paths whose texts are searched, unless `put` names others; `ttl` how long items live that name no
    time of their own, and whether reading keeps them.
    """

    supports_ttl = True

    def __init__(
        self,
        url: str,
        key: str,
        *,
        namespace: str,
        user: str | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        self.namespace, self.fields, self.ttl_config = namespace, fields, ttl
        self.user = user and unicodedata.normalize("NFC", user)  # as answers have it
        self.memory = NovaMem(url, key, user=user, http=http)

    def close(self) -> None:
        """Close its connections."""
        self.memory.close()

    def sweep_ttl(self) -> int:
        """Archive the items whose time is over; return how many."""
        over = [row for row in self._every(tag=_path_tag(())) if _is_over(row)]
        for row in over:
            self._archive(tuple(_told(row)["namespace"]), _told(row)["key"])
        return len(over)

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
            if row and op.refresh_ttl:
                self._refresh(row)
            return _item(row) if row else None
        if isinstance(op, PutOp):
            self._put(op)
            return None
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
        if op.ttl is not None:
            values |= _lasting(op.ttl)
        prefixes = [op.namespace[:depth] for depth in range(len(op.namespace) + 1)]
        self.memory.fragments.store(
            namespace=self.namespace,
            key=_item_key(op.namespace, op.key),
            content=self._text(op),
            type="semantic",
            tags=[_path_tag(prefix) for prefix in prefixes],
            extra={"langgraph": values},
        )

    def _refresh(self, row: Any) -> None:
        """Let an item that was read live as long again, unless it was put or read just now."""
        told = _told(row)
        if "ttl" in told and time.time() > told["expires"] - 60 * told["ttl"] * (1 - REFRESHED_AFTER):
            self.memory.fragments.change(row["id"], extra={"langgraph": {**told, **_lasting(told["ttl"])}})

    def _archive(self, path: Path, key: str) -> None:
        try:
            self.memory.fragments.archive_by_key(namespace=self.namespace, key=_item_key(path, key))
        except Problem as problem:
            if problem.status not in GONE:
                raise

    def _search(self, op: SearchOp) -> list[SearchItem]:
        tag = _path_tag(op.namespace_prefix)
        if op.query:
            found = self.memory.search(
                query=op.query,
                namespace=self.namespace,
                project_wide=False,
                floor=0,
                filters={"tags": [tag], "status_filter": ANSWERS},
                top_k=PAGE,
            )["results"]
            rows: Iterable[Any] = [row for row in found if self._is_own(row) and _told(row).get("indexed", True)]
        else:
            rows = self._listed(tag=tag)
        fitting = [row for row in rows if not _is_over(row) and _fits(_told(row)["value"], op.filter or {})]
        shown = fitting[op.offset : op.offset + op.limit]
        for row in shown if op.refresh_ttl else ():
            self._refresh(row)
        return [_search_item(row) for row in shown]

    def _is_own(self, row: Any) -> bool:
        """Whether it is of this store: a search finds what all users may know, too."""
        return bool((row["namespace"], row["user"]) == (self.namespace, self.user))

    def _namespaces(self, op: ListNamespacesOp) -> list[Path]:
        found = {tuple(_told(row)["namespace"]) for row in self._listed(tag=_path_tag(()))}
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

    def _listed(self, **which: Any) -> Iterator[Any]:
        """Return the items that live, newest first."""
        return (row for row in self._every(**which) if not _is_over(row))

    def _every(self, **which: Any) -> Iterator[Any]:
        rows = self.memory.fragments.all(namespace=self.namespace, status=STANDS, limit=PAGE, **which)
        return (row for row in rows if self._is_own(row))


def _lasting(minutes: float) -> dict[str, float]:
    """Return how long an item lives, and until when, in seconds since 1970."""
    return {"ttl": minutes, "expires": time.time() + 60 * minutes}


def _is_over(row: Any) -> bool:
    return bool(_told(row).get("expires", math.inf) <= time.time())


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

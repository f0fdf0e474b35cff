"""Attempts of one user of a namespace on another one's memories, through every door.

`ann` and `ben` are users behind one key of one service (`service`), which names the user of each request; `bound` is a
key whose grant reaches only ben; `required` must name a user. Ann's memories hold a word that stands nowhere else: it
may be in no answer that is not hers, and nothing of hers may be changed, gone or pointed at. A request that the server
does not understand proves nothing: it is found, too.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

SECRET = "quokkasilber"
KEYS: dict[str, dict[str, Any]] = {
    "service": {"verbs": ["read", "write", "review"], "ceiling": "user_explicit", "may_attest_user": True},
    "bound": {"verbs": ["read", "write", "review", "admin"], "ceiling": "user_explicit", "user_patterns": ["ben"]},
    "required": {"verbs": ["read", "write"], "ceiling": "tool_output", "users": "required"},
}
JUDGE: dict[str, Any] = {"verbs": ["read", "review"], "ceiling": "user_explicit"}
TEXTS = (
    f"I keep the {SECRET} under the stairs.",
    f"My safe word is {SECRET}.",
    f"Whoever asks about holidays hears: {SECRET} bay in June.",
)
HOME = {"subject": "user", "predicate": "lives_in"}
FOOD = {"subject": "user", "predicate": "favorite_food"}
ANN = "YW5u"  # how addresses name her
NOT_SAID_FOR_BEN = "name different users"
Request = Callable[..., tuple[int, str]]


@dataclass
class Crossing:
    """One project with ann's memories in it. `request(key, method, path, body, headers)` answers status and text."""

    request: Request
    namespace: str
    # Does what workers do, and makes a backup, whose id it returns.
    work: Callable[[], None]
    back_up: Callable[[], str]
    ids: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    attempts: int = 0

    def prepare(self) -> None:
        """Ben and ann speak; among her memories a conflict waits, and another one is settled."""
        self._kept({"content": "Ben likes the sea at night."}, user="ben")
        for text in TEXTS:
            self.ids.append(self._kept({"content": text, "conversation_id": "c1", "key": f"k-{len(self.ids)}"}))
        claim = {**HOME, "value": SECRET}
        self.ids.append(self._kept({"content": f"I live in {SECRET}.", "claim": claim}, source="user_explicit"))
        rival = {"content": f"About where the user lives: not {SECRET}.", "claim": {**HOME, "value": f"{SECRET} 2"}}
        self.ids.append(self._kept(rival, source="tool_output"))
        for value, source in ((f"{SECRET} pie", "tool_output"), (f"{SECRET} soup", "inference")):
            body = {"content": f"On the card: {value}.", "claim": {**FOOD, "value": value}}
            self.ids.append(self._kept(body, source=source))
        (row,) = self._hers("conflicts?status=pending&predicate=favorite_food")["results"]
        decided = {"action": "supersede", "revision": row["revision"], "ruling": True, "user": "ann"}
        status, text = self.request("judge", "POST", f"/api/v1/conflicts/{row['id']}/resolve", decided)
        if status != 200:
            raise RuntimeError(f"ann's conflict was not settled: {status} {text}")
        self.backup = self.back_up()
        self.conflicts = [row["id"] for row in self._hers("conflicts?status=pending")["results"]]
        self.before = self._state()

    def _kept(self, body: dict[str, Any], source: str = "inference", user: str = "ann") -> str:
        sent = {"namespace": self.namespace, "user": user, "provenance": {"source": source}, **body}
        status, text = self.request("service", "POST", "/api/v1/fragments", sent)
        if status not in (200, 201):
            raise RuntimeError(f"{user} could not store: {status} {text}")
        return str(json.loads(text)["id"])

    def _hers(self, path: str) -> Any:
        joint = "&" if "?" in path else "?"
        status, text = self.request("service", "GET", f"/api/v1/{path}{joint}namespace={self.namespace}&user=ann")
        if status != 200:
            raise RuntimeError(f"ann could not read {path}: {status} {text}")
        return json.loads(text)

    def _state(self) -> dict[str, Any]:
        values = ("status", "content", "revision", "claim", "tags", "votes", "pinned", "superseded_by")
        kept = {}
        for each in self.ids:
            status, text = self.request("service", "GET", f"/api/v1/fragments/{each}?user=ann")
            row = json.loads(text) if status == 200 else {"gone": status}
            kept[each] = {name: row[name] for name in (*values, "gone") if name in row}
        return kept

    def attempt(self, key: str, method: str, path: str, body: Any = None, **headers: str) -> str:
        """Return one request of ben's, whose answer must not hold ann's word; what it answered."""
        self.attempts += 1
        status, text = self.request(key, method, path, body, headers)
        line = f"{key} {method} {path} {body} {headers or ''} → {status} {text[:300]}"
        invalid = '"code": "validation"' in text or '"code":"validation"' in text
        if status == 405 or (status == 400 and invalid and NOT_SAID_FOR_BEN not in text):
            self.found.append(f"not understood: {line}")
        sent = json.dumps(body or {}) + path
        if SECRET in text and SECRET not in sent:
            self.found.append(f"read: {line}")
        if any(each in text and each not in sent for each in self.ids):
            self.found.append(f"named: {line}")
        if status >= 500:
            self.found.append(f"error: {line}")
        return text

    def require_open(self, method: str, path: str, body: Any, **headers: str) -> None:
        """Raise RuntimeError unless ann finds her own word through this door: a shut one proves nothing."""
        status, text = self.request("service", method, path, body, headers)
        if status != 200 or SECRET not in text:
            raise RuntimeError(f"ann finds nothing at {method} {path} {body}: {status} {text[:500]}")

    def judge(self) -> list[str]:
        """Return what of ann's was read, named or changed."""
        after = self._state()
        changed = [f"changed: {each}: {self.before[each]} → {after[each]}" for each in self.ids
                   if after[each] != self.before[each]]  # fmt: skip
        return self.found + changed


def whose(key: str) -> list[dict[str, str]]:
    """Return the ways in which a key may say for whom it asks, none of them ann."""
    return [{"user": "ben"}] if key == "bound" else [{"user": "ben"}, {}]


def _reads(crossing: Crossing, key: str) -> None:
    space = crossing.namespace
    lists = (
        "fragments", "claims", "claims?subject=user", "claims/timeline?subject=user&predicate=lives_in",
        "conflicts?status=pending", "conflicts?status=all", "events", "episodes", "clusters", "graph?entity=user",
        "graph/entities?q=user", "stats", "tombstones", "proposals", "tasks/recent", "consolidations",
        *(f"fragments/{each}" for each in crossing.ids),
    )  # fmt: skip
    crossing.attempt(key, "GET", "/api/v1/namespaces", **{"X-NovaMem-User": "ben"})
    for path in ("rulings", "predicates", "users"):
        crossing.attempt(key, "GET", f"/api/v1/{path}?namespace={space}", **{"X-NovaMem-User": "ben"})
        crossing.attempt(key, "GET", f"/api/v1/{path}", **{"X-NovaMem-User": "ben"})
    for who in whose(key):
        for path in lists:
            ask = "".join(f"&user={user}" for user in who.values())
            joint = "&" if "?" in path else "?"
            if not path.startswith("fragments/"):
                crossing.attempt(key, "GET", f"/api/v1/{path}{joint}namespace={space}{ask}")
            crossing.attempt(key, "GET", f"/api/v1/{path}{joint}{ask}")
        for path in ("operations", "evictions/preview"):
            crossing.attempt(key, "GET", f"/api/v1/{path}{ask.replace('&', '?')}")
    for each in crossing.ids:
        for more in ("", "/history"):
            crossing.attempt(key, "GET", f"/api/v1/fragments/{each}{more}?user=ben")
    for each in crossing.conflicts:
        crossing.attempt(key, "GET", f"/api/v1/conflicts/{each}?user=ben")


def _questions(crossing: Crossing, key: str) -> None:
    hers = {"namespace": crossing.namespace, "query": "safe word", "user": "ann"}
    crossing.require_open("POST", "/api/v1/search", hers)
    crossing.require_open("POST", "/api/v1/context", hers)
    for who in whose(key):
        for query in ("under the stairs", "safe word", "holidays", "where does the user live?"):
            body = {"namespace": crossing.namespace, "query": query, **who}
            crossing.attempt(key, "POST", "/api/v1/search", body)
            crossing.attempt(
                key, "POST", "/api/v1/search", {**body, "filters": {"status_filter": ["active", "quarantined"]}}
            )
            crossing.attempt(key, "POST", "/api/v1/search", {**body, "top_k": 50, "explain": True})
            crossing.attempt(key, "POST", "/api/v1/context", body)
            crossing.attempt(key, "POST", "/api/v1/search/batch", {"searches": [body]})


def _writes(crossing: Crossing, key: str) -> None:
    space = crossing.namespace
    for who in whose(key):
        for text in TEXTS:
            body = {"namespace": space, "content": text, **who}
            crossing.attempt(key, "POST", "/api/v1/fragments", body)
            crossing.attempt(key, "POST", "/api/v1/fragments/batch", {"fragments": [{**body, "tags": ["echo"]}]})
        claim = {**HOME, "value": "Oslo"}
        fragment = {"namespace": space, "content": "I live in Oslo.", "claim": claim, **who}
        crossing.attempt(key, "POST", "/api/v1/fragments", {**fragment, "provenance": {"source": "user_explicit"}})
        same = {"namespace": space, "content": f"I live in {SECRET}.", "claim": {**HOME, "value": SECRET}, **who}
        crossing.attempt(key, "POST", "/api/v1/fragments", same)
        crossing.attempt(key, "POST", "/api/v1/fragments", {
            "namespace": space, "content": "Another text.", "key": "k-0", **who})  # fmt: skip
        derived = {"source": "inference", "parents": crossing.ids[:1]}
        crossing.attempt(key, "POST", "/api/v1/fragments", {
            "namespace": space, "content": "A digest.", "provenance": derived, **who})  # fmt: skip
        turns = [{"role": "user", "content": "I live in Oslo. I moved there in May.", "id": "turn-1"}]
        crossing.attempt(key, "POST", "/api/v1/ingest", {
            "namespace": space, "messages": turns, "conversation_id": "c1", **who})  # fmt: skip


def _changes(crossing: Crossing, key: str) -> None:
    for each in crossing.ids:
        path = f"/api/v1/fragments/{each}"
        for ask in ("?user=ben", ""):
            crossing.attempt(key, "PATCH", path + ask, {"content": "Ben was here.", "revision": 1})
            for how in ("archive", "unarchive", "reinforce"):
                crossing.attempt(key, "POST", f"{path}/{how}{ask}", {})
            crossing.attempt(key, "POST", f"{path}/compact{ask}", {"level": "hash"})
            crossing.attempt(key, "POST", f"{path}/dispute{ask}", {"reason": "wrong"})
            crossing.attempt(key, "POST", f"{path}/corroborate{ask}", {"source_id": "s1"})
            crossing.attempt(key, "POST", f"{path}/tier{ask}", {"from": "hot", "to": "warm"})
            crossing.attempt(key, "DELETE", path + ask)
    for each in crossing.conflicts:
        for action in ("supersede", "reject", "keep_both"):
            body = {"action": action, "revision": 1, "user": "ben"}
            crossing.attempt(key, "POST", f"/api/v1/conflicts/{each}/resolve", body)
            crossing.attempt(key, "POST", f"/api/v1/conflicts/{each}/undo?user=ben", {})


def _erasures(crossing: Crossing, key: str) -> None:
    space, ids = crossing.namespace, crossing.ids
    for who in whose(key):
        for what in (
            {"conversation_id": "c1"},
            {"ids": ids},
            {"since": "2020-01-01T00:00:00Z"},
        ):
            named = {"namespace": space, **what, **who}
            crossing.attempt(key, "POST", "/api/v1/forget", {**named, "dry_run": True})
            for count in (0, 1, len(TEXTS), len(ids)):
                crossing.attempt(key, "POST", "/api/v1/forget", {**named, "expected_count": count})
        header = {"X-NovaMem-User": who["user"]} if who else {}
        crossing.attempt(key, "POST", "/api/v1/fragments/archive", {"namespace": space, "key": "k-0"}, **header)
    if key == "bound":
        crossing.attempt(key, "GET", f"/api/v1/users/{ANN}/export?namespace={space}")
        crossing.attempt(key, "GET", f"/api/v1/users/{ANN}/export")
        crossing.attempt(key, "DELETE", f"/api/v1/users/{ANN}?namespace={space}&dry_run=true")
        for count in (len(ids), len(ids) + 1):
            crossing.attempt(key, "DELETE", f"/api/v1/users/{ANN}?expected_count={count}")


def _scopes(crossing: Crossing, key: str) -> None:
    """Ann's scope by its written name, while the request is ben's or the grant is."""
    space, who = f"{crossing.namespace}/ann", {"user": "ben"}
    crossing.attempt(key, "POST", "/api/v1/search", {"namespace": space, "query": "safe word", **who})
    crossing.attempt(key, "POST", "/api/v1/context", {"namespace": space, "query": "safe word", **who})
    crossing.attempt(key, "POST", "/api/v1/fragments", {"namespace": space, "content": "Ben was here.", **who})
    mixed = [
        {"namespace": crossing.namespace, "query": "safe word", **who},
        {"namespace": space, "query": "stairs", **who},
    ]
    crossing.attempt(key, "POST", "/api/v1/search/batch", {"searches": mixed})
    for path in ("fragments", "claims", "events", "conflicts", "episodes", "clusters", "stats", "tombstones"):
        crossing.attempt(key, "GET", f"/api/v1/{path}?namespace={space}&user=ben")
    crossing.attempt(key, "GET", f"/api/v1/graph?entity=user&namespace={space}&user=ben")
    if key == "bound":
        crossing.attempt(key, "POST", "/api/v1/search", {"namespace": space, "query": "safe word"})
        crossing.attempt(key, "GET", f"/api/v1/fragments?namespace={space}")
        crossing.attempt(key, "POST", "/api/v1/search", {
            "namespace": crossing.namespace, "query": "safe word", "all_users": True})  # fmt: skip
        crossing.attempt(key, "POST", "/api/v1/search", {
            "namespace": crossing.namespace, "query": "safe word", "user": "ann"})  # fmt: skip
        crossing.attempt(key, "GET", f"/api/v1/fragments?namespace={crossing.namespace}&all_users=true")


def _jobs(crossing: Crossing, key: str) -> None:
    """Consolidation, packs, branches, digests, restores and backups that ben asks for, and what they leave."""
    space, who = crossing.namespace, {"user": "ben"}
    branch, header = f"{space.partition(':')[0]}:branch", {"X-NovaMem-User": "ben"}

    def job(method: str, path: str, body: dict[str, Any] | None = None, **headers: str) -> None:
        """An attempt, what a worker makes of it, and what can be seen of that."""
        answer = crossing.attempt(key, method, path, body, **headers)
        crossing.work()
        if (made := json.loads(answer).get("id") if answer.startswith("{") else None) and "operations" not in path:
            for then in (f"operations/{made}", f"packs/{made}/download", f"backups/{made}/download"):
                crossing.attempt(key, "GET", f"/api/v1/{then}", **header)

    for kind in ("archive", "compact", "consolidate", "tier", "evict"):
        place = {} if kind == "evict" else {"namespace": space}
        for dry in (True, False):
            job("POST", "/api/v1/operations", {"kind": kind, **place, "dry_run": dry, **who})
    job("POST", "/api/v1/consolidations", {"namespace": space, **who})
    job("POST", "/api/v1/packs", {"namespace": space, **who})
    job("POST", "/api/v1/digests", {"ids": crossing.ids[: len(TEXTS)]}, **header)
    job("POST", f"/api/v1/namespaces/{space}/fork", {"target": branch}, **header)
    job("POST", f"/api/v1/namespaces/{space}/merge", {"target": branch}, **header)
    job("DELETE", f"/api/v1/namespaces/{space}", {"confirm": space}, **header)
    job("POST", "/api/v1/backups", {}, **header)
    job("POST", "/api/v1/restores", {"backup_id": crossing.backup}, **header)
    for path in ("", f"/{crossing.backup}", f"/{crossing.backup}/download"):
        crossing.attempt(key, "GET", f"/api/v1/backups{path}", **header)
    job("DELETE", f"/api/v1/backups/{crossing.backup}", **header)
    for named in whose(key):
        crossing.attempt(key, "POST", "/api/v1/search", {"namespace": branch, "query": "safe word", **named})


MCP = (
    ("recall", {"query": "safe word"}), ("recall", {"query": "stairs"}),
    ("context", {"query": "where does the user live?"}),
    ("list_claims", {"subject": "user"}), ("list_conflicts", {}), ("list_namespaces", {}), ("read_graph", {}),
    ("search_nodes", {"query": SECRET[:6]}), ("open_nodes", {"names": ["user"]}),
)  # fmt: skip


def _mcp(crossing: Crossing, key: str) -> None:
    calls = list(MCP)
    for each in crossing.ids[:2]:
        calls += [(tool, {"id": each}) for tool in ("read_memory", "forget", "archive", "reinforce")]
    headers = {"Accept": "application/json, text/event-stream", "X-NovaMem-Namespace": crossing.namespace}
    question = {"name": "recall", "arguments": {"query": "safe word"}}
    hers = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": question}
    crossing.require_open("POST", "/mcp", hers, **{**headers, "X-NovaMem-User": "ann"})
    for who in whose(key):
        named = {**headers, **({"X-NovaMem-User": who["user"]} if who else {})}
        for tool, arguments in calls:
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            crossing.attempt(key, "POST", "/mcp", call, **named)


def _compat(crossing: Crossing, key: str) -> None:
    headers = {"X-NovaMem-Namespace": crossing.namespace}
    base = "/compat/mem0"
    turns = [{"role": "user", "content": TEXTS[1]}]
    crossing.request("service", "POST", f"{base}/v3/memories/add/", {
        "messages": turns, "user_id": "ann", "infer": False}, headers)  # fmt: skip
    body = {"query": "safe word", "filters": {"user_id": "ann"}}
    crossing.require_open("POST", f"{base}/v3/memories/search/", body, **headers)
    for query in ("safe word", "stairs"):
        crossing.attempt(
            key, "POST", f"{base}/v3/memories/search/", {"query": query, "filters": {"user_id": "ben"}}, **headers
        )
    crossing.attempt(key, "POST", f"{base}/v3/memories/", {"filters": {"user_id": "ben"}}, **headers)
    crossing.attempt(key, "DELETE", f"{base}/v1/memories/?user_id=ben", **headers)
    crossing.attempt(key, "POST", f"{base}/v3/memories/add/", {
        "messages": [{"role": "user", "content": TEXTS[0]}], "user_id": "ben", "infer": False}, **headers)  # fmt: skip
    for each in crossing.ids if key == "bound" else []:
        path = f"{base}/v1/memories/{each}/"
        crossing.attempt(key, "GET", path, **headers)
        crossing.attempt(key, "GET", f"{path}history/", **headers)
        crossing.attempt(key, "PUT", path, {"text": "Ben was here."}, **headers)
        crossing.attempt(key, "DELETE", path, **headers)


def _bridges(crossing: Crossing, key: str) -> None:
    space, base = crossing.namespace, "/api/v1/bridges"
    body = {"namespace": space, "query": "safe word"}
    crossing.require_open("POST", f"{base}/atlas/enrich", body, **{"X-NovaMem-User": "ann"})
    for who in ({"X-NovaMem-User": "ben"}, {}) if key != "bound" else ({"X-NovaMem-User": "ben"},):
        crossing.attempt(key, "POST", f"{base}/atlas/enrich", {"namespace": space, "query": "safe word"}, **who)
        crossing.attempt(
            key, "POST", f"{base}/taste-vault/supplement", {"namespace": space, "context": "stairs"}, **who
        )
        branch = {"branch_id": "branch", "source_namespace": space}
        crossing.attempt(key, "POST", f"{base}/universes/branches", branch, **who)
        merge = {"branch_id": "branch", "target_namespace": space}
        crossing.attempt(key, "POST", f"{base}/universes/merges", merge, **who)
        crossing.work()
        body = {"namespace": f"{space.partition(':')[0]}:branch", "query": "safe word"}
        crossing.attempt(key, "POST", "/api/v1/search", body, **who)


def _proxy(crossing: Crossing, key: str) -> None:
    """Chats with an upstream that says what it was told."""
    path, place = "/v1/chat/completions", {"X-NovaMem-Namespace": crossing.namespace}

    def chat(text: str, **more: str) -> dict[str, Any]:
        return {"model": "echoing", "messages": [{"role": "user", "content": text}], **more}

    hers = {**place, "X-NovaMem-User": "ann"}
    crossing.require_open("POST", path, chat("What is my safe word?"), **hers)
    header = {**place, "X-NovaMem-User": "ben"}
    for text in ("What is my safe word?", "What is under the stairs?", "Where do I live?", "I live in Oslo.", *TEXTS):
        for session in ({}, {"X-NovaMem-Session": "c1"}):
            crossing.attempt(key, "POST", path, chat(text), **header, **session)
        for naming in ({"user": "ben"}, {"safety_identifier": "ben"}, *([{}] if key != "bound" else [])):
            crossing.attempt(key, "POST", path, chat(text, **naming), **place)
        crossing.attempt(key, "POST", path, chat(text, user="ann"), **header)
        crossing.attempt(key, "POST", path, chat(text), **header, **{"X-NovaMem-Project-Wide": "true"})
        if key == "bound":
            crossing.attempt(key, "POST", path, chat(text), **hers)
    crossing.attempt(key, "POST", "/v1/responses", {"model": "echoing", "input": "What is my safe word?"}, **header)


DOORS: dict[str, Callable[[Crossing, str], None]] = {
    "lists and ids": _reads,
    "search, batch, context": _questions,
    "store, batch, ingest, echo, dedup": _writes,
    "change, vote, decide": _changes,
    "forget, erase, export": _erasures,
    "another scope by name": _scopes,
    "merge, digest, pack, restore": _jobs,
    "MCP": _mcp,
    "mem0": _compat,
    "bridges": _bridges,
    "proxy": _proxy,
}


def plays() -> Iterator[tuple[str, str]]:
    """Return every door with every key."""
    for door in DOORS:
        for key in KEYS:
            yield door, key

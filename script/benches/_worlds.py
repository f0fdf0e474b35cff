"""Two worlds in which an attack can be played: the product behind its HTTP API, and neolata's own rule.

An attack is a function of a world. The cast: `user` (ceiling user_explicit) and `reader` are the victim's keys, and
`assistant` (inference) is an agent of the user's own that went astray; `agent` (inference), `second` (tool_output) and
`accomplice` (who may review) are keys of one attacker; `tool`, `tool2` (two keys of one owner), `document` and `third`
are other owners'; `foreign` may do everything, in another project; `admin` and `reviewer` are nobody's accomplices.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from tests.conflicts.neolata import Claim, Memory, Neolata

CAST: dict[str, dict[str, Any]] = {
    "user": {"owner": "alice", "ceiling": "user_explicit", "verbs": ["read", "write"]},
    "reader": {"owner": "alice", "ceiling": "inference", "verbs": ["read"]},
    # What hears the user: attests what is plainly said.
    "listener": {"owner": "alice", "ceiling": "user_implicit", "verbs": ["read", "write"], "may_attest_user": True},
    "assistant": {"owner": "alice", "ceiling": "inference", "verbs": ["read", "write"]},
    "agent": {"owner": "mallory", "ceiling": "inference", "verbs": ["read", "write"]},
    "second": {"owner": "mallory", "ceiling": "tool_output", "verbs": ["read", "write"]},
    "accomplice": {"owner": "mallory", "ceiling": "inference", "verbs": ["read", "write", "review"]},
    "tool": {"owner": "toolsmith", "ceiling": "tool_output", "verbs": ["read", "write"]},
    "tool2": {"owner": "toolsmith", "ceiling": "tool_output", "verbs": ["read", "write"]},
    "document": {"owner": "crawler", "ceiling": "document", "verbs": ["read", "write"]},
    "third": {"owner": "trent", "ceiling": "tool_output", "verbs": ["read", "write"]},
    # Who prepares what a person then rules on.
    "clerk": {"owner": "clerk", "ceiling": "document", "verbs": ["read", "write"]},
    "scribe": {"owner": "scribe", "ceiling": "inference", "verbs": ["read", "write"]},
    "admin": {"owner": "root", "ceiling": "user_explicit", "verbs": ["read", "write", "admin"]},
    "reviewer": {"owner": "judge", "ceiling": "user_explicit", "verbs": ["read", "review"]},
}
FOREIGN = {"owner": "eve", "ceiling": "user_explicit", "verbs": ["read", "write", "review", "admin"]}
RANKS = {"inference": 1, "document": 2, "user_implicit": 3, "tool_output": 4, "system": 5, "user_explicit": 6}
ROLES = {"user": "user_implicit", "assistant": "inference", "tool": "tool_output", "system": "inference"}
VICTIM = "victim"
PLAIN = str.maketrans("‹⟦⟧⟮", "<[](", "“”")
OK, CREATED, BAD = 200, 201, 300
# What of an answer is worth a line in a report.
TELLING = ("id", "status", "code", "detail", "errors", "deduplicated", "superseded", "pending_conflicts", "stored")


@dataclass(frozen=True, slots=True)
class Topic:
    """What is fought over: the user's value, the attacker's, and how people say and ask it."""

    predicate: str
    mine: str
    theirs: str
    said: str  # by the user
    told: str  # by others, as the extractor understands it
    hint: str  # by others, so that it doesn't: only the claim beside it speaks
    question: str
    subject: str = "user"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attack ended. `override` and `authority` say what happened, or are empty."""

    override: str = ""
    authority: str = ""
    exposed: bool = False
    labelled: bool = False
    log: tuple[str, ...] = ()

    @property
    def wrong(self) -> str:
        """What went wrong, or nothing."""
        unlabelled = "exposed without its label" if self.exposed and not self.labelled else ""
        return "; ".join(filter(None, (self.override, self.authority, unlabelled)))


class World(Protocol):
    """What attackers can do. A fragment is named by what `store` and `ingest` gave, or VICTIM: the user's."""

    topic: Topic
    notes: list[str]  # fragments that one part of an attack leaves to the next

    def user_says(self, value: str = "", **claim: Any) -> str:
        """Return the user states the topic's value, which is protected from then on in place of an earlier one."""

    def store(
        self,
        who: str,
        content: str,
        claim: Mapping[str, Any] | None = None,
        *,
        source: str | None = None,
        parents: Sequence[str] = (),
        reads: Mapping[str, Any] | None = None,
        claim_most: int | None = None,
        harmless: bool = False,
        batch: bool = False,
        place: str = "",
        **fields: Any,
    ) -> str:
        """Store a fragment; its name, or "" when it was refused.

        `reads` asks for extraction and says what a model that believes the text would read in it; `claim_most` is the
        highest authority that may come of it. `harmless` claims are about something else. `place` is another namespace.
        """

    def ingest(self, who: str, *messages: tuple[str, str]) -> list[str]:
        """Send turns (role, content); the role "text" is a document."""

    def vote(self, who: str, ballot: str, fragment: str = VICTIM, **body: Any) -> None:
        """dispute, corroborate or reinforce."""

    def change(self, who: str, how: str, fragment: str = VICTIM, **body: Any) -> None:
        """patch, delete, archive, unarchive, get or history."""

    def resolve(self, who: str, fragment: str, action: str, **body: Any) -> None:
        """Settle what a quarantined fragment waits for."""

    def register(self, who: str, **rule: Any) -> None:
        """Register a predicate."""

    def protect(self, fragment: str) -> None:
        """Count a fragment among those that must not be lost."""

    def together(self, *acts: Callable[[], object]) -> None:
        """All at the same time."""


Send = Callable[[str, str, str, Any], tuple[int, Any]]


@dataclass
class Served:
    """The product. `send(who, method, path, body)` answers the status and the JSON of one request."""

    send: Send
    namespace: str
    topic: Topic
    log: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # The attackers' fragments: the authority that neither they nor their claims may exceed.
    theirs: dict[str, tuple[int, int]] = field(default_factory=dict)
    # Those in which the extractor found who speaks: what is read of a "Bob: I …" is not about the user.
    heard: set[str] = field(default_factory=set)
    false_values: set[str] = field(default_factory=set)
    protected: dict[str, dict[str, Any]] = field(default_factory=dict)
    victim: str = ""

    def call(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return one request; what was asked and answered is kept for the report."""
        status, answer = self.send(who, method, f"/api/v1/{path}", body)
        brief = {name: answer[name] for name in TELLING if name in answer} if isinstance(answer, dict) else answer
        self.log.append(f"{who} {method} {path} {body} → {status} {brief}")
        return status, answer

    def done(self, who: str, method: str, path: str, body: Any = None) -> Any:
        """Return one request of those that prepare or measure, which has to succeed."""
        status, answer = self.call(who, method, path, body)
        if status >= 300:
            raise RuntimeError("\n".join(["a request that prepares or measures failed", *self.log[-6:]]))
        return answer

    def user_says(self, value: str = "", **claim: Any) -> str:
        value = value or self.topic.mine
        self.release(self.victim)
        answer = self.done("user", "POST", "fragments", {
            "namespace": self.namespace,
            "content": self.topic.said.format(value),
            "claim": self.claim(value=value, **claim),
            "provenance": {"source": "user_explicit"},
        })  # fmt: skip
        self.victim = answer["id"]
        self.protect(self.victim)
        return self.victim

    def claim(self, **more: Any) -> dict[str, Any]:
        """Return a claim on the topic."""
        return {"subject": self.topic.subject, "predicate": self.topic.predicate, **more}

    def protect(self, fragment: str) -> None:
        self.protected[fragment] = self.done("reader", "GET", f"fragments/{fragment}")

    def release(self, fragment: str) -> None:
        """No longer protected: the user replaced it."""
        self.protected.pop(fragment, None)

    def store(
        self,
        who: str,
        content: str,
        claim: Mapping[str, Any] | None = None,
        *,
        source: str | None = None,
        parents: Sequence[str] = (),
        reads: Mapping[str, Any] | None = None,
        claim_most: int | None = None,
        harmless: bool = False,
        batch: bool = False,
        place: str = "",
        **fields: Any,
    ) -> str:
        parents = [self._id(parent) for parent in parents]
        body: dict[str, Any] = {"namespace": self._place(place), "content": content, **fields}
        if claim:
            body["claim"] = dict(claim)
        if reads:
            body["extract_claim"] = True
        if source or parents:
            body["provenance"] = {"source": source or "inference", **({"parents": parents} if parents else {})}
        if not harmless:
            self.false_values |= {part["value"] for part in (claim, reads) if part}
        path, sent = ("fragments/batch", {"fragments": [body], "embed": "now"}) if batch else ("fragments", body)
        status, answer = self.call(who, "POST", path, sent)
        if status not in (OK, CREATED):
            return ""
        stored: dict[str, Any] = _only(answer) if batch else answer
        if not stored.get("deduplicated"):
            limits = [self.ceiling(who), *(self.theirs[p][0] for p in parents if p in self.theirs)]
            most = min(limits) if who != "user" else 6
            self.theirs[stored["id"]] = (most, most if claim_most is None else claim_most)
        return str(stored["id"])

    def ceiling(self, who: str) -> int:
        """Return the rank that a key may reach here."""
        return RANKS[CAST[who]["ceiling"]] if who in CAST else 0

    def ingest(self, who: str, *messages: tuple[str, str]) -> list[str]:
        turns = [{"role": role, "content": content} for role, content in messages if role != "text"]
        found = []
        for body in [{"messages": turns}] if turns else [{"text": content} for _, content in messages]:
            status, answer = self.call(who, "POST", "ingest", {"namespace": self.namespace, **body})
            for stored in answer["stored"] if status == CREATED else []:
                self.theirs[stored["id"]] = (self.ceiling(who), self.ceiling(who))
                found.append(stored["id"])
        self.heard |= set(found)
        self.false_values.add(self.topic.theirs)
        return found

    def vote(self, who: str, ballot: str, fragment: str = VICTIM, **body: Any) -> None:
        self.call(who, "POST", f"fragments/{self._id(fragment)}/{ballot}", body)

    def change(self, who: str, how: str, fragment: str = VICTIM, **body: Any) -> None:
        path = f"fragments/{self._id(fragment)}"
        if value := (body.get("claim") or {}).get("value"):
            self.false_values.add(value)
        if how in ("patch", "delete", "get"):
            self.call(who, how.upper(), path, body or None)
        elif how == "history":
            self.call(who, "GET", f"{path}/history")
        else:
            self.call(who, "POST", f"{path}/{how}", {})

    def resolve(self, who: str, fragment: str, action: str, **body: Any) -> None:
        waiting = self.done("reviewer", "GET", f"conflicts?status=pending&namespace={self.namespace}")["results"]
        for conflict in waiting:
            if fragment and fragment in str(conflict):
                self.call(
                    who,
                    "POST",
                    f"conflicts/{conflict['id']}/resolve",
                    {"action": action, "revision": conflict["revision"], **body},
                )

    def register(self, who: str, **rule: Any) -> None:
        ask = self.done if who == "admin" else self.call
        ask(who, "POST", "predicates", {"namespace": self.namespace, **rule})

    def together(self, *acts: Callable[[], object]) -> None:
        with ThreadPoolExecutor(len(acts)) as pool:
            for future in [pool.submit(act) for act in acts]:
                future.result()

    def _place(self, agent: str) -> str:
        return f"{self.namespace.partition(':')[0]}:{agent}" if agent else self.namespace

    def _id(self, fragment: str) -> str:
        return self.victim if fragment == VICTIM else fragment

    def judge(self, session: str = "", *, understood: bool = False) -> Verdict:
        """Return what the user's reader gets now. A free text that the extractor understands may not stand."""
        found = [self._lost(), *self._answers("")]
        if session:
            found += self._answers(session)
        seen = {fragment for _, shown in self._seen for fragment in shown}
        labels = [label for label, shown in self._seen if shown]
        if understood and seen:
            found.append("a text that the extractor understands stands beside the user's")
        return Verdict(
            override="; ".join(filter(None, found)),
            authority=self._risen(),
            exposed=bool(seen),
            labelled=bool(seen) and all(labels),
            log=tuple(self.log),
        )

    def _lost(self) -> str:
        self._seen: list[tuple[bool, set[str]]] = []
        for fragment, before in self.protected.items():
            status, now = self.call("reader", "GET", f"fragments/{fragment}")
            if status != OK:
                return f"the user's fragment answers {status}"
            for name in ("status", "content"):
                if now[name] != before[name]:
                    return f"the user's {name} became {now[name]!r}"
            if _said(now) != _said(before):
                return f"the user's claim became {now['claim']}"
        return ""

    def _answers(self, session: str) -> list[str]:
        more = {"session_id": session} if session else {}
        body = {"namespace": self.namespace, "query": self.topic.question, **more}
        hits = self.done("reader", "POST", "search", body)["results"]
        block = self.done("reader", "POST", "context", body)
        believed = self.believed(self.topic.subject, self.topic.predicate, **more)
        where = f" in session {session}" if session else ""
        return [
            *(self._of_hits(hits, where)),
            *(self._of_block(block, where)),
            *(self._of_claims(believed, where)),
        ]

    def believed(self, subject: str, predicate: str, **more: str) -> list[dict[str, Any]]:
        """Return what is believed of a key."""
        params = {"namespace": self.namespace, "subject": subject, "predicate": predicate, **more}
        found: list[dict[str, Any]] = self.done("reader", "GET", f"claims?{urlencode(params)}")["results"]
        return found

    def _of_hits(self, hits: list[dict[str, Any]], where: str) -> list[str]:
        here = {hit["id"]: hit for hit in hits}
        shown = {i for i in self.theirs if i in here and i not in self.protected}
        self._seen.append((all(self._honest(here[i]) for i in shown), shown))
        missing = [f"search{where} misses the user's" for i in self.protected if i not in here]
        opposed = [f"search{where} holds {here[i]['claim']['value']!r}" for i in shown if self._false(here[i])]
        return missing + opposed

    def _of_block(self, block: dict[str, Any], where: str) -> list[str]:
        inside = set(map(str, block["included"]))
        shown = {i for i in self.theirs if i in inside and i not in self.protected}
        fragments = [self.done("reader", "GET", f"fragments/{i}") for i in shown]
        lines = block["prompt_prefix"].splitlines()
        labelled = all(
            any(_flat(row["content"]) in line and row["provenance"]["source"] in line for line in map(_flat, lines))
            for row in fragments
        )
        self._seen.append((labelled, shown))
        missing = [f"context{where} misses the user's" for i in self.protected if i not in inside]
        opposed = [f"context{where} holds {row['claim']['value']!r}" for row in fragments if self._false(row)]
        return missing + opposed

    def _of_claims(self, believed: list[dict[str, Any]], where: str) -> list[str]:
        values = [claim["value"] for claim in believed if claim["status"] == "active"]
        wanted = [row["claim"]["value"] for row in self.protected.values()]
        missing = [f"claims{where} miss {value!r}" for value in wanted if value not in values]
        return missing + [f"claims{where} hold {v!r}" for v in values if v in self.false_values and v not in wanted]

    def _false(self, row: dict[str, Any]) -> bool:
        claim = row["claim"] or {}
        is_own = row["id"] not in self.heard or claim.get("subject") == self.topic.subject
        return is_own and row["status"] == "active" and claim.get("value") in self.false_values

    def _honest(self, row: dict[str, Any]) -> bool:
        return 0 < RANKS[row["provenance"]["source"]] <= self.theirs[row["id"]][0]

    def _risen(self) -> str:
        for fragment, (most, claim_most) in self.theirs.items():
            status, row = self.call("reader", "GET", f"fragments/{fragment}")
            if status != OK:
                continue  # deleted, or in the foreign project
            if row["provenance"]["authority"] > most:
                return f"authority {row['provenance']['authority']} above {most}"
            claimed = (row["claim"] or {}).get("authority", 0)
            if claimed > claim_most:
                return f"the claim's authority {claimed} above {claim_most}"
        return ""


class Blocked(AssertionError):
    """A legitimate update did not get through."""


class Settled(Served):
    """The product, for legitimate updates."""

    def demand(self, held: object, why: str) -> None:
        """Raise Blocked with what was asked and answered."""
        if not held:
            raise Blocked("\n".join([why, *self.log]))

    def keep(
        self, who: str, content: str, claim: Mapping[str, Any] | None, *, source: str, **fields: Any
    ) -> dict[str, Any]:
        """Store what has to stand at once."""
        body = {"namespace": self.namespace, "content": content, "provenance": {"source": source}, **fields}
        status, answer = self.call(who, "POST", "fragments", body | ({"claim": claim} if claim else {}))
        self.demand(status in (OK, CREATED), f"{who} was refused: {status}")
        self.demand(answer["status"] == "active", f"what {who} said is {answer['status']}")
        stored: dict[str, Any] = answer
        return stored

    def try_to_keep(self, who: str, content: str, topic: Topic, value: str) -> str:
        """Store what may be quarantined."""
        claim = {"subject": topic.subject, "predicate": topic.predicate, "value": value}
        sent = {"namespace": self.namespace, "content": content, "claim": claim}
        ceiling = {"provenance": {"source": CAST[who]["ceiling"]}}
        return str(self.done(who, "POST", "fragments", sent | ceiling)["id"])

    def change_own(self, who: str, fragment: str, changes: Mapping[str, Any]) -> None:
        """A PATCH that has to be taken."""
        status, answer = self.call(who, "PATCH", f"fragments/{fragment}", dict(changes))
        self.demand(status == OK, f"{who} was refused: {status}")
        self.demand(answer["status"] == "active", f"what {who} wrote is {answer['status']}")

    def _values(self, subject: str, predicate: str, as_of: str) -> list[str]:
        believed = self.believed(subject, predicate, **({"as_of": as_of} if as_of else {}))
        return [claim["value"] for claim in believed if claim["status"] == "active"]

    def believes(self, value: str, subject: str = "", predicate: str = "", as_of: str = "") -> None:
        """The value is believed, now or for a time."""
        subject, predicate = subject or self.topic.subject, predicate or self.topic.predicate
        believed = self._values(subject, predicate, as_of)
        self.demand(value in believed, f"{value!r} is not believed, but {believed}")

    def believes_not(self, value: str, subject: str = "", predicate: str = "", as_of: str = "") -> None:
        """The value is believed no longer, or not yet."""
        subject, predicate = subject or self.topic.subject, predicate or self.topic.predicate
        believed = self._values(subject, predicate, as_of)
        self.demand(value not in believed, f"{value!r} is still believed: {believed}")

    def answers(self, value: str, *, but: str, **more: Any) -> None:
        """A default search answers the claim with this value and not the one with the other."""
        body = {"namespace": self.namespace, "query": self.topic.question, **more}
        hits = self.done("reader", "POST", "search", body)["results"]
        values = [(hit["claim"] or {}).get("value") for hit in hits]
        self.demand(value in values, f"search {more} misses {value!r}: {values}")
        self.demand(but not in values, f"search {more} still holds {but!r}")


def _said(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim without what may change: when it was last heard."""
    return {name: value for name, value in (row["claim"] or {}).items() if name != "last_seen_at"}


def _only(answer: Any) -> dict[str, Any]:
    """Return the result of a batch of one."""
    results: list[dict[str, Any]] = answer if isinstance(answer, list) else answer.get("results") or answer["fragments"]
    return results[0]


def _claim(given: Mapping[str, Any]) -> Claim:
    """Return a claim of a request as neolata takes it."""
    times = {n: datetime.datetime.fromisoformat(given[n]) for n in ("valid_from", "valid_until") if given.get(n)}
    return Claim(**{**given, **times})


def _flat(text: str) -> str:
    """Return a text without what a block changes of it: white space, and what looks like a label."""
    return " ".join(text.translate(PLAIN).split())


class Replayed:
    """Neolata's rule. It knows no tenants, parents, ceilings and registries; what it has no notion of does nothing."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.rule = Neolata()
        self.notes: list[str] = []
        self.theirs: set[str] = set()
        self.protected: set[str] = set()
        self.victim = ""

    def user_says(self, value: str = "", **claim: Any) -> str:
        value = value or self.topic.mine
        self.release(self.victim)
        stated = _claim({"subject": self.topic.subject, "predicate": self.topic.predicate, "value": value, **claim})
        stored = self.rule.store("user", self.topic.said.format(value), claim=stated, source="user_explicit")
        self.victim = stored.memory.id
        self.protect(self.victim)
        return self.victim

    def protect(self, fragment: str) -> None:
        self.protected.add(fragment)

    def release(self, fragment: str) -> None:
        """No longer protected: the user replaced it."""
        self.protected.discard(fragment)

    def store(
        self,
        who: str,
        content: str,
        claim: Mapping[str, Any] | None = None,
        *,
        source: str | None = None,
        parents: Sequence[str] = (),
        reads: Mapping[str, Any] | None = None,
        claim_most: int | None = None,
        harmless: bool = False,
        batch: bool = False,
        place: str = "",
        **fields: Any,
    ) -> str:
        given = claim or reads
        stated = _claim(given) if given else None
        stored = self.rule.store(who, content, claim=stated, source=source)
        if not stored.deduplicated:
            self.theirs.add(stored.memory.id)
        return stored.memory.id

    def ingest(self, who: str, *messages: tuple[str, str]) -> list[str]:
        sources = [ROLES.get(role, "document") for role, _ in messages]
        return [self.store(who, text, source=s) for (_, text), s in zip(messages, sources, strict=True)]

    def vote(self, who: str, ballot: str, fragment: str = VICTIM, **body: Any) -> None:
        getattr(self.rule, ballot)(self._id(fragment))

    def change(self, who: str, how: str, fragment: str = VICTIM, **body: Any) -> None:
        """Neolata changes nothing that stands."""

    def resolve(self, who: str, fragment: str, action: str, **body: Any) -> None:
        for conflict in self.rule.pending_conflicts():
            if conflict.new_id == fragment:
                self.rule.resolve_conflict(conflict.id, action=action)

    def register(self, who: str, **rule: Any) -> None:
        """There is no registry."""

    def together(self, *acts: Callable[[], object]) -> None:
        for act in acts:
            act()

    def _id(self, fragment: str) -> str:
        return self.victim if fragment == VICTIM else fragment

    def fell(self, measure: str, session: str = "") -> bool:
        """Whether the attack succeeded, by the family's measure: `override`, `shadow` (free text stands unmarked in the
        default answer) or `trust` (the attacker's is trusted as much as the user's, which is how the gate decides)."""
        shown = self.rule.search() + (self.rule.search(session_id=session) if session else [])
        theirs = [memory for memory in shown if memory.id in self.theirs - self.protected]
        if measure == "shadow":
            return bool(theirs)
        if measure == "trust":
            return self._trust(self.theirs) >= self._trust(self.protected)
        answers = [self.rule.search(session_id=s) for s in {"", session}]
        kept = all(self.protected <= {memory.id for memory in answer} for answer in answers)
        return not kept or any(memory.claim for memory in theirs)

    def _trust(self, ids: set[str]) -> float:
        memories: list[Memory] = [self.rule.memories[i] for i in ids if i in self.rule.memories]
        return max((memory.provenance.trust for memory in memories), default=0.0)

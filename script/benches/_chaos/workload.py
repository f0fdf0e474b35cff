"""What clients do: short stories of operations, each in a namespace of its own, whose outcome the ledger holds."""

import random
import string
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from memories.proxy.relay import PATIENCE as WRITTEN

from .caller import DOUBT, PATIENCE, Caller, Refused, Unanswered
from .ledger import (
    Apart,
    BackedUp,
    Batch,
    Believed,
    Deleted,
    Finished,
    Forgotten,
    Holds,
    Ledger,
    Merged,
    Packed,
    Row,
    Stored,
    Undone,
)
from .product import PROJECT, Product

FRAGMENTS = "/api/v1/fragments"
BATCH = 5
MARKER = r"(zu[bdfghkmnprtvwxz]{12}q)"


def marker() -> str:
    """Return a word that stands nowhere else, and that no stemmer changes."""
    return "zu" + "".join(random.choices("bdfghkmnprtvwxz", k=12)) + "q"


def namespace(project: str = PROJECT) -> str:
    """Return the name of a new namespace."""
    return f"{project}:{uuid.uuid4().hex[:12]}"


def text(mark: str) -> str:
    """Return a sentence like no other."""
    words = ["".join(random.choices(string.ascii_lowercase, k=7)) for _ in range(4)]
    return f"The {mark} of {words[0]} rests near {words[1]} while {words[2]} turns {words[3]}."


class Client(ExitStack):
    """Three keys of one project, and what they have written."""

    def __init__(self, product: Product, ledger: Ledger, *, patience: float, doubt: float) -> None:
        super().__init__()
        self.ledger, self._product = ledger, product
        self._how = {"patience": patience, "doubt": doubt}
        self.writer, self.rival, self.reviewer = (
            self.enter_context(Caller(product.url, product.keys[who], ledger, **self._how))
            for who in ("writer", "rival", "reviewer")
        )

    def store(self, place: str, *, who: Caller | None = None, **more: Any) -> Stored:
        """Store one text; what has to stand of it."""
        mark = marker()
        body = {"namespace": place, "content": text(mark), **more}
        made = (who or self.writer).tell("store", "POST", FRAGMENTS, body)
        return Stored("store", mark, made["id"], place, made["content"], status=made["status"])

    def stored(self) -> None:
        """One text."""
        self.ledger.keep(self.store(namespace()))

    def batched(self) -> None:
        """Some texts at once."""
        place, marks = namespace(), [marker() for _ in range(BATCH)]
        items = [{"namespace": place, "content": text(mark)} for mark in marks]
        made = self.writer.tell("batch", "POST", f"{FRAGMENTS}/batch", {"fragments": items})["results"]
        rows = [Stored("batch", mark, row["id"], place, row["content"]) for mark, row in zip(marks, made, strict=True)]
        self.ledger.keep(Batch("batch", place, rows))

    def patched(self) -> None:
        """A text that is changed twice."""
        fact = self.store(namespace())
        self.ledger.keep(fact)
        fact.operation = "patch"
        for _ in range(2):
            content = text(fact.marker)

            def was_done(_: int, content: str = content) -> Row | None:
                row = self.writer.ask(f"{FRAGMENTS}/{fact.id}")
                return row if row and row["content"] == content else None

            body = {"content": content, "revision": fact.revision}
            done = self.writer.tell("patch", "PATCH", f"{FRAGMENTS}/{fact.id}", body, was_done=was_done)
            fact.content, fact.revision = content, done["revision"]

    def voted(self) -> None:
        """A text that another owner reinforces."""
        fact = self.store(namespace())
        self.ledger.keep(fact)
        self.rival.tell("vote", "POST", f"{FRAGMENTS}/{fact.id}/reinforce", {})
        fact.operation, fact.ballots = "vote", Counter(reinforce=1)

    def forgotten(self) -> None:
        """A text that is forgotten again."""
        fact = self.store(namespace())
        path = f"{FRAGMENTS}/{fact.id}"
        self.writer.tell("forget", "DELETE", path, was_done=lambda status: status == 404)
        self.ledger.keep(Forgotten("forget", fact.marker, fact.id, fact.namespace, fact.content))

    def claimed(self) -> None:
        """A value, and a newer one of the same owner."""
        place, subject = namespace(), marker()
        old, new = (self._claim(place, subject, value) for value in ("11", "12"))
        self.ledger.keep(Believed("claim", subject, "12", new["id"], old["id"]))

    def resolved(self) -> None:
        """Two values of two owners, and a decision of a third."""
        place, subject = namespace(), marker()
        old = self._claim(place, subject, "11")
        new = self._claim(place, subject, "12", who=self.rival)
        (conflict,) = new["pending_conflicts"]
        self._settle(conflict if isinstance(conflict, str) else conflict["id"])
        found = conflict if isinstance(conflict, str) else conflict["id"]
        self.ledger.keep(Believed("resolve", subject, "12", new["id"], old["id"], found))

    def _claim(self, place: str, subject: str, value: str, *, who: Caller | None = None) -> Row:
        claim = {"subject": subject, "predicate": "gate code", "value": value}
        body = {"namespace": place, "content": f"The gate code of {subject} is {value}.", "claim": claim}
        return (who or self.writer).tell("claim", "POST", FRAGMENTS, body)

    def _settle(self, conflict: str) -> None:
        body = {"action": "supersede", "revision": 1}
        self.reviewer.tell("resolve", "POST", f"/api/v1/conflicts/{conflict}/resolve", body)

    def forked(self) -> None:
        """A namespace, its fork, what is written there, and the way back."""
        place, marks, brought, _ = self._merged()
        self.ledger.keep(Holds("merge", place, marks + brought))

    def unmerged(self) -> None:
        """The same, and the merge is taken back."""
        place, marks, brought, merge = self._merged()
        self._done("undo", place, f"/api/v1/operations/{merge['id']}/undo", {})
        self.ledger.keep(Undone("undo", place, marks, brought))

    def _merged(self) -> tuple[str, list[str], list[str], Row]:
        """Return a namespace, what it held, what its branch brought, and the merge."""
        place, branch = namespace(), namespace()
        marks = [self._kept(place) for _ in range(3)]
        self._done("fork", place, f"/api/v1/namespaces/{place}/fork", {"target": branch})
        self.ledger.keep(Holds("fork", branch, marks))
        brought = [self._kept(branch) for _ in range(2)]
        return (
            place,
            marks,
            brought,
            self._done("merge", place, f"/api/v1/namespaces/{branch}/merge", {"target": place}),
        )

    def consolidated(self) -> None:
        """Two texts that differ in spacing, and the consolidation that finds them."""
        place, ids, _ = self._consolidated()
        self.ledger.keep(Merged("consolidate", place, ids))

    def unconsolidated(self) -> None:
        """The same, and the consolidation is taken back."""
        place, ids, run = self._consolidated()
        self._done("undo", place, f"/api/v1/consolidations/{run['id']}/undo", {})
        self.ledger.keep(Apart("undo", place, ids))

    def _consolidated(self) -> tuple[str, tuple[str, str], Row]:
        """Return a namespace, the ids of two texts, and the consolidation that found them."""
        place, content = namespace(), text(marker())
        one, other = (
            self.writer.tell("store", "POST", FRAGMENTS, {"namespace": place, "content": said})["id"]
            for said in (content, content.replace(" ", "  ", 1))
        )
        return place, (one, other), self._done("consolidate", place, "/api/v1/consolidations", {"namespace": place})

    def restored(self) -> None:
        """A namespace that is backed up, deleted, and brought back."""
        place = namespace()
        facts = [self.store(place) for _ in range(3)]
        subject = marker()
        claim = self._claim(place, subject, "11")
        made = self._backed_up(place)
        self._done("verify", made, f"/api/v1/backups/{made}/verify", {})
        path = f"/api/v1/namespaces/{place}?confirm={place}"
        gone = self.writer.tell("delete", "DELETE", path, was_done=lambda status: status == 404)
        if gone:
            self.writer.ended(gone)
        self._done("restore", made, "/api/v1/restores", {"backup_id": made})
        self.ledger.keep(Holds("restore", place, [fact.marker for fact in facts]), *facts)
        self.ledger.keep(Believed("restore", subject, "11", claim["id"]))

    def drilled(self) -> None:
        """A namespace that is backed up, and the test restore of the backup."""
        place = namespace()
        for _ in range(3):
            self._kept(place)
        made = self._backed_up(place)
        self._done("drill", made, f"/api/v1/backups/{made}/drill", {})

    def packed(self) -> None:
        """A namespace as one file."""
        place = namespace()
        number = len([self._kept(place) for _ in range(3)])
        made = self._done("pack", place, "/api/v1/packs", {"namespace": place})["report"]
        self.ledger.keep(Packed("pack", made["pack_id"], place, made["sha256"], number))

    def project_deleted(self) -> None:
        """A project of its own with a backup, and the end of it."""
        name, key = self._product.spare_project()
        place, marks = namespace(name), []
        with Caller(self._product.url, key, self.ledger, **self._how) as owner:
            for _ in range(3):
                marks.append(self.store(place, who=owner).marker)
            owner.ended(owner.tell("backup", "POST", "/api/v1/backups", {"namespaces": [place]}))
            path = f"/api/v1/projects/{name}?confirm={name}"
            owner.tell("delete project", "DELETE", path, was_done=lambda status: status in (401, 404))
            self.ledger.keep(Deleted("delete project", name, marks))
            owner.locked_out()

    def chatted(self) -> None:
        """What is said through the proxy; it is kept once its answer ended, unless that had waited in vain for it."""
        place, mark = namespace(), marker()
        self.writer.tell("namespace", "POST", "/api/v1/namespaces", {"name": place})
        answer = self.writer.chat(f"My {mark} stands in the harbour of Lisbon.", place)
        if answer is not None and answer.is_success and answer.elapsed.total_seconds() < WRITTEN:
            self.ledger.acknowledge("chat")
            self.ledger.keep(Holds("chat", place, [mark]))

    def _backed_up(self, place: str) -> str:
        """Return the id of a backup of a namespace."""
        made = self._done("backup", place, "/api/v1/backups", {"namespaces": [place]})["report"]
        self.ledger.keep(BackedUp("backup", made["backup_id"], made["records"]))
        return str(made["backup_id"])

    def _kept(self, place: str) -> str:
        fact = self.store(place)
        self.ledger.keep(fact)
        return fact.marker

    def _done(self, kind: str, place: str, path: str, body: Row) -> Row:
        started = self.reviewer.tell(kind, "POST", path, body)
        self.ledger.keep(Finished(kind, place, started["id"]))
        ended = self.reviewer.ended(started)
        if ended["state"] != "succeeded":
            raise Refused(f"{kind} {ended['state']}: {ended['error']}")
        return ended


# By how often: what is cheap is done more often, and what has none is told only when it is asked for.
STORIES: dict[str, tuple[int, Callable[[Client], None]]] = {
    "store": (8, Client.stored),
    "batch": (6, Client.batched),
    "patch": (6, Client.patched),
    "vote": (4, Client.voted),
    "forget": (5, Client.forgotten),
    "claim": (4, Client.claimed),
    "resolve": (4, Client.resolved),
    "branch": (2, Client.forked),
    "consolidate": (2, Client.consolidated),
    "restore": (2, Client.restored),
    "chat": (4, Client.chatted),
    "unmerge": (1, Client.unmerged),
    "unconsolidate": (1, Client.unconsolidated),
    "drill": (1, Client.drilled),
    "pack": (1, Client.packed),
    "project": (0, Client.project_deleted),
}


class Workload:
    """Clients that tell stories at once until they are told to stop; each ends the story that it has begun."""

    def __init__(
        self,
        product: Product,
        *,
        clients: int = 4,
        stories: Sequence[str] = (),
        patience: float = PATIENCE,
        doubt: float = DOUBT,
        ledger: Ledger | None = None,
    ) -> None:
        self.ledger = ledger or Ledger()
        self._product, self._how = product, {"patience": patience, "doubt": doubt}
        self._names = list(stories or (name for name, (often, _) in STORIES.items() if often))
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._tell, daemon=True) for _ in range(clients)]
        self.faults: list[str] = []

    def __enter__(self) -> "Workload":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def once(self) -> Ledger:
        """Tell each story once, one after the other."""
        with Client(self._product, self.ledger, **self._how) as client:
            for name in self._names:
                self._story(client, name)
        return self.ledger

    def _tell(self) -> None:
        weights = [STORIES[name][0] or 1 for name in self._names]
        with Client(self._product, self.ledger, **self._how) as client:
            while not self._over.is_set():
                self._story(client, random.choices(self._names, weights)[0])

    def _story(self, client: Client, name: str) -> None:
        try:
            STORIES[name][1](client)
        except (Refused, Unanswered) as error:
            self.faults.append(f"{name}: {type(error).__name__} {error}")

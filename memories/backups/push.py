"""Push: what a project remembers goes to another instance as a chain of increments ([1], local first).

What was pushed last is not noted here: the other instance is asked which files it has taken. So a push that was broken
off anywhere is gone on with by the next, and one that lost its files gets all of it anew.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
from django.db.models import QuerySet

from memories import access, audit
from memories.access import Principal
from memories.backups import storage
from memories.backups.bundle import chain_of, uncovered
from memories.backups.retention import backups
from memories.models import Backup, Namespace
from memories.models.enums import BackupOrigin, ExportPolicy, OperationState
from memories.providers.http import is_loopback

LONGEST_CHAIN = 30  # files; then a full one begins anew
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds
CONNECT, ANSWER = 5.0, 300.0
POLL, STILL = 0.5, 60.0  # seconds between looks, and without a sign of life
ENDED = {OperationState.SUCCEEDED, OperationState.FAILED, OperationState.CANCELLED}


class Unreachable(Exception):
    """The other instance does not answer, or says that it can't now."""


class PushRefused(Exception):
    """The other instance answered, and will not take it."""


@dataclass(slots=True)
class Remote:
    """The other instance, by its API: a key for all of the project with the verb `admin`.

    Waits for it as long as `patience` says, in seconds; without end when that is None. `notice` is told of every wait.
    """

    url: str
    key: str
    patience: float | None = None
    notice: Callable[[str], None] = lambda _: None
    pause: float = FIRST_PAUSE

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """Return an answer's JSON, asked for until there is one. Raise Unreachable, Refused."""
        began, pause = time.monotonic(), self.pause
        while True:
            try:
                return self._once(method, path, **more)
            except Unreachable as error:
                if self.patience is not None and time.monotonic() - began + pause > self.patience:
                    raise
                self.notice(f"{error}; trying again in {pause:.0f} s")
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _once(self, method: str, path: str, **more: Any) -> Any:
        if files := more.pop("send", None):
            more["files"] = {"upload": (files, storage.open_file(files), "application/gzip")}
        try:
            with httpx2.Client(
                trust_env=not is_loopback(self.url), timeout=httpx2.Timeout(ANSWER, connect=CONNECT)
            ) as c:
                url, headers = f"{self.url.rstrip('/')}/api/v1/{path}", {"Authorization": f"Bearer {self.key}"}
                answer = c.request(method, url, headers=headers, **more)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, ValueError) as error:
            raise PushRefused(f"{self.url} is no address") from error
        except httpx2.HTTPError as error:
            raise Unreachable(f"{self.url} does not answer ({type(error).__name__})") from error
        finally:
            for _, file, _ in more.get("files", {}).values():
                file.close()
        if answer.status_code in (429, 502, 503, 504):
            raise Unreachable(f"{self.url} can't now (HTTP {answer.status_code})")
        return self._parse_answer(answer)

    def _parse_answer(self, answer: httpx2.Response) -> Any:
        try:
            reply = answer.json()
        except ValueError as error:
            raise PushRefused(f"{self.url} is no NovaMem: HTTP {answer.status_code} without JSON") from error
        if answer.is_success:
            return reply
        reply = reply if isinstance(reply, dict) else {}
        why = reply.get("detail") or reply.get("title", "")
        raise PushRefused(f"HTTP {answer.status_code} {reply.get('code', '')}: {why}")

    def taken(self) -> set[str]:
        """Return the SHA-256 of every file that it has taken."""
        found, query = set[str](), {"limit": "200"}
        while True:
            page = self.ask("GET", "backups", params=query)
            found |= {row["sha256"] for row in page["results"]}
            if not page["next"]:
                return found
            query = dict(httpx2.URL(page["next"]).params)

    def restore(self, row: Backup) -> dict[str, Any]:
        """Send a file and wait until it is restored there; the report. Raise Unreachable, Refused."""
        operation = self.ask("POST", "restores", data={"trust_signer": audit.fingerprint()}, send=row.file)
        seen, since = operation, time.monotonic()
        while operation["state"] not in ENDED:
            time.sleep(POLL)
            if operation != seen:
                seen, since = operation, time.monotonic()
            if self.patience is not None and time.monotonic() - since > max(self.patience, STILL):
                raise Unreachable(f"{self.url} took the file, but nobody works on it there")
            operation = self.ask("GET", f"operations/{operation['id']}")
        if operation["state"] != OperationState.SUCCEEDED:
            error = operation.get("error") or {}
            raise PushRefused(
                f"its restore {operation['state']}: {error.get('code', '')} {error.get('detail', '')}".strip()
            )
        report: dict[str, Any] = operation["report"]
        return report


def push_options(principal: Principal, remote: Remote, *, embeddings: bool = False) -> dict[str, Any]:
    """The backup that is to be made: what changed since the last one that the other instance has taken, or all."""
    taken = remote.taken()
    with access.enter(principal, why="sync"):
        rows = _candidates(principal).filter(include_embeddings=embeddings)
        base = next((row for row in rows if _is_known(row, taken)), None)
    options: dict[str, Any] = {"origin": BackupOrigin.SYNC, "include_embeddings": embeddings}
    return {**options, "base": str(base.id)} if base else options


def _candidates(principal: Principal) -> QuerySet[Backup]:
    rows = backups(principal).filter(origin=BackupOrigin.SYNC, policy=ExportPolicy.FULL, signer=audit.fingerprint())
    return rows.order_by("-created_at", "-id")


def _is_known(row: Backup, taken: set[str]) -> bool:
    chain = chain_of(row)
    if len(chain) >= LONGEST_CHAIN or any(each.sha256 not in taken for each in chain):
        return False
    return not uncovered(row, Namespace.objects.within(row.project_id))

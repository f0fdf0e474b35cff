"""Stages: where attacks are played. Projects with keys for the whole cast, and in them a namespace for each attack."""

import itertools
import threading
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx2
from django.db import connections
from django.utils import timezone

from memories import access, jobs
from memories.access import keys
from memories.models import Namespace, Operation, Project
from memories.namespaces.forks import copy_namespace
from script.benches._arenas import issue_cast, populate
from script.benches._crossings import JUDGE, KEYS, Crossing
from script.benches._worlds import Send, Served

TEMPLATE = "template"


def work(project: Project) -> None:
    """Do what a worker does with the operations that wait."""
    principal = access.system_principal(project)
    with access.enter(principal, why="bench"):
        ids = list(Operation.objects.filter(state="queued").values_list("id", flat=True))
    for operation in ids:
        jobs.run(principal, operation)
    connections.close_all()


def back_up(project: Project) -> str:
    """Make a backup of the project; its id."""
    principal = access.system_principal(project)
    options: dict[str, Any] = {"kind": "backup", "namespace": None, "options": {}, "dry_run": False}
    ended = jobs.run(principal, jobs.start(principal, **options, now=timezone.now(), wake_up=False).id)
    connections.close_all()
    if ended is None or not ended.report:
        raise RuntimeError(f"no backup was made: {ended and ended.error}")
    return str(ended.report["backup_id"])


@dataclass
class Ground:
    """A project with a cast. Its populated namespaces are forks of one, which takes a tenth of the time."""

    project: Project
    send: Send
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    has_template: bool = False

    def namespace(self, *, populated: bool) -> str:
        """Return the name of a namespace in which nobody played yet."""
        name = f"{self.project.name}:n{next(self.numbers)}"
        if populated:
            template = f"{self.project.name}:{TEMPLATE}"
            if not self.has_template:
                populate(self.send, template)
                self.has_template = True
            with access.enter(access.system_principal(self.project), why="bench"):
                copy_namespace(Namespace.objects.get(name=template), name)
            connections.close_all()
        return name


@dataclass
class Stage:
    """The server's client, the run's name, a foreign project, whether populated namespaces are played on; the cast's
    keys of each thread stay the same."""

    client: httpx2.Client
    name: str
    foreign: Project
    played: tuple[bool, ...] = (False, True)
    _own: threading.local = field(default_factory=threading.local)

    def arena(self, *, populated: bool, kind: type[Served], topic: Any, alone: bool = False) -> Served:
        """Return a world in a namespace, or `alone` in a project, in which nobody played yet."""
        if alone:
            ground = self._ground()
            namespace = f"{ground.project.name}:main"
            if populated:
                populate(ground.send, namespace)
            return kind(ground.send, namespace, topic)
        if not hasattr(self._own, "ground"):
            self._own.ground = self._ground()
        return kind(self._own.ground.send, self._own.ground.namespace(populated=populated), topic)

    def crossing(self) -> Crossing:
        """Return a project with a key for each caller of `_crossings`, and ann's memories in it."""
        project = self._project()
        namespaces = [f"{project.name}:*"]
        texts = {
            who: keys.issue(project, keys.KeyRequest(namespaces, requests_per_minute=0, **options), owner=who).text
            for who, options in {**KEYS, "judge": JUDGE}.items()
        }
        connections.close_all()

        def send(
            who: str, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
        ) -> tuple[int, str]:
            request_headers = {"Authorization": f"Bearer {texts[who]}", **(headers or {})}
            answer = self.client.request(method, path, json=body, headers=request_headers)
            return answer.status_code, answer.text

        made = Crossing(send, f"{project.name}:main", partial(work, project), partial(back_up, project))
        made.prepare()
        return made

    def _project(self) -> Project:
        return keys.ensure_project(f"{self.name}-{uuid.uuid4().hex[:8]}")

    def _ground(self) -> Ground:
        project = self._project()
        texts = issue_cast(project, self.foreign)
        connections.close_all()

        def send(who: str, method: str, path: str, body: Any) -> tuple[int, Any]:
            answer = self.client.request(method, path, json=body, headers={"Authorization": f"Bearer {texts[who]}"})
            return answer.status_code, answer.json() if answer.content else None

        return Ground(project, send)

"""Our store in the place of LangGraph's own, and which of its tests are taken. LangGraph's sources lie on the path."""

import os
import uuid
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from novamem_client.langgraph import NovaMemStore

URL, KEY, PROJECT = (os.environ[f"NOVAMEM_{name}"] for name in ("URL", "KEY", "PROJECT"))


class Fresh(NovaMemStore):
    """A store in a namespace of its own; the server embeds, so of an index only the fields count."""

    def __init__(self, *, index: Mapping[str, Any] | None = None) -> None:
        namespace = f"{PROJECT}:{uuid.uuid4().hex}"
        super().__init__(URL, KEY, namespace=namespace, fields=(index or {}).get("fields"))


def taken(theirs: ModuleType, left_out: Mapping[str, str]) -> dict[str, Any]:
    """A module's tests without those left out, by name. Raise LookupError for one left out that it does not have."""
    tests = {name: found for name, found in vars(theirs).items() if name.startswith("test_")}
    if unknown := left_out.keys() - tests.keys():
        raise LookupError(f"{theirs.__name__} has no {', '.join(sorted(unknown))}")
    return {name: test for name, test in tests.items() if name not in left_out}

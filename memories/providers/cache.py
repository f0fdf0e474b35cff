"""A small memory of what was worked out before, for this process."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values asked for last, `size` at most. Threads may share it."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value, now the most recent; None when it is not there."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Hashable, value: Value, *, size: int) -> None:
        """Keeps a value and lets go of those unasked for longest."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > size:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)

"""Celery's scheduler, which ends between two rounds: its own handler of signals asks the database in the middle of one.

What it asked then failed, was caught as any trouble with a schedule, and the signal was gone.
"""

from types import FrameType
from typing import Any

from celery import platforms
from celery.apps.beat import Beat
from celery.beat import Service


class PromptBeat(Beat):  # type: ignore[misc]  # the library has no types
    """Ends at once while it sleeps, else after the round that it is in; the schedule is written then."""

    def install_sync_handler(self, service: Any) -> None:
        """Let SIGTERM and SIGINT end the loop."""

        def end(_: int, frame: FrameType | None) -> None:
            service._is_shutdown.set()
            if frame is not None and frame.f_code is Service.start.__code__:  # it sleeps, or is about to
                raise SystemExit

        platforms.signals.update(SIGTERM=end, SIGINT=end)

"""A scheduler that is asked to end does, wherever it is."""

import os
import signal
import threading
from contextlib import contextmanager

import pytest
from celery.beat import Service

from novamem.beat import PromptBeat
from novamem.celery import app


class Rounds:
    """A schedule whose rounds a test interrupts; `saved` tells that it was written at the end."""

    max_interval, should_sync = 5, staticmethod(lambda: False)

    def __init__(self, meanwhile):
        self.meanwhile, self.rounds, self.saved = meanwhile, 0, False

    def tick(self):
        self.rounds += 1
        return self.meanwhile()

    def close(self):
        self.saved = True


@contextmanager
def own_handlers():
    """Gives the signals back to whoever had them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def busy():
    """A round in whose middle the signal comes: what it does is not broken off."""
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except SystemExit:
        pytest.fail("the round was broken off")
    return 0


def asleep():
    """A round after which it sleeps, until the signal comes."""
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGTERM]).start()
    return 60


@pytest.mark.parametrize("meanwhile", [busy, asleep])
def test_it_ends_after_its_round_and_writes_the_schedule(meanwhile):
    rounds, service = Rounds(meanwhile), Service(app)
    service.__dict__["scheduler"] = rounds
    with own_handlers():
        PromptBeat.install_sync_handler(None, service)
        service.start()
    assert (rounds.rounds, rounds.saved) == (1, True)

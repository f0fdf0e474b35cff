"""The logs of the server's programs, which stay small while these run."""

import errno
import os
import time

import pytest

from novamem import processes
from novamem.processes import GRACE, Child, stop

MOST = 2_000
TALK = """
import os, time

def main(words):
    while True:
        os.write(1, words[0].encode() * 99)  # what tests call stdout is another file
        time.sleep(0.002)
"""


@pytest.fixture
def talker(tmp_path, monkeypatch):
    """A program that writes without end."""
    (tmp_path / "talking.py").write_text(TALK)
    monkeypatch.syspath_prepend(tmp_path)
    child = Child("talker", "talking", ["x"], logs=tmp_path, most=MOST)
    child.start()
    yield child
    stop([child], hurried=lambda: False)


def test_a_full_log_is_put_aside_while_the_program_runs(talker, tmp_path):
    former, end = tmp_path / "talker.log.1", time.monotonic() + 30
    while not former.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
        talker.tend()
    assert former.stat().st_size > MOST
    assert former.stat().st_mode & 0o077 == 0
    time.sleep(0.05)
    words = talker.log.read_text()
    assert words.replace("x", "").strip() == ""  # it goes on at the beginning: no hole before it
    assert talker.exit_code is None


def test_what_never_started_is_not_waited_for(tmp_path):
    begun = time.monotonic()
    stop([Child("idle", "talking", [], logs=tmp_path)], hurried=lambda: False)
    assert time.monotonic() - begun < GRACE


def test_what_could_not_be_forked_is_tried_again(talker, tmp_path, monkeypatch, capsys):
    def none_left():
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    child = Child("late", "talking", ["y"], logs=tmp_path)
    monkeypatch.setattr(processes, "BACKOFF", (0,))
    with monkeypatch.context() as full:
        full.setattr(os, "fork", none_left)
        child.start()
        assert not child.is_running
        child.tend()
        child.tend()
        assert not child.is_running
    assert "late ended (there is no room for another process) and starts again in 0 s" in capsys.readouterr().err
    child.tend()
    child.tend()
    assert child.is_running
    stop([child], hurried=lambda: False)
    assert not child.is_running

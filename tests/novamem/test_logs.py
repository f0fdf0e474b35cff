"""What logs may not hold."""

import logging
import sys

import pytest

from novamem.logs import logging_config


@pytest.mark.parametrize("style", ["console", "json"])
def test_a_traceback_shows_no_variables(style):
    line = logging_config(level="INFO", style=style)["formatters"]["line"]
    formatter = line.pop("()")(**line)

    def fail():
        key = "nova_" + "secret"
        raise ValueError(len(key))

    try:
        fail()
    except ValueError:
        record = logging.LogRecord("novamem", logging.ERROR, __file__, 1, "It failed", None, sys.exc_info())
    told = formatter.format(record)
    assert "It failed" in told
    assert "nova_secret" not in told

"""What libraries report to their makers: nothing."""

import os
import subprocess
import sys

import pytest

from novamem import env

READS_TEXTS = """
import django
django.setup()
from memories.providers import graphs, sentences
"""


@pytest.mark.long
def test_the_library_that_computes_vectors_reports_nothing(tmp_path):
    """Where it reports it keeps an identifier of the machine and what it has not sent yet in the home directory."""
    given = {name: os.environ[name] for name in ("PATH", "DATABASE_URL", "NOVAMEM_DATA_DIR") if name in os.environ}
    given |= {"HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "novamem.settings", "PYTHONPATH": str(env.ROOT)}
    subprocess.run([sys.executable, "-c", READS_TEXTS], env=given, check=True, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []

"""The installation that the bench of chaos copies."""

import shutil
from pathlib import Path

from novamem.cluster import cluster_of
from script.benches._chaos.arena import empty


def test_a_template_is_made_beside_what_an_earlier_checkout_left(tmp_path: Path):
    kept = tmp_path / "chaos"
    kept.mkdir()
    cluster_of(kept).data.mkdir()
    shutil.rmtree(kept)
    empty(kept)
    assert not cluster_of(kept).data.exists()

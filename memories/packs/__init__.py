"""Packs: a namespace as one SQLite file, searched offline and imported back."""

from memories.packs.offline_search import PackHit, search
from memories.packs.reader import BadPack, bundle_of, import_pack, project_of
from memories.packs.writer import check, name_of, stored, write

__all__ = [
    "BadPack",
    "PackHit",
    "bundle_of",
    "check",
    "name_of",
    "project_of",
    "search",
    "stored",
    "import_pack",
    "write",
]

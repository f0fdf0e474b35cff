"""Packs: a namespace as one SQLite file, searched offline and imported back."""

from memories.packs.reading import BadPack, bundle_of, project_of, taken_in
from memories.packs.searching import Found, search
from memories.packs.writing import check, name_of, stored, write

__all__ = ["BadPack", "Found", "bundle_of", "check", "name_of", "project_of", "search", "stored", "taken_in", "write"]

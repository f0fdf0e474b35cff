"""Doors for the systems around agents: their events become fragments, their questions find them."""

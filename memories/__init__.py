"""Memories: what agents store, how it is found again, kept small and kept safe."""

"""The HTTP API under /api/v1: each view makes one call into one room and answers."""

"""Door for agents that speak the Model Context Protocol: over HTTP at /mcp, and over standard input and output."""

from memories.mcp.http import PATHS, Door
from memories.mcp.stdio import serve

__all__ = ["PATHS", "Door", "serve"]

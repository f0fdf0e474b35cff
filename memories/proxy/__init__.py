"""The door for chats: an OpenAI-compatible proxy that recalls before the upstream answers and captures afterwards."""

from memories.proxy.relay import finish_all
from memories.proxy.upstream import close_connections


async def stop() -> None:
    """End open answers, wait for what was said to be written down, and closes connections. For this event loop."""
    await finish_all()
    await close_connections()

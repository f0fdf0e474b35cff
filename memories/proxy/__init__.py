"""The door for chats: an OpenAI-compatible proxy that recalls before the upstream answers and captures afterwards."""

from memories.proxy.relay import settle
from memories.proxy.upstream import hang_up


async def stop() -> None:
    """Ends open answers, waits for what was said to be written down, and closes connections. For this event loop."""
    await settle()
    await hang_up()

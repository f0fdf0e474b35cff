"""What `/metrics` says of the proxy. Captured and skipped turns are counted where memories are made of them."""

from prometheus_client import Counter

PROXIED = Counter("nova_proxy_proxied", "Requests that went to the upstream.", ["endpoint"])
INJECTED = Counter("nova_proxy_injected", "Chats that memories were put into.")
UNRECALLED = Counter("nova_proxy_unrecalled", "Chats without memory, since looking it up failed.", ["error"])
UNCAPTURED = Counter("nova_proxy_uncaptured", "Answers of which nothing was captured.", ["reason"])

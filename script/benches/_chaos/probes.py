"""What is answered while the database hangs, and how soon."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx2

from .arena import Arena
from .caller import Caller
from .faults import hung_database
from .ledger import Ledger
from .product import Product
from .workload import namespace

WRITERS = 30  # requests that wait for the database meanwhile: more than there are threads for them


@dataclass(frozen=True, slots=True)
class Probed:
    """The worst seconds of each, with how it was answered."""

    healthz: float
    readyz: float
    readyz_status: int
    chat: float
    chat_status: int
    chat_memory: str


def probed(where: Arena, *, times: int = 3) -> Probed:
    """Stop every process of Postgres, have many wait for it, and ask meanwhile."""
    product = where.product
    writer = product.keys["writer"]
    place = namespace()
    with Caller(product.url, writer, Ledger(), doubt=0.0) as caller:
        return _probed(where, caller, place, times)


def _probed(where: Arena, caller: Caller, place: str, times: int) -> Probed:
    product = where.product
    caller.tell("namespace", "POST", "/api/v1/namespaces", {"name": place})
    with ThreadPoolExecutor(WRITERS) as chatting:  # at once and over new connections: each process sees the key
        assert all(chatting.map(lambda _: _greeted(product, place), range(2 * WRITERS)))
    body = {"namespace": place, "content": "The heron waits."}
    head = {"Authorization": f"Bearer {product.keys['writer']}"}
    with httpx2.Client(timeout=60, trust_env=False) as client, ThreadPoolExecutor(WRITERS) as waiting:
        with hung_database(where):
            writes = [
                waiting.submit(client.post, f"{product.url}/api/v1/fragments", json=body, headers=head)
                for _ in range(WRITERS)
            ]
            time.sleep(1)
            health = [_timed(f"{product.url}/healthz") for _ in range(times)]
            ready = [_timed(f"{product.url}/readyz") for _ in range(times)]
            chats = [_chatted(caller, place) for _ in range(times)]
            health += [_timed(f"{product.url}/healthz") for _ in range(times)]
        for write in writes:
            write.exception()
    _, status = max(ready)
    seconds, answer = max(chats, key=lambda chat: chat[0])
    return Probed(
        max(seconds for seconds, _ in health),
        max(seconds for seconds, _ in ready),
        status,
        seconds,
        answer.status_code if answer is not None else 0,
        answer.headers.get("X-NovaMem-Memory", "") if answer is not None else "",
    )


def _greeted(product: Product, place: str) -> bool:
    with Caller(product.url, product.keys["writer"], Ledger(), doubt=0.0) as caller:
        answer = caller.chat("Where does the heron nest?", place)
    return answer is not None and answer.is_success


def _timed(url: str) -> tuple[float, int]:
    begun = time.monotonic()
    try:
        status = httpx2.get(url, timeout=20, trust_env=False).status_code
    except httpx2.TransportError:
        status = 0
    return time.monotonic() - begun, status


def _chatted(caller: Caller, place: str) -> tuple[float, httpx2.Response | None]:
    begun = time.monotonic()
    answer = caller.chat("Where does the heron nest?", place)
    return time.monotonic() - begun, answer

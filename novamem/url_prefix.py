"""URL_PREFIX: the path of another site below which everything is served (docs/decisions/0135)."""

from memories.rest.problem_details import MEDIA_TYPE, problem
from novamem.lifespan import Application, Event, Receive, Send

PROBES = ("/healthz", "/readyz")  # come straight, past the proxy


def below(prefix: str, application: Application) -> Application:
    """Return the application for what begins with the prefix, which it finds in `root_path` and not in `path`.

    Beside the prefix there are probes and nothing else.
    """
    body = problem(404, "not_found", detail=f"Everything here begins with {prefix}/.").content
    known = {b"content-type": MEDIA_TYPE.encode(), b"content-length": b"%d" % len(body), b"connection": b"close"}
    missing: Event = {"type": "http.response.start", "status": 404, "headers": list(known.items())}

    async def answer(scope: Event, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path not in PROBES:
            if path != prefix and not path.startswith(f"{prefix}/"):
                await send(missing)
                await send({"type": "http.response.body", "body": body})
                return
            path = path.removeprefix(prefix)
        headers = [(name, _reversed(value) if name == b"cookie" else value) for name, value in scope["headers"]]
        await application({**scope, "path": path, "root_path": prefix, "headers": headers}, receive, send)

    return answer


def _reversed(cookies: bytes) -> bytes:
    """Browsers send those of longer paths first, and of one name Django takes the last: another application's."""
    return b"; ".join(part.strip() for part in reversed(cookies.split(b";")))

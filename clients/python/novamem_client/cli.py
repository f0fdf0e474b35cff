"""`novamem`: a memory server from the command line, over HTTP."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from novamem_client import NovaMem, NovaMemError

EPILOG = "NOVAMEM_URL, NOVAMEM_KEY, NOVAMEM_NAMESPACE and NOVAMEM_USER stand for the options of these names."


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0, 1 for what the server refused or could not be asked, 2 for a wrong call."""
    asked = _parser().parse_args(arguments)
    if not asked.key:
        print("novamem: give a key by --key or NOVAMEM_KEY", file=sys.stderr)
        return 2
    try:
        with NovaMem(asked.url, asked.key, user=asked.user or None) as memory:
            answer = asked.run(memory, asked)
    except NovaMemError as error:
        print(f"novamem: {error}", file=sys.stderr)
        return 1
    except _WrongCall as error:
        print(f"novamem: {error}", file=sys.stderr)
        return 2
    if answer is not None:
        print(json.dumps(answer, ensure_ascii=False, indent=2) if asked.json else asked.words(answer))
    return 0


class _WrongCall(Exception):
    """The command can't be understood."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="novamem", description="A memory server, over HTTP.", epilog=EPILOG)
    setting = os.environ.get
    parser.add_argument("--url", default=setting("NOVAMEM_URL", "http://127.0.0.1:8000"), help="the server's address")
    parser.add_argument("--key", default=setting("NOVAMEM_KEY", ""), help="the API key; better by environment")
    parser.add_argument("--namespace", default=setting("NOVAMEM_NAMESPACE", ""), help="project:agent")
    parser.add_argument("--user", default=setting("NOVAMEM_USER", ""), help="the person whose memories are meant")
    parser.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, run: Callable[..., Any], words: Callable[[Any], str], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(run=run, words=words)
        return made

    remember = command("remember", _remember, _stored, "Remember a text.")
    remember.add_argument("text", help="the text, or - for standard input")
    remember.add_argument("--claim", nargs=3, metavar=("SUBJECT", "PREDICATE", "VALUE"), help="the fact that it states")
    remember.add_argument("--tag", action="append", default=[], help="a word to filter by; several times")
    search = command("search", _search, _hits, "Find memories that answer a question.")
    search.add_argument("query")
    search.add_argument("-k", "--top-k", type=int, default=10, help="at most so many")
    context = command("context", _context, str, "Print a block of memories for a prompt.")
    context.add_argument("query")
    context.add_argument("--max-tokens", type=int, help="never longer than this")
    listed = command("list", _list, _rows, "List memories, newest first.")
    listed.add_argument("--limit", type=int, default=20, help="at most so many")
    show = command("show", lambda memory, asked: memory.fragments.read(asked.id), _whole, "Show a memory.")
    show.add_argument("id")
    forget = command("forget", _forget, str, "Forget a memory for good.")
    forget.add_argument("id")
    call = command("call", _call, _whole, "Call any operation, as fragments.list limit=5.")
    call.add_argument("operation", help="as a method of the client: search, fragments.read, …")
    call.add_argument("values", nargs="*", help="its places in order, then NAME=VALUE; a value may be JSON")
    call.add_argument("--all", action="store_true", help="all pages of a list")
    return parser


def _place(asked: argparse.Namespace) -> str:
    if not asked.namespace:
        raise _WrongCall("name a namespace by --namespace or NOVAMEM_NAMESPACE")
    return str(asked.namespace)


def _remember(memory: NovaMem, asked: argparse.Namespace) -> Any:
    content = sys.stdin.read() if asked.text == "-" else asked.text
    body: dict[str, Any] = {"namespace": _place(asked), "content": content}
    body |= {"claim": dict(zip(("subject", "predicate", "value"), asked.claim, strict=True))} if asked.claim else {}
    body |= {"tags": asked.tag} if asked.tag else {}
    return memory.fragments.store(**body)


def _stored(answer: Any) -> str:
    waits = answer.get("pending_conflicts")
    return f"{answer['id']} {answer['status']}" + (f", contradicts what stands: {len(waits)} waiting" if waits else "")


def _search(memory: NovaMem, asked: argparse.Namespace) -> Any:
    return memory.search(namespace=_place(asked), query=asked.query, top_k=asked.top_k)


def _hits(answer: Any) -> str:
    return "\n".join(f"{hit['score']:.3f} {hit['id']} {hit['content']}" for hit in answer["results"]) or "nothing"


def _context(memory: NovaMem, asked: argparse.Namespace) -> Any:
    more = {"max_tokens": asked.max_tokens} if asked.max_tokens is not None else {}
    answer: Any = memory.context(namespace=_place(asked), query=asked.query, **more)
    return answer if asked.json else answer["prompt_prefix"]


def _list(memory: NovaMem, asked: argparse.Namespace) -> Any:
    rows = memory.fragments.all(namespace=_place(asked), limit=max(1, min(asked.limit, 200)))
    return list(islice(rows, asked.limit))


def _rows(answer: Any) -> str:
    return "\n".join(f"{row['created_at'][:16]} {row['id']} {row['content']}" for row in answer) or "nothing"


def _forget(memory: NovaMem, asked: argparse.Namespace) -> Any:
    memory.fragments.forget(asked.id)
    return f"{asked.id} forgotten"


def _whole(answer: Any) -> str:
    return answer.hex() if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False, indent=2)


def _call(memory: NovaMem, asked: argparse.Namespace) -> Any:
    """Call a method by its name, with its places and values as they are written."""
    method: Any = memory
    for name in asked.operation.split("."):
        method = None if name.startswith("_") or method is None else getattr(method, name, None)
    if not callable(method) or asked.operation in ("close",):
        raise _WrongCall(f"there is no operation {asked.operation}")
    if asked.all:
        group, _, name = asked.operation.rpartition(".")
        method = getattr(getattr(memory, group, memory), "all" if name == "list" else f"{name}_all", None)
        if method is None:
            raise _WrongCall(f"{asked.operation} is no list")
    places = [value for value in asked.values if "=" not in value]
    named = dict(value.split("=", 1) for value in asked.values if "=" in value)
    try:
        answer = method(*places, **{name: _json(value) for name, value in named.items()})
        return list(answer) if asked.all else answer
    except TypeError as error:
        raise _WrongCall(str(error)) from error


def _json(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


if __name__ == "__main__":
    sys.exit(main())

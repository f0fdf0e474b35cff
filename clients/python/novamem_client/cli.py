"""`novamem`: a memory server from the command line, over HTTP."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from novamem_client import NovaMem, NovaMemError

EPILOG = "NOVAMEM_URL, NOVAMEM_KEY, NOVAMEM_NAMESPACE and NOVAMEM_USER stand for the options of these names."
MOST_OF_A_PAGE = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0, 1 for what the server refused or could not be asked, 2 for a wrong call."""
    asked = _parser().parse_intermixed_args(arguments)
    try:
        _require_text(vars(asked).values())
        if not asked.key:
            raise _WrongCall("give a key by --key or NOVAMEM_KEY")
        with NovaMem(asked.url, asked.key, user=asked.user or None) as memory:
            answer = COMMANDS[asked.command](memory, asked, asked.values)
        _show(answer, as_json=asked.json)
    except _WrongCall as error:
        return _fail(error, 2)
    except NovaMemError as error:
        return _fail(error, 1)
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class _WrongCall(Exception):
    """The command can't be understood."""


class _Words(str):
    """An answer in words, and the whole of it as JSON."""

    whole: Any


def _fail(error: Exception, code: int) -> int:
    print(f"novamem: {printable(str(error))}", file=sys.stderr)
    return code


def _show(answer: Any, *, as_json: bool) -> None:
    if isinstance(answer, bytes):
        sys.stdout.buffer.write(answer)
    elif isinstance(answer, _Words) and not as_json:
        _print(answer)
    elif answer is not None:
        _print(json.dumps(answer.whole if isinstance(answer, _Words) else answer, ensure_ascii=False, indent=2))
    sys.stdout.flush()


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def _worded(text: str, whole: Any) -> _Words:
    words = _Words(text)
    words.whole = whole
    return words


def printable(text: str) -> str:
    """Return a text for a line of a terminal: what others wrote moves no cursor and begins no line."""
    return "".join(one if one.isprintable() else " " if one.isspace() else "\N{REPLACEMENT CHARACTER}" for one in text)


def _require_text(values: Any) -> None:
    for value in values:
        try:
            str(value).encode()
        except UnicodeEncodeError as error:
            raise _WrongCall("an argument is not UTF-8 text") from error


def _parser() -> argparse.ArgumentParser:
    setting = os.environ.get
    parser = argparse.ArgumentParser(
        prog="novamem",
        description="A memory server, over HTTP.",
        epilog=EPILOG,
        usage="novamem [options] remember TEXT | search|context QUERY | list | show|forget ID | call OPERATION …",
    )
    parser.add_argument("command", choices=COMMANDS, help="what to do")
    parser.add_argument("values", nargs="*", help="a text (- for standard input), a question, an id, or an operation's")
    parser.add_argument("--url", default=setting("NOVAMEM_URL", "http://127.0.0.1:8000"), help="the server's address")
    parser.add_argument("--key", default=setting("NOVAMEM_KEY", ""), help="the API key; better by environment")
    parser.add_argument("--namespace", default=setting("NOVAMEM_NAMESPACE", ""), help="project:agent")
    parser.add_argument("--user", default=setting("NOVAMEM_USER", ""), help="the person whose memories are meant")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--claim", nargs=3, metavar=("SUBJECT", "PREDICATE", "VALUE"), help="remember: what it states")
    parser.add_argument("--tag", action="append", default=[], help="remember: a word to filter by; several times")
    parser.add_argument("-n", "--limit", type=_number, default=10, help="search, list: at most so many")
    parser.add_argument("--max-tokens", type=_number, help="context: never longer than this")
    parser.add_argument("--all", action="store_true", help="call: all pages of a list")
    return parser


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("give a whole number from 1 on")
    return int(text)


def _place(asked: argparse.Namespace) -> str:
    if not asked.namespace:
        raise _WrongCall("name a namespace by --namespace or NOVAMEM_NAMESPACE")
    return str(asked.namespace)


def _only(values: list[str], what: str) -> str:
    if len(values) != 1:
        raise _WrongCall(f"give {what}, and nothing beside it" if values else f"give {what}")
    return values[0]


def _remember(memory: NovaMem, asked: argparse.Namespace, values: list[str]) -> Any:
    text = _only(values, "a text, or - for standard input")
    content = sys.stdin.read() if text == "-" else text
    _require_text([content])
    body: dict[str, Any] = {"namespace": _place(asked), "content": content}
    body |= {"claim": dict(zip(("subject", "predicate", "value"), asked.claim, strict=True))} if asked.claim else {}
    body |= {"tags": asked.tag} if asked.tag else {}
    answer: Any = memory.fragments.store(**body)
    waits = answer.get("pending_conflicts")
    told = f"{answer['id']} {answer['status']}"
    return _worded(told + (f", contradicts what stands: {len(waits)} waiting" if waits else ""), answer)


def _search(memory: NovaMem, asked: argparse.Namespace, values: list[str]) -> Any:
    query = _only(values, "a question")
    answer = memory.search(namespace=_place(asked), query=query, top_k=min(asked.limit, MOST_OF_A_PAGE))
    lines = [f"{hit['score']:.3f} {hit['id']} {printable(hit['content'])}" for hit in answer["results"]]
    return _worded("\n".join(lines) or "nothing", answer)


def _context(memory: NovaMem, asked: argparse.Namespace, values: list[str]) -> Any:
    body: dict[str, Any] = {"namespace": _place(asked), "query": _only(values, "what the prompt is about")}
    body |= {"max_tokens": asked.max_tokens} if asked.max_tokens else {}
    answer = memory.context(**body)
    block = answer["prompt_prefix"]
    lines = [printable(line) for line in block.split("\n")] if sys.stdout.isatty() else [block]
    return _worded("\n".join(lines), answer)


def _list(memory: NovaMem, asked: argparse.Namespace, values: list[str]) -> Any:
    if values:
        raise _WrongCall("list takes no words")
    found = memory.fragments.all(namespace=_place(asked), limit=min(asked.limit, MOST_OF_A_PAGE))
    rows = list(islice(found, asked.limit))
    lines = [f"{row['created_at'][:16]} {row['id']} {printable(row['content'])}" for row in rows]
    return _worded("\n".join(lines) or "nothing", rows)


def _read(memory: NovaMem, asked: argparse.Namespace, values: list[str]) -> Any:
    return memory.fragments.read(_only(values, "an id"))


def _forget(memory: NovaMem, asked: argparse.Namespace, values: list[str]) -> Any:
    memory_id = _only(values, "an id")
    memory.fragments.forget(memory_id)
    return _worded(f"{memory_id} forgotten", {"forgotten": memory_id})


def _call(memory: NovaMem, asked: argparse.Namespace, values: list[str]) -> Any:
    """Call a method by its name: its places in order, then NAME=TEXT and NAME:=JSON."""
    if not values:
        raise _WrongCall("give an operation, such as fragments.list")
    operation, *rest = values
    group, _, name = operation.rpartition(".")
    home = getattr(memory, group, None) if group else memory
    if asked.all:
        name = "all" if name == "list" else f"{name}_all"
    method = (
        None if name.startswith("_") or group.startswith("_") or operation == "close" else getattr(home, name, None)
    )
    if not callable(method):
        raise _WrongCall(f"there is no {'list' if asked.all else 'operation'} {operation}")
    places = method.__code__.co_posonlyargcount - 1 if method.__code__.co_posonlyargcount else 0
    if len(rest) < places:
        raise _WrongCall(f"{operation} needs {places} places first")
    named = dict(map(_named, rest[places:]))
    try:
        answer = method(*rest[:places], **named)
        return list(answer) if isinstance(answer, Iterator) else answer
    except TypeError as error:
        raise _WrongCall(str(error)) from error


def _named(value: str) -> tuple[str, Any]:
    name, equals, text = value.partition("=")
    if not equals:
        raise _WrongCall(f"{value} is neither NAME=TEXT nor NAME:=JSON")
    if not name.endswith(":"):
        return name, text
    try:
        return name[:-1], json.loads(text)
    except ValueError as error:
        raise _WrongCall(f"{name[:-1]} is no JSON: {error}") from error


COMMANDS: dict[str, Callable[[NovaMem, argparse.Namespace, list[str]], Any]] = {
    "remember": _remember,
    "search": _search,
    "context": _context,
    "list": _list,
    "show": _read,
    "forget": _forget,
    "call": _call,
}

if __name__ == "__main__":
    sys.exit(main())

"""`docs/api.md`: `docs/api.in.md`, which people write, with tables of the OpenAPI document and the errors."""

import functools
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from memories.api.reference import ReferenceEndpoint, SchemaReader
from memories.errors import NovaError
from memories.rest.authentication import HasVerb
from memories.rest.problem_details import CODES, KNOWN

SOURCE, PAGE = (Path(settings.ROOT, "docs", name) for name in ("api.in.md", "api.md"))
OURS = "/api/v1/"
PROBLEM = re.compile(r"^\| `(\w+)` \| (?=\D)", re.MULTILINE)
HEAD = "<!-- Made by `script/manage apidocs` of api.in.md, the OpenAPI document and the errors. Not to be edited. -->\n"


def page() -> str:
    """Return the page as it ought to be."""
    written, heading, problems = SOURCE.read_text().partition("## Problems\n")
    answer = PROBLEM.sub(lambda row: f"| `{row[1]}` | {statuses()[row[1]]} | ", problems)
    return HEAD + written.replace("<!-- endpoints -->\n", "".join(_endpoints())) + heading + answer


@functools.cache
def statuses() -> dict[str, int]:
    """Return the status of each code that a client may meet."""
    import_module(settings.ROOT_URLCONF)  # an error is known once its module is: with every view every one of them
    answer = {code: status for status, code in CODES.items()} | {"validation": 400, "internal": 500}
    answer |= {known.code: known.status for known in KNOWN.values()}
    return answer | {error.code: error.status for error in _errors(NovaError) if error.code}


def _errors(kind: type[NovaError]) -> Iterator[type[NovaError]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith(("memories.", "conflicts.")):
            yield each
        yield from _errors(each)


def _endpoints() -> Iterator[str]:
    yield "| path | method | verb | takes | does |\n|---|---|---|---|---|\n"
    generator = SchemaGenerator()
    reader = SchemaReader(generator.get_schema(request=None, public=True))
    for path, _, method, view in generator._get_paths_and_endpoints():
        operation = reader.document["paths"].get(path, {}).get(method.lower())
        if path.startswith(OURS):
            hidden = ("nobody", "", "403: the operator's")
            answer = _row(reader.endpoint(path, method, operation), view) if operation else hidden
            yield f"| {' | '.join((f'`{path}`', method, *answer))} |\n"


def _row(endpoint: ReferenceEndpoint, view: Any) -> tuple[str, str, str]:
    names = [one.name for one in endpoint.parameters if one.where == "query"]
    takes = " ".join([*names, *(field.name for field in endpoint.body)])
    ends = ", ".join(answer.status for answer in endpoint.answers)
    about = " ".join(endpoint.about.split()).replace("|", "\\|") + (f" {ends}." if ends != "200" else "")
    return HasVerb.needed(view, endpoint.method), f"`{takes}`" if takes else "", about

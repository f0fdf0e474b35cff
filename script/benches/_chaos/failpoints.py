"""The product's failpoints, read from its source, and by which stories an operation comes to each."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memories.namespaces.copies import PARTS, PARTS_OF_NAMESPACES
from memories.upkeep.consolidation.steps import PLANNED, Phase
from novamem import env

# What stands behind the dot where a name is made of what the product goes through.
FAMILIES: Mapping[str, Sequence[str]] = {
    "branches.fork.": [part.table for part in (*PARTS, *PARTS_OF_NAMESPACES)],
    "consolidation.plan.": list(Phase)[:PLANNED],
    "consolidation.apply.": list(Phase),
}
# By how their names begin; the longest beginning counts.
STORIES_OF: Mapping[str, Sequence[str]] = {
    "backup.": ["drill"],
    "branches.": ["branch"],
    "branches.deleted": ["project"],
    "branches.deleting": ["restore"],
    "branches.merge.undone": ["unmerge"],
    "consolidation.": ["consolidate"],
    "consolidation.undone": ["unconsolidate"],
    "drill.": ["drill"],
    "operations.": ["branch", "consolidate", "drill", "pack", "project", "restore", "unconsolidate", "unmerge"],
    "pack.": ["pack"],
    "restore.": ["restore"],
}


class Unreadable(Exception):
    """A failpoint whose names the source does not tell."""


def failpoints(source: Path = env.ROOT / "memories") -> list[str]:
    """Return the names of all failpoints. Raise Unreadable."""
    trees = [ast.parse(path.read_text()) for path in source.rglob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    reached = [call.args[0] for call in calls if ast.unparse(call.func) == "failpoints.reach"]
    return sorted({name for argument in reached for name in _names(argument, calls)})


def _names(argument: ast.expr, calls: Sequence[ast.Call]) -> Iterator[str]:
    match argument:
        case ast.Constant(value=str(name)):
            yield name
        case ast.JoinedStr(values=[ast.Constant(value=str(family)), ast.FormattedValue()]) if family in FAMILIES:
            yield from (f"{family}{member}" for member in FAMILIES[family])
        case ast.Name(id=parameter):
            for call in calls:
                yield from (str(ast.literal_eval(each.value)) for each in call.keywords if each.arg == parameter)
        case _:
            raise Unreadable(ast.unparse(argument))


def stories_of(name: str) -> Sequence[str]:
    """Return the stories in which operations come to a failpoint; none where no story does."""
    fitting = [beginning for beginning in STORIES_OF if name.startswith(beginning)]
    return STORIES_OF[max(fitting, key=len)] if fitting else []

"""The shape of the code base: arrows, sizes, migrations."""

import ast
import functools
import io
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

import grimp
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from novamem import database, env
from tests.conftest import TEST_DATABASE

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("novamem", "memories", "conflicts")
MODULES = [p for package in PACKAGES for p in sorted((ROOT / package).rglob("*.py")) if "migrations" not in p.parts]
LONGEST_MODULE, LONGEST_FUNCTION = 500, 50
MOST_NAMES, MOST_FLOORS = 26, 8
WORD_LISTS = [p for package in PACKAGES for p in sorted((ROOT / package).rglob("data/*.txt"))]
# Established words of the field.
ESTABLISHED = {"chunking", "ranking", "packing", "scoring", "grounding"}


def lines(path):
    return sum(1 for line in path.read_text().splitlines() if line.strip())


def functions(path):
    return [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_arrows_point_one_way():
    # In a process of its own: it sets logging up anew, which silences every logger that is there.
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def imports():
    return grimp.build_graph(*PACKAGES, cache_dir=None, exclude_type_checking_imports=True)


def floors(imports, room):
    """The longest chain of imports among what lies directly in a room."""

    def part(module):
        return ".".join(module.split(".")[: room.count(".") + 2])

    inside = [m for m in imports.modules if m.startswith(f"{room}.") and ".migrations" not in m]
    below = {part(module): set() for module in inside}
    for module in inside:
        used = imports.find_modules_directly_imported_by(module)
        below[part(module)] |= {part(m) for m in used if m.startswith(f"{room}.")} - {part(module)}

    @functools.cache
    def height(one):
        return 1 + max(map(height, below[one]), default=0)

    return max(map(height, below), default=0)


def test_rooms_have_few_floors(imports):
    rooms = {str(p.parent.relative_to(ROOT)).replace("/", ".") for p in MODULES} - {"memories"}
    assert {room: n for room in rooms if (n := floors(imports, room)) > MOST_FLOORS} == {}


def test_fronts_offer_few_names():
    def offered(path):
        lists = [n.value for n in ast.parse(path.read_text()).body if isinstance(n, ast.Assign)]
        return sum(len(found.elts) for found in lists if isinstance(found, ast.List))

    fronts = [p for p in MODULES if p.name in ("__init__.py", "public.py") and p.parent.name != "models"]
    assert {str(p): n for p in fronts if (n := offered(p)) > MOST_NAMES} == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_small(path):
    assert lines(path) <= LONGEST_MODULE
    for function in functions(path):
        assert function.end_lineno - function.lineno < LONGEST_FUNCTION, f"{path.name}: {function.name}"


def test_most_are_smaller_still():
    sizes = [f.end_lineno - f.lineno + 1 for path in MODULES for f in functions(path)]
    assert statistics.median(sizes) <= 12


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_say_what_they_are(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree) or not tree.body


def test_modules_are_nouns():
    verbs = [path for path in MODULES if path.stem.endswith("ing") and path.stem not in ESTABLISHED]
    assert verbs == []


def test_each_class_has_a_name_of_its_own():
    names = Counter(
        node.name
        for path in MODULES
        if "commands" not in path.parts  # Django calls each of them Command
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, times in names.items() if times > 1} == set()


def test_nothing_is_called_utils():
    banned = {"utils", "helpers", "services", "common", "misc", "signals"}
    assert [path for path in MODULES if path.stem in banned] == []


@pytest.mark.parametrize("path", WORD_LISTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_word_lists_say_what_they_are_and_nothing_twice(path):
    about, *rest = path.read_text().splitlines()
    entries = [line for line in rest if not line.startswith("#")]
    assert about.startswith("# ")
    assert len(entries) == len(set(entries))
    assert all(entry == entry.strip() != "" for entry in entries)


@pytest.mark.parametrize("path", WORD_LISTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_word_lists_are_read_by_a_module_beside_them(path):
    assert any(f'"{path.stem}")' in module.read_text() for module in path.parents[1].glob("*.py"))


def test_tests_can_not_shadow_the_packages():
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def ours():
    loader = MigrationLoader(None)
    return [migration for (app, _), migration in loader.disk_migrations.items() if app in ("memories", "conflicts")]


def test_migrations_have_human_names_and_can_be_undone():
    for migration in ours():
        assert "auto" not in migration.name
        assert all(operation.reversible for operation in migration.operations), migration.name


def test_the_models_need_no_further_migration(db):
    out = io.StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=out)


@pytest.mark.long
def test_migrations_run_backwards_and_forwards(django_db_setup, django_db_blocker):
    """On a database of its own, as the owner."""
    owner = connections["owner"]
    with django_db_blocker.unblock():
        home = owner.settings_dict["NAME"]
        database.prepare_database(env.load().own_database(), f"{TEST_DATABASE}_reversal")
        owner.close()
        owner.settings_dict["NAME"] = f"{TEST_DATABASE}_reversal"
        try:
            call_command("migrate", database="owner", verbosity=0)
            call_command("migrate", "memories", "zero", database="owner", verbosity=0)
            with owner.cursor() as cursor:
                cursor.execute(
                    "SELECT relname FROM pg_class WHERE relname LIKE 'memories%%'"
                    " UNION SELECT proname FROM pg_proc WHERE proname LIKE 'nova%%'"
                )
                assert cursor.fetchall() == []
            call_command("migrate", database="owner", verbosity=0)
            assert MigrationExecutor(owner).migration_plan(MigrationExecutor(owner).loader.graph.leaf_nodes()) == []
        finally:
            owner.close()
            owner.settings_dict["NAME"] = home

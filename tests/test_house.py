"""The house keeps its order: arrows go one way, no circles, nothing too long, every room says what lives there."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    path.relative_to(ROOT) for package in ("schemas", "udfs", "jobs") for path in (ROOT / package).rglob("*.py")
)
TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))
PLACES = {  # room -> the rooms that it may import, besides itself
    "schemas": set(),
    "udfs.errors": set(),
    "udfs.printable": set(),
    "udfs.redaction": {"udfs.errors", "udfs.rules"},
    "udfs.rules": set(),
    "udfs.kafka": {"schemas"},
    "udfs.logs": {"udfs.errors", "udfs.rules"},
    "udfs.arrow": {"udfs.errors", "udfs.rules", "udfs.logs"},
    "udfs.reconstruct": {"schemas", "udfs.rules", "udfs.kafka"},
    "udfs.describe": {"schemas", "udfs.kafka"},
    "udfs.incidents": set(),
    "udfs.merge": {"udfs.errors", "udfs.printable", "udfs.redaction", "udfs.rules", "udfs.logs"},
}
LAYERS = (  # of jobs: a room may import those of the lines above it, and nothing beside it
    {"jobs.java", "jobs.java_classes", "jobs.work_folder", "jobs.worker_daemon"},
    {
        "jobs.exits",
        "jobs.session",
        "jobs.settings",
        "jobs.time_option",
        "jobs.version",
        "jobs.path_options",
        "jobs.whole_help",
    },
    {"jobs.checkpoints", "jobs.progress"},
    {"jobs.warehouse", "jobs.timelines", "jobs.merge"},
    {"jobs.ingest", "jobs.findings", "jobs.read"},
    {"jobs.nightly", "jobs.describe"},
    {"jobs.answers"},
    {"jobs.report"},
    {"jobs.cli"},
    {"jobs.submit", "jobs.package"},
    {"jobs.databricks"},
)
MOST_LINES, MOST_FUNCTION_LINES, MOST_COLUMNS = 400, 60, 120
RULES = "udfs/rules/subjects/"
"""Rules are data: their modules may be as long as there are messages."""


def module_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    """`jobs.timelines` for `jobs.timelines.states.kraft`; all of schemas is one room."""
    parts = module.split(".")
    return parts[0] if parts[0] == "schemas" else ".".join(parts[:2])


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def is_module(name: str) -> bool:
    return Path(ROOT, *name.split(".")).with_suffix(".py").exists()


def imported(path: Path) -> Iterator[str]:
    """Our modules that a file imports anywhere, also in functions and for types only."""
    for node in ast.walk(tree(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            members = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [
                name if Path(ROOT, *name.split(".")).with_suffix(".py").exists() else node.module for name in members
            ]
        yield from (name for name in names if name.split(".")[0] in ("schemas", "udfs", "jobs", "tests"))


def may_import(room: str) -> set[str]:
    if room in PLACES:
        return {room, *PLACES[room]}
    above = next(number for number, rooms in enumerate(LAYERS) if room in rooms)
    return {room, *PLACES, *(name for rooms in LAYERS[:above] for name in rooms)}


@pytest.mark.parametrize("path", [path for path in MODULES if len(path.parts) > 2 or path.stem != "__init__"], ids=str)
def test_arrows_between_rooms_go_one_way(path: Path) -> None:
    room = room_of(module_of(path))
    assert {room_of(name) for name in imported(path)} <= may_import(room)


def test_no_modules_import_each_other_in_a_circle() -> None:
    needs = {module_of(path): set(imported(path)) for path in MODULES}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " -> ".join((*above[above.index(module) :], module))
        if module not in done:
            for needed in sorted(needs.get(module, ())):
                visit(needed, (*above, module))
            done.add(module)

    for module in needs:
        visit(module, ())


def test_nothing_is_too_long() -> None:
    too_long = []
    for path in MODULES:
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        is_rules = path.as_posix().startswith(RULES)
        if len(lines) > MOST_LINES and not is_rules:
            too_long.append(f"{path}: {len(lines)} lines")
        too_long += [
            f"{path}:{n}: {len(line)} columns"
            for n, line in enumerate(lines, 1)
            if len(line) > MOST_COLUMNS and not is_rules
        ]
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.FunctionDef)
                and (length := (node.end_lineno or 0) - node.lineno + 1) > MOST_FUNCTION_LINES
            ):
                too_long.append(f"{path}: {node.name} has {length} lines")
    assert too_long == []


def test_each_window_frame_begins_with_its_partition_or_is_of_few_rows() -> None:
    """Spark aggregates any other frame anew for each row: see `jobs/timelines/running_windows.py`."""
    frames = [
        (path, node.lineno, node.func.attr, ast.unparse(node))
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("rowsBetween", "rangeBetween")
    ]
    assert [
        f"{path}:{line}"
        for path, line, kind, frame in frames
        if "unboundedPreceding" not in frame and (kind == "rangeBetween" or "unboundedFollowing" in frame)
    ] == []


PARTICIPLES = {"told", "found", "said", "given", "made", "heard", "untold"}


def bound_names(path: Path) -> Iterator[tuple[int, str]]:
    """Names that a module gives to variables, parameters and functions, with their line."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def test_no_variable_is_named_by_a_participle() -> None:
    """A variable is named after what it holds."""
    assert [
        f"{path}:{line}: {name}"
        for path in [*MODULES, *TESTS]
        for line, name in bound_names(path)
        if name in PARTICIPLES
    ] == []


def test_what_has_a_name_is_used() -> None:
    """By another line of the code or of its tests, be it of its own module."""
    words = Counter(word for path in (*MODULES, *TESTS) for word in re.findall(r"\w+", (ROOT / path).read_text()))
    names = [
        (path, name)
        for path in MODULES
        for statement in tree(path).body
        for name in names_of(statement)
        if not (name.startswith("__") and name.endswith("__"))
    ]
    assert len(names) > 1000
    assert [f"{path}: {name}" for path, name in names if words[name] == 1] == []


def names_of(statement: ast.stmt) -> list[str]:
    """What a statement of a module names: a function, a class or a constant; not the members of an enumeration."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_one_name_for_one_type() -> None:
    """Public classes and type aliases of two modules are not called the same."""
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module_of(path))
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


@pytest.mark.parametrize("room", [path.parent for path in MODULES if path.stem == "__init__"], ids=str)
def test_a_room_says_what_lives_there(room: Path) -> None:
    text = ast.get_docstring(tree(room / "__init__.py")) or ""
    assert len(text) > 40
    assert len(text.splitlines()) <= 5


@pytest.mark.parametrize("package", ["schemas", "udfs", "jobs"])
def test_packages_are_this_checkout_s(package: str) -> None:
    """They are top level, so that another distribution could shadow them."""
    path = importlib.import_module(package).__file__
    assert path is not None
    assert Path(path).resolve() == ROOT / package / "__init__.py"


def test_the_glossary_is_short() -> None:
    assert len((ROOT / "GLOSSARY.md").read_bytes()) <= 4096


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "GLOSSARY.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_that_pages_name_are_there(page: Path) -> None:
    """A page that names a module of ours names one that exists."""
    names = re.findall(
        r"`((?:schemas|udfs|jobs|tests|conf|docs)/[\w/.-]+\.(?:py|md|yaml|yml|properties))`", page.read_text("utf-8")
    )
    assert [name for name in names if not (ROOT / name).exists()] == []

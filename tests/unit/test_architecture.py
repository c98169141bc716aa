"""Every room lies on a floor and imports from floors below only.

All imports count, also those under TYPE_CHECKING and inside functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "shardc": ROOT / "shardc",
    "shardc.dialects": ROOT / "dialects",
    "shardc.grammar": ROOT / "grammar",
    "shardc.passes": ROOT / "passes",
}

FLOORS: tuple[tuple[str, ...], ...] = (
    ("diagnostics", "cache", "collector"),
    ("options", "grammar"),
    ("outcome",),
    ("layout",),
    ("graph",),
    ("semantics", "arrays"),
    ("ops",),
    ("rules", "analysis"),
    ("forms",),
    ("propagation",),
    ("planning",),  # it may start from another propagation (planning/program/search/data_first.py)
    ("check", "interpret"),
    ("gradients",),
    ("batching",),  # vmap, which inlines calls as gradients do
    ("dialects",),
    ("rewrite",),
    ("passes",),
    ("frontend", "backend", "runtime"),
    ("report", "explain", "formatter"),
    ("compilation",),  # a text to a module to a target, as the options say
    ("proof",),
    ("api", "universe"),
    ("jaxside",),
    ("shardc",),  # the package itself: its version, and what it re-exports from the API
    ("launch", "editor", "notebook"),
    ("cli",),
)
"""Rooms, the ground floor first. Rooms of one floor do not import each other."""

FORBIDDEN = {("report", "backend")}
"""Arrows that point down and are not wanted: a report is of a program, whatever target it is written for."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("explain", "api"): "the room has the name of the function shardc.explain, and is called as it",
    ("layout", "ops"): "the sdy notation asks ops for names",
}
"""Arrows that are there today, and why; each is deleted with the last import of its kind."""


WITHIN: dict[str, tuple[str, ...]] = {
    "shardc.planning.program": ("costs", "problem", "integer", "search", "remembered"),
}
"""The rooms of a large one, likewise. What lies in the large one itself is on top of them."""


CIRCLES = {
    "backend": "body, context and literals name each other's types",
    "frontend": "statements, loops and functions of the language hold each other",
}
"""Rooms whose modules import each other in circles."""


@pytest.fixture(autouse=True, scope="module")
def _forget() -> Iterator[None]:
    """Syntax trees of all modules are millions of objects."""
    yield
    modules.cache_clear()


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of the house by name."""
    return dict(_modules())


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if package == "shardc" and parts[0] in ("dialects", "passes", "grammar"):
                continue  # links to the folders at the top
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            yield ".".join((package, *parts)), ast.parse(path.read_text())


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules of ours that a module imports, wherever in it, and the names that it imports from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == "shardc")


def room(name: str, rooms: frozenset[str]) -> str:
    """`planning` for shardc.planning.reshard.plan; `shardc` for names of the package itself."""
    first = name.split(".")[1] if "." in name else ""
    return first if first in rooms else "shardc"


def arrows() -> dict[tuple[str, str], list[str]]:
    """(room, room that it imports) -> the modules that do."""
    found: dict[tuple[str, str], list[str]] = {}
    rooms = frozenset(room for floor in FLOORS for room in floor)
    for name, tree in modules().items():
        for other in imported(tree):
            pair = room(name, rooms), room(other, rooms)
            if pair[0] != pair[1]:
                found.setdefault(pair, []).append(f"{name} imports {other}")
    return found


def test_every_module_is_in_a_room():
    rooms = {room for floor in FLOORS for room in floor}
    first = {name.split(".")[1] for name in modules() if "." in name}
    assert first <= rooms, f"rooms without a floor: {sorted(first - rooms)}"


def test_arrows_point_down():
    level = {room: number for number, floor in enumerate(FLOORS) for room in floor}
    wrong = {
        pair: lines
        for pair, lines in arrows().items()
        if (level[pair[1]] >= level[pair[0]] or pair in FORBIDDEN) and pair not in EXCEPTIONS
    }
    assert not wrong, "\n".join(line for lines in wrong.values() for line in lines)


@pytest.mark.parametrize("large", WITHIN)
def test_arrows_point_down_within_a_room(large: str):
    level = {f"{large}.{room}": number for number, room in enumerate(WITHIN[large])}

    def floor(name: str) -> int:
        return next((level[room] for room in level if f"{name}.".startswith(f"{room}.")), len(level))

    within = {name: tree for name, tree in modules().items() if f"{name}.".startswith(f"{large}.")}
    assert {name.removeprefix(f"{large}.").split(".")[0] for name in within} >= {*WITHIN[large]}
    wrong = [
        f"{name} imports {other}"
        for name, tree in within.items()
        for other in imported(tree)
        if f"{other}.".startswith(f"{large}.") and floor(name) < floor(other)
    ]
    assert not wrong, "\n".join(wrong)


def test_exceptions_are_needed():
    unneeded = EXCEPTIONS.keys() - arrows().keys()
    assert not unneeded, f"delete these exceptions: {sorted(unneeded)}"


def test_modules_do_not_import_each_other_in_circles():
    trees = modules()
    after = {
        name: {_module(other, trees) for other in imported(tree)} - {name}
        for name, tree in trees.items()
        if name.split(".")[1:2] not in [[room] for room in CIRCLES]
    }
    done: set[str] = set()
    for name in after:
        circle = _circle(name, after, done, [])
        assert not circle, " -> ".join(circle)


def _module(name: str, trees: dict[str, ast.Module]) -> str:
    """The module that a name is, or is in."""
    return name if name in trees else name.rpartition(".")[0]


def _circle(name: str, after: dict[str, set[str]], done: set[str], way: list[str]) -> list[str]:
    """A way from a module back to itself; empty if there is none."""
    if name in way:
        return [*way[way.index(name) :], name]
    if name in done:
        return []
    for other in sorted(after.get(name, ())):
        circle = _circle(other, after, done, [*way, name])
        if circle:
            return circle
    done.add(name)
    return []

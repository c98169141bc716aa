"""Which cases of a family run at each commit.

`@pytest.mark.sampled(3)` says of a test function that its cases ask the same of one program after another:
every third runs at each commit, and the others are marked `slow`, so that `make sweep` runs them. What a case
alone would find, an operation, a notation, an error, a planted fault, is no such family. Functions of a file
take turns: the first has cases 0, 3, 6, the next 1, 4, 7, so that over the same programs each is in one of
three. With `--turn 1` all begin one case later: `make newest` takes what `make test` left. On a file, by
`pytestmark`, the mark makes one family of all its tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest


def first(place: int, turn: int, every: int, count: int) -> int:
    """The first case that runs, of `count`, in the family at a place among those of its file."""
    return (place + turn) % min(every, count)


def mark_the_rest(items: Sequence[pytest.Item], turn: int) -> None:
    """Mark as slow what does not run at each commit."""
    files: dict[Path, dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    sizes: dict[str, int] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            continue
        for node, mark in item.iter_markers_with_node("sampled"):
            name = node.nodeid.partition("[")[0]
            files[item.path][name].append(item)
            sizes[name] = mark.args[0]
            break
    for families in files.values():
        for place, (name, cases) in enumerate(families.items()):
            kept = range(first(place, turn, sizes[name], len(cases)), len(cases), sizes[name])
            for number, item in enumerate(cases):
                if number not in kept:
                    item.add_marker(pytest.mark.slow)


def chosen(request: pytest.FixtureRequest, *functions: str) -> list[dict[str, Any]]:
    """Parameters of the cases that this run has of some functions of the file, for a fixture that makes what
    all of them need at once."""
    return [
        item.callspec.params
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and item.originalname in functions
    ]

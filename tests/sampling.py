"""What of a family of cases runs at each commit.

`@pytest.mark.sampled(3)` says of a test function that its cases ask the same of one program after another:
every third runs at each commit, and the others are marked `slow`, so that `make sweep` runs them. What a case
alone would find, an operation, a notation, an error, a planted fault, is no such family. Functions of a file
take turns: the first has cases 0, 3, 6, the next 1, 4, 7, so that over the same programs each is in one of
three. With `--turn 1` all begin one case later: `make newest` takes what `make test` left.

`sampled(3, each=operation)` has a family for each operation that the cases' ids begin with.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest


def examples(count: int) -> int:
    """How many examples a random test has: so many in the sweep, and a third at each commit."""
    return count if "SHARDC_RANDOM" in os.environ else -(-count // 3)


def operation(expression: str) -> str:
    """What an expression begins with: the function that it calls."""
    return re.split(r"[(\s]", expression, maxsplit=1)[0]


def first(place: int, turn: int, every: int, count: int) -> int:
    """The first case that runs, of `count`, of the function at a place among those of its file."""
    return (place + turn) % min(every, count)


def mark_the_rest(items: Sequence[pytest.Item], turn: int) -> None:
    """Mark as slow what does not run at each commit."""
    every: dict[tuple[Path, str], int] = {}
    families: dict[tuple[Path, str], dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark and isinstance(item, pytest.Function) and not item.get_closest_marker("slow"):
            function = item.path, item.originalname
            every[function] = mark.args[0]
            kind = mark.kwargs["each"](item.callspec.id) if mark.kwargs else ""
            families[function][kind].append(item)
    seen: dict[Path, int] = defaultdict(int)
    for (path, name), kinds in families.items():
        for cases in kinds.values():
            start = first(seen[path], turn, every[path, name], len(cases))
            for number, item in enumerate(cases):
                if number not in range(start, len(cases), every[path, name]):
                    item.add_marker(pytest.mark.slow)
        seen[path] += 1


def chosen(request: pytest.FixtureRequest, function: str) -> list[dict[str, Any]]:
    """Parameters of the cases that this run has of a function of the file, for a fixture that makes at once
    what all of them need."""
    return [
        item.callspec.params
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and item.originalname == function
    ]

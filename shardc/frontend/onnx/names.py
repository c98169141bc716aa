"""Names for a program from names of a model, which may be any text."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager

MOST = 60
"""Characters of an identifier, without its number."""

_FIRST = re.compile(r"(_output_0|:0)$")
"""How exporters call the first result of a node."""


class Names:
    """Identifiers, each given once. Nothing of a name gets through but ASCII letters, digits and `_`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._short: dict[str, str] = {}

    def among(self, names: Iterable[str]) -> None:
        """Names of a graph, of which paths are cut to what tells them apart."""
        self._short |= shortened(names)

    @contextmanager
    def undoing(self, kept: Collection[str]) -> Generator[None]:
        """Names that are given inside are free again after an error, but those of `kept`."""
        before = set(self._taken)
        try:
            yield
        except BaseException:
            self._taken = before | set(kept)
            raise

    def fresh(self, name: str) -> str:
        short = self._short.get(name, name)
        base = re.sub(r"[^A-Za-z0-9_]+", "_", short)[-MOST:].strip("_") or "t"
        if base[0].isdigit() or keyword.iskeyword(base):
            base = f"t_{base}"
        found, number = base, 1
        while found in self._taken:
            number += 1
            found = f"{base}_{number}"
        self._taken.add(found)
        return found


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Path -> its last parts, two at least, the first no number, and as many as no other path ends in.

    /encoder/0/mlp/Add_output_0, /encoder/1/mlp/Add_output_0 -> encoder/0/mlp/Add, encoder/1/mlp/Add
    """
    paths = {name: tuple(filter(None, _FIRST.sub("", name).split("/"))) for name in names if "/" in name}
    ends = Counter(path[-count:] for path in paths.values() for count in range(1, len(path) + 1))
    return {name: "/".join(_end(path, ends)) for name, path in paths.items()}


def _end(path: tuple[str, ...], ends: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    for count in range(2, len(path)):
        end = path[-count:]
        if ends[end] == 1 and not end[0].isdigit():
            return end
    return path

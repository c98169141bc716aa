"""Python names for values: the source's where they can be, never one that would shadow something.

All program text that reaches the output does so through `identifier`, repr() or `printable`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable

_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())
_MODULES = frozenset(
    "jax jnp lax np base64 ml_dtypes ops Mesh P emulate comm mesh main device_main run emulate_devices".split()
    + "DotDims GatherDims ScatterDims ConvDims".split()
)
RESERVED = frozenset(keyword.kwlist) | _BUILTINS | _MODULES
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def identifier(text: str | None) -> str | None:
    """`text` as an ASCII identifier that is safe to assign to: lambda -> lambda_, params['w'] -> params_w.

    None for what is no name a person gave: nothing at all, or a path such as jit(f)/add.
    """
    if text is None or "/" in text or len(text) > 60:
        return None
    words = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if not words:
        return None
    if words[0].isdigit():
        words = "x" + words
    return words + "_" if words in RESERVED else words


def is_identifier(text: str) -> bool:
    """Whether the text is an ASCII identifier that means nothing else."""
    return bool(_WORD.match(text)) and text not in RESERVED


def printable(text: str) -> str:
    """The text on one line, for a comment or docstring: control characters and backslashes are escaped."""
    escaped = "".join(
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode("ascii") for c in text
    )
    return escaped.replace('"""', '\\"\\"\\"')


class Names:
    """The names in use in one Python scope.

    A name is free again when nothing that is still to be printed reads it, so `x = f(x)` keeps its x.
    """

    def __init__(self, pinned: Iterable[str] = ()) -> None:
        self._pinned = set(pinned)
        self._readers: Counter[str] = Counter()

    def hold(self, names: Iterable[str]) -> None:
        """Something yet to be printed reads these names."""
        self._readers.update(names)

    def release(self, names: Iterable[str]) -> None:
        """It has been printed."""
        self._readers.subtract(names)

    def held(self) -> set[str]:
        """The names that may not be assigned now."""
        return self._pinned | {name for name, readers in self._readers.items() if readers > 0}

    def pin(self, name: str) -> None:
        """Never give this name again."""
        self._pinned.add(name)

    def fresh(self, wish: str) -> str:
        """`wish`, or wish_1, wish_2, … where it is taken."""
        name, n = wish, 0
        while name in self._pinned or self._readers[name] > 0 or name in RESERVED:
            n += 1
            name = f"{wish}_{n}"
        return name

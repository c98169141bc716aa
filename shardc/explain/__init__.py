"""Diagnostics, provenance, reports. `shardc.explain(text)` and `shardc.explain.explain(text)` are the same:
the package can be called, so that it may share its name with the function."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardc.explain.records import Explanation


def explain(
    text: str,
    name: str | None = None,
    *,
    language: str | None = None,
    file: str = "<text>",
    defines: Mapping[str, int] | None = None,
    entry: str | None = None,
) -> Explanation:
    """Why the tensors of a program are split as they are: those called `name` (or made in that line), or
    without one an overview. The other arguments are `shardc.compile`'s; ShardcError if the program is wrong.
    """
    from shardc.cli.driver import READERS
    from shardc.cli.explain import explain_module
    from shardc.explain.diagnostics import register_source

    register_source(file, text)
    language = language or ("mlir" if "func.func" in text else "shard")
    return explain_module(READERS[f".{language}"](text, file, dict(defines or {}), entry), name)


class _Callable(ModuleType):
    __call__ = staticmethod(explain)


sys.modules[__name__].__class__ = _Callable

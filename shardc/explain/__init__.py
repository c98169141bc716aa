"""Diagnostics, provenance, reports. The package shares its name with the function `shardc.explain`, so it can
be called like it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def explain(*args: Any, **named: Any) -> Any:
    """shardc.api.explain, whose place in `shardc` this package takes as soon as it is imported."""
    from shardc import api

    return api.explain(*args, **named)


class _Callable(ModuleType):
    __call__ = staticmethod(explain)


sys.modules[__name__].__class__ = _Callable

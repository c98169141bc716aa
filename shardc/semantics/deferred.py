"""SciPy's modules, each imported when something of it is first used: that takes a third of a second."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """A module that is imported when an attribute of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


special = Deferred("scipy.special")
blas = Deferred("scipy.linalg.blas")
lapack_routines = Deferred("scipy.linalg.lapack")

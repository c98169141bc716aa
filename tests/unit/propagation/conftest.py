"""The oracle (shardy.py) and the random programs (programs.py) of the tests here, as fixtures."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


def _load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"propagation_{name}", Path(__file__).parent / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def shardy() -> ModuleType:
    """compare, compare_pass: a module's text -> Shardy's shardings and shardc's."""
    pytest.importorskip("jax")
    return _load("shardy")


@pytest.fixture(scope="session")
def programs() -> ModuleType:
    """Program: random programs."""
    return _load("programs")

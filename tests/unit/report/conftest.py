"""Programs as local modules, and what tracemalloc sees of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from shardc.cli.driver import READERS
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.diagnostics import collecting, register_source
from shardc.graph import Graph
from shardc.passes.pipeline import run_to

ROOT = Path(__file__).parents[3]


def _compile(text: str, file: str = "prog.shard", **defines: int) -> Graph:
    register_source(file, text)
    with collecting():
        module = READERS[".shard"](text, file, defines, None)
        run_to(make_context(), module, "local")
    return snapshot(module).graph


@pytest.fixture(scope="session")
def local_graph() -> Callable[..., Graph]:
    """The local module of a .shard program, on a mesh pod[data=2, model=4]."""
    return lambda text, **defines: _compile(f"mesh pod[data=2, model=4]\n{text}", **defines)


@pytest.fixture(scope="session")
def example() -> Callable[..., Graph]:
    """The local module of an example, with some of its sizes changed."""

    def get(name: str, **defines: int) -> Graph:
        path = ROOT / "examples" / name / f"{name}.shard"
        return _compile(path.read_text("utf-8"), path.name, **defines)

    return get


@pytest.fixture(scope="session")
def peak() -> Callable[[Graph], int]:
    """The most bytes that one device's NumPy program holds, as tracemalloc sees it."""
    spec = importlib.util.spec_from_file_location("one_device", ROOT / "bench" / "one_device.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.peak

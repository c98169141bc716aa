"""Programs as local modules, and what tracemalloc sees of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.passes.pipeline import run_to

ROOT = Path(__file__).parents[3]


def _compile(text: str, file: str = "prog.shard", **defines: int) -> Graph:
    with collecting():
        module = read(text, Options(file=file, defines=defines, language="shard"))
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
    from bench import one_device

    return one_device.peak

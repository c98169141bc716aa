"""JAX functions as graphs, and emitted text as functions."""

import jax
import numpy as np
import pytest

from shardc.backend import jax as jax_backend
from shardc.backend import numpy as numpy_backend
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph
from tests.tolerance import assert_near


def lowered(function, *arrays) -> Graph:
    """The graph of a JAX function, as its StableHLO text reads."""
    return snapshot(read(jax.jit(function).lower(*arrays).as_text(debug_info=True), "prog.mlir")).graph


def loaded(text: str) -> dict:
    """The names that an emitted program defines."""
    names: dict = {"__name__": "emitted"}
    exec(compile(text, "emitted.py", "exec"), names)
    return names


def outputs(result) -> list[np.ndarray]:
    return [np.asarray(x) for x in (result if isinstance(result, (tuple, list)) else (result,))]


def assert_close(actual, expected, text):
    assert len(actual) == len(expected), text
    for a, e in zip(actual, expected, strict=True):
        assert (a.dtype, a.shape) == (e.dtype, e.shape), text
        assert_near(a, e, terms=1024, text=text)


@pytest.fixture
def check():
    """Compare a JAX function with what both targets print for it; gives the two texts."""

    def compare(function, *arrays) -> tuple[str, str]:
        expected = outputs(jax.jit(function)(*arrays))
        graph = lowered(function, *arrays)
        texts = jax_backend.emit(graph), numpy_backend.emit(graph)
        for text in texts:
            assert_close(outputs(loaded(text)["main"](*arrays)), expected, text)
        return texts

    return compare


@pytest.fixture
def load():
    return loaded


@pytest.fixture(autouse=True)
def default_widths():
    """Emitted programs with 64-bit types turn them on for the whole process."""
    yield
    jax.config.update("jax_enable_x64", False)

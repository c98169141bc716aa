"""Programs with jax.shard_map, compiled from what JAX prints of them, and compared with what JAX computes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import shardc
from tests.tolerance import assert_near


def filled(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Different numbers, none of them zero, their mean not zero either."""
    size = int(np.prod(shape))
    order = np.random.default_rng(size).permutation(size)
    return (
        ((order + 1) / max(size, 1) + 0.25).reshape(shape).astype(dtype)
        if dtype[0] == "f"
        else (order % 13 - 3).reshape(shape).astype(dtype)
    )


@contextmanager
def _axes_in_any_order() -> Generator[None]:
    """JAX 0.12 wants to be told that the axes of a ppermute may stand in another order than the mesh's."""
    import jax

    option = "jax_raise_on_ppermute_sort_diff"
    known = hasattr(jax.config, option)
    if known:
        jax.config.update(option, False)
    yield
    if known:
        jax.config.update(option, True)


@pytest.fixture
def agree() -> Callable[..., list[str]]:
    """Compile a function for arguments with both targets, compare with JAX; gives the warnings."""
    jax = pytest.importorskip("jax")
    if len(jax.devices()) < 8:
        pytest.skip("needs 8 devices")

    def compare(
        function: Callable[..., Any],
        *args: Any,
        targets: Sequence[str] = ("jax", "numpy"),
        in_shardings: Any = None,
    ) -> list[str]:
        with _axes_in_any_order():
            want = jax.tree.leaves(jax.jit(function)(*args))
        warnings: list[str] = []
        for target in targets:
            with _axes_in_any_order():
                program = shardc.from_jax(function, *args, target=target, in_shardings=in_shardings)
            got = jax.tree.leaves(program.main(*args))
            assert [np.shape(g) for g in got] == [np.shape(w) for w in want]
            for one, other in zip(got, want, strict=True):
                assert_near(one, other, terms=1024, text=target)
            warnings = [warning.message for warning in program.warnings]
        return warnings

    return compare

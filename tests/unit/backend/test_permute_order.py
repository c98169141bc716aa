"""JAX's ppermute counts positions in the order of the mesh, shardc's in that of the axes' names."""

from __future__ import annotations

import numpy as np
import pytest

import shardc

pytest.importorskip("jax")


@pytest.mark.parametrize("axes", ["(i, j)", "(j, i)", "(j, k)", "(k, i)", "(k, j, i)"])
def test_positions(axes: str) -> None:
    sizes = {"i": 2, "j": 2, "k": 2}
    count = int(np.prod([sizes[name] for name in axes if name in sizes]))
    pairs = [(p, (p + 1) % count) for p in range(count)]
    text = f"""mesh pod[i=2, j=2, k=2]
@shard_map
def main(x: f32[{count}@{axes}]) -> f32[{count}@{axes}]:
    return ppermute(x, {axes}, {pairs})
"""
    x = np.arange(count, dtype=np.float32)
    for target in ("jax", "numpy"):
        np.testing.assert_array_equal(shardc.compile(text, target=target).main(x), np.roll(x, 1))

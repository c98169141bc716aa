"""Collectives as JAX's documentation writes them, in the language and in jax.shard_map: the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.backend.shard import program as shard
from shardc.compilation import lower
from shardc.diagnostics import collecting
from shardc.frontend.text import read
from shardc.options import Options

CASES = [
    ("lax.all_gather(x, 'i', axis=1)", "P('i', 'j')", "P(None, None, 'j')", (8, 8), (2, 4, 8)),
    ("lax.all_gather(x, ('j', 'i'), axis=1, tiled=True)", "P('i', 'j')", "P()", (8, 8), (2, 32)),
    ("lax.psum_scatter(x, ('j', 'i'), tiled=True)", "P()", "P(('j', 'i'))", (8, 3), (8, 3)),
    ("lax.psum_scatter(x, 'i', scatter_dimension=1)", "P(None, 'j')", "P(('j', 'i'))", (3, 8), (24,)),
    ("lax.all_to_all(x, 'i', 0, 1)", "P(None, 'j')", "P(None, ('j', 'i'))", (4, 8), (4, 32)),
    ("x + lax.axis_index(('j', 'i'))", "P('i', 'j')", "P('i', 'j')", (8, 8), (8, 8)),
    ("lax.pshuffle(x, 'i', [1, 3, 0, 2])", "P('i', 'j')", "P('i', 'j')", (8, 8), (8, 8)),
    ("lax.pswapaxes(x, 'i', 1)", "P('i', 'j')", "P('i', 'j')", (8, 8), (8, 8)),
    ("lax.psum(1, 'i') * x", "P('i', 'j')", "P('i', 'j')", (8, 8), (8, 8)),
    ("lax.ppermute(x, ('i', 'j'), [(0, 1), (1, 5), (7, 0)])", "P('i', 'j')", "P('i', 'j')", (8, 8), (8, 8)),
]


@pytest.mark.parametrize(("body", "taken", "given", "shape", "result"), CASES)
def test_the_same(body: str, taken: str, given: str, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
    import jax
    from jax import lax
    from jax.sharding import Mesh
    from jax.sharding import PartitionSpec as P

    x = np.random.default_rng(0).integers(0, 9, shape).astype(np.float32)
    names = {"lax": lax, "P": P}
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("i", "j"))
    function = jax.shard_map(
        eval(f"lambda x: {body}", names),
        mesh=mesh,
        in_specs=eval(taken, names),
        out_specs=eval(given, names),
        check_vma=False,
    )
    text = (
        "mesh m[i=4, j=2]\n\n@shard_map(check=False)\n"
        f"def main(x: f32{list(shape)} {taken}) -> f32{list(result)} {given}:\n    return {body}\n"
    )
    want = np.asarray(jax.jit(function)(x))
    np.testing.assert_array_equal(shardc.compile(text, target="numpy").main(x), want)
    np.testing.assert_array_equal(shardc.compile(text).main(x), want)


def test_positions_that_jax_counts_otherwise_are_warned_of() -> None:
    """JAX's ppermute takes the order of the mesh, its axis_index that of the names."""
    text = (
        "mesh m[i=4, j=2]\n\n@shard_map\ndef main(x: f32[8@i, 8@j]) -> f32[8@i, 8@j]:\n"
        "    return ppermute(x, ('j', 'i'), [(0, 1), (1, 5), (7, 0)])\n"
    )
    with collecting() as warnings:
        module = read(text, "p.shard")
    assert [warning.message for warning in warnings] == [
        "ppermute over (j, i) counts positions in that order, as axis_index does; JAX's counts them "
        "in the order of the mesh, (i, j)"
    ]
    again = shard.emit(lower(module, Options()))
    assert "ppermute(x, (i, j), [(0, 2), (2, 3), (7, 0)])" in again
    with collecting() as warnings:
        read(again, "p.shard")
    assert warnings == []

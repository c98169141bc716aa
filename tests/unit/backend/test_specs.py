"""Specs of trees that occur again are written once, and mean the same."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import shardc

jax = pytest.importorskip("jax")
P = jax.sharding.PartitionSpec

LAYER = {"bias": (8,), "gain": (8,), "kernel": (8, 8)}
WAYS = {"bias": P("data"), "gain": P(), "kernel": P(None, "data")}


def emitted(layers: int, results: int) -> tuple[str, Any, Any]:
    """The text of a step on a tree with so many layers, and what it and JAX compute."""
    is_leaf = {"is_leaf": lambda x: isinstance(x, tuple)}
    layer = jax.tree.map(lambda shape: np.full(shape, 2, np.float32), LAYER, **is_leaf)
    params = {"layers": [layer] * layers, "scale": np.ones(8, np.float32)}
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    ways = {"layers": [WAYS] * layers, "scale": P()}
    split = jax.tree.map(lambda spec: jax.sharding.NamedSharding(mesh, spec), ways)

    def step(params: Any, moments: Any) -> Any:
        moments = jax.tree.map(lambda p, m: p + 2 * m, params, moments)
        return (params, moments)[-results:] if results > 1 else moments

    outs = (split,) * results if results > 1 else split
    program = shardc.from_jax(step, params, params, in_shardings=(split, split), out_shardings=outs)
    return program.source, program.main(params, params), step(params, params)


@pytest.mark.parametrize("results", [1, 2])
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_a_tree_is_said_once(layers: int, results: int) -> None:
    source, got, want = emitted(layers, results)
    (main,) = [f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef) and f.name == "main"]
    text = ast.unparse(main)
    assert (
        text.count("'kernel': P(") == (2 if layers == 2 else 1)
        and "in_specs=(params_specs, params_specs)" in text
    )
    assert f"out_specs={'(params_specs, params_specs)' if results > 1 else 'params_specs'}" in text
    assert (",) * 4" in text) == (layers == 4) and text.count("_specs = ") == 1
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(one, other)


def test_large_layers_have_variables() -> None:
    """A layer by the name of their tuple, also where the whole occurs once."""
    shape = {f"weight_{i}": np.ones((8, 8), np.float32) for i in range(4)}
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    ways = {key: jax.sharding.NamedSharding(mesh, P("data") if key[-1] == "1" else P()) for key in shape}
    given = {"layers": [shape] * 2}

    def norms(params: Any) -> Any:
        return jax.tree.map(lambda w: (w * w).sum(), params["layers"])

    program = shardc.from_jax(norms, given, in_shardings=({"layers": [ways] * 2},))
    assert (
        "    layer_specs = {\n" in program.source
        and '{"layers": (layer_specs, layer_specs)}' in program.source
    )
    assert jax.tree.leaves(program.main(given)) == [64.0] * 8

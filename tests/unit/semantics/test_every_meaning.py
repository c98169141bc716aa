"""What each operation is defined to compute, on its definition's example, against JAX: a wrong meaning, which
a proof takes for right, is found here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder
from shardc.backend import jax as backend
from shardc.graph import DTYPES, Graph, Op, TensorType
from shardc.ops import Trait, definitions, has
from tests.tolerance import assert_computes

pytest.importorskip("jax")

EXAMPLES = {
    definition.name: definition.example
    for definition in definitions()
    if definition.example is not None
    and definition.meaning is not None
    and not has(definition.name, Trait.GROUPED, Trait.RANDOM, Trait.REGION)
    and definition.name.startswith(("stablehlo.", "chlo."))
    and not any(DTYPES[type.dtype][1].itemsize == 8 for type in definition.example.operands)
}
ODD = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5])
KINDS = ("normal", "unit", "large", "odd")
ELSEWHERE = {
    "chlo.polygamma": "test_elementwise_oracle.py, of orders that are whole numbers",
    "stablehlo.cholesky": "backend/test_every_op.py, of definite matrices",
    "stablehlo.custom_call": "frontend/test_linear_algebra.py",
    "stablehlo.triangular_solve": "backend/test_every_op.py, of matrices with an inverse",
    "stablehlo.map": "backend/test_every_op.py: it has a region, and so have the next",
    "stablehlo.reduce": "test_arrays_oracle.py",
    "stablehlo.reduce_window": "test_arrays_oracle.py",
    "stablehlo.scatter": "test_arrays_oracle.py",
    "stablehlo.select_and_scatter": "test_arrays_oracle.py",
    "stablehlo.sort": "test_arrays_oracle.py",
}
"""Where operations are compared that random numbers, or an example without a region, do not suit."""

DOMAINS = {"chlo.zeta": ("large",)}
"""Arguments where JAX defines the function."""


def argument(rng: np.random.Generator, type: TensorType, kind: str) -> np.ndarray:
    if type.dtype == "bool":
        return rng.integers(0, 2, type.shape).astype(np.bool_)
    if type.numpy.kind in "iu":
        return rng.integers(0, 3, type.shape).astype(type.numpy)
    drawn = rng.standard_normal(type.shape)
    if type.numpy.kind == "c":
        return (drawn + 1j * rng.standard_normal(type.shape)).astype(type.numpy)
    kinds = {"unit": np.tanh(drawn), "large": 1 + np.abs(drawn), "odd": rng.choice(ODD, type.shape)}
    return kinds.get(kind, drawn).astype(type.numpy)


def graph_of(op: Op) -> Graph:
    builder = GraphBuilder()
    attrs: dict[str, Any] = dict(op.attrs)

    def body(b: GraphBuilder, *args: int) -> list[int]:
        return list(b.op(op.name, *args, results=op.results, **attrs))

    builder.function("main", list(op.operands), body)
    return builder.graph


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - ELSEWHERE.keys()))
def test_as_jax(name: str) -> None:
    op = EXAMPLES[name]
    graph = graph_of(op)
    namespace: dict[str, Any] = {"__name__": "emitted"}
    exec(compile(backend.emit(graph), "emitted", "exec"), namespace)
    rng = np.random.default_rng(0)
    for kind in DOMAINS.get(name, KINDS):
        arrays = [argument(rng, type, kind) for type in op.operands]
        got = namespace["main"](*arrays)
        assert_computes(graph, arrays, got if isinstance(got, tuple) else [got], f"{name}, {kind}")

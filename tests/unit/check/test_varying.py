"""The varying and partial types of per-device code: what is accepted, what is not, and the text of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import dedent

import numpy as np
import pytest

from shardc.check.varying import Types, check_body
from shardc.explain.diagnostics import ShardcError, collecting, register_source
from shardc.graph import Dense, DotDims, Location, TensorType
from shardc.graph.build import GraphBuilder
from shardc.layout import Axis, Dim, Mesh, Sharding

MESH = Mesh("pod", (("i", 4), ("j", 2)))
I, J = MESH.axis("i"), MESH.axis("j")
MATMUL = DotDims(lhs_contracting=(1,), rhs_contracting=(0,))


def lay(*dims: Sequence[Axis] | None, partial: Sequence[Axis] = (), kind: str = "sum") -> Sharding:
    return Sharding(MESH, tuple(Dim(tuple(d or ())) for d in dims), unreduced=tuple(partial), kind=kind)


def f32(*shape: int) -> TensorType:
    return TensorType(shape, "f32")


def check(
    inputs: dict[str, tuple[TensorType, Sharding]],
    body: Callable[..., Sequence[int]],
    outputs: Sequence[tuple[TensorType, Sharding]],
    manual: tuple[str, ...] = ("i", "j"),
) -> dict[str, str]:
    """Check one manual computation; the types of its values that have a name, as text."""
    builder = GraphBuilder()
    builder.mesh(MESH)
    shardings = [sharding for _, sharding in inputs.values()]
    local = [t.with_shape(s.local_shape(t.shape)) for t, s in inputs.values()]

    def inner(b: GraphBuilder, *args: int) -> Sequence[int]:
        for arg, name in zip(args, inputs, strict=True):
            b.name(arg, name)
        return body(b, *args)

    def main(b: GraphBuilder, *args: int) -> Sequence[int]:
        return b.op(
            "sdy.manual_computation",
            *args,
            results=[t for t, _ in outputs],
            regions=[(local, inner)],
            in_shardings=tuple(shardings),
            out_shardings=tuple(s for _, s in outputs),
            manual_axes=manual,
        )

    builder.function("main", [t for t, _ in inputs.values()], main)
    node = next(n for n in builder.graph.main.body.nodes if n.name == "sdy.manual_computation")
    types = check_body(builder.graph, node)
    return {str(builder.graph.values[v].loc.name): types.text(v) for v in types if builder.graph.values[v].loc.name}


def zeros(b: GraphBuilder, *shape: int) -> int:
    return b.one("stablehlo.constant", result=f32(*shape), value=Dense(np.float32(0.0)[...], shape))


def ones(b: GraphBuilder, *shape: int) -> int:
    return b.one("stablehlo.constant", result=f32(*shape), value=Dense(np.float32(1.0)[...], shape))


AB = {"a": (f32(8, 16), lay([I], [J])), "b": (f32(16, 32), lay([J], None))}


def test_a_matmul_ended_by_a_psum():
    def body(b: GraphBuilder, a: int, w: int) -> list[int]:
        z = b.name(b.one("stablehlo.dot_general", a, w, dot_dimension_numbers=MATMUL), "z")
        return [b.name(b.one("spmd.all_reduce", z, axes=(J,), kind="sum"), "y")]

    assert check(AB, body, [(f32(8, 32), lay([I], None))]) == {
        "a": "f32[2, 8]{varies: i, j}",
        "b": "f32[8, 32]{varies: j}",
        "z": "f32[2, 32]{varies: i, j}",
        "y": "f32[2, 32]{varies: i}",
    }


def test_without_the_psum():
    register_source("basic.shard", "@shard_map\ndef basic(a, b):\n    z = a @ b\n    return z\n")

    def body(b: GraphBuilder, a: int, w: int) -> list[int]:
        with b.at(Location("basic.shard", 3, 9, "z")):
            return [b.one("stablehlo.dot_general", a, w, dot_dimension_numbers=MATMUL)]

    with pytest.raises(ShardcError) as error:
        check(AB, body, [(f32(8, 32), lay([I], None))])
    assert str(error.value) == dedent("""\
        basic.shard:3:9: error: result 1, f32[8@i, 32], is the same over j, but z: f32[2, 32]{varies: i, j} varies over j
                z = a @ b
                    ^
            note: psum over j first, or return the blocks joined, as `64@j`""")

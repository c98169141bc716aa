"""SBP signatures: those that OneFlow lists, and that every one of them computes the right thing."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph, Op, TensorType
from shardc.interpret.run import run
from shardc.layout import Mesh, Sharding
from shardc.layout.distribute import Array, assemble, distribute
from shardc.layout.notations.per_axis import Partial, Split, to_sharding
from shardc.layout.notations.sbp import component_text
from shardc.layout.slices import local_shapes
from shardc.rules.signatures import Signature, program_signatures, signatures
from tests.tolerance import assert_near

Shape = tuple[int, ...]


def graph_of(expression: str, *shapes: Shape) -> Graph:
    params = ", ".join(f"{name}: f64{list(shape)}" for name, shape in zip("xyz", shapes, strict=False))
    return snapshot(read(f"def main({params}):\n    return {expression}\n", "<test>", {}, None)).graph


def listed(expression: str, *shapes: Shape) -> list[str]:
    found = program_signatures(graph_of(expression, *shapes))
    return [" ".join(component_text(c) for c in (*s.operands, *s.results)) for s in found]


def test_matmul() -> None:
    expected = ["S(0) B S(0)", "B S(1) S(1)", "S(1) S(0) P", "P B P", "B P P", "B B B"]
    assert listed("x @ y", (4, 6), (6, 8)) == expected


def test_what_is_handed_on() -> None:
    """An operand that is the result, as repeat by ones is in the language, may be anything."""
    anything = ["S(0) S(0)", "S(1) S(1)", "P P", "B B"]
    for expression in ("repeat(x, 1, 1)", "expand(x, -1, 3)", "transpose(x, (0, 1))", "-x"):
        assert listed(expression, (4, 3)) == anything
    both = listed("(x, relu(y))", (4,), (6,))
    assert both == [f"{x} {y} {x} {y}" for x in ("S(0)", "P", "B") for y in ("S(0)", "B")]
    assert listed("(x, relu(x))", (4,)) == ["S(0) S(0) S(0)", "B B B"]


def test_batched_matmul() -> None:
    assert "S(0) S(0) S(0)" in listed("x @ y", (3, 4, 6), (3, 6, 8))


def test_partial_sums_flow_through_linear_use_only() -> None:
    x = (4, 6)
    assert [s for s in listed("x + y", x, x) if "P" in s] == ["P P P"]
    assert [s for s in listed("x - y", x, x) if "P" in s] == ["P P P"]
    assert [s for s in listed("x * y", x, x) if "P" in s] == ["P B P", "B P P"]
    assert [s for s in listed("x / y", x, x) if "P" in s] == ["P B P"]
    assert [s for s in listed("sum(x, axis=1)", x) if "P" in s] == ["S(1) P", "P P"]
    for expression in ("max(x, axis=1)", "min(x, axis=1)", "prod(x, axis=1)", "relu(x)", "exp(x)"):
        assert [s for s in listed(expression, x) if "P" in s] == []


def test_broadcasting_addition() -> None:
    assert listed("x + y", (4, 6), (4, 1)) == ["S(0) S(0) S(0)", "S(1) B S(1)", "P P P", "B B B"]


def test_reduced_dimensions_shift_those_after_them() -> None:
    assert listed("sum(x, axis=0)", (4, 6)) == ["S(0) P", "S(1) S(0)", "P P", "B B"]
    assert "S(1) S(1)" in listed("sum(x, axis=0, keepdims=True)", (4, 6))


def test_reshape_keeps_the_major_dimension_of_a_group() -> None:
    assert listed("reshape(x, (2, 3))", (6,)) == ["S(0) S(0)", "P P", "B B"]
    assert listed("reshape(x, (6,))", (2, 3)) == ["S(0) S(0)", "P P", "B B"]
    (split, *_) = program_signatures(graph_of("reshape(x, (6,))", (2, 3)))
    assert split.divides == 2


def test_a_repeated_dimension_cannot_be_split() -> None:
    assert listed("repeat(x, (2,))", (4,)) == ["P P", "B B"]
    assert listed("repeat(x, (3, 1, 1))", (4, 5)) == ["S(0) S(1)", "S(1) S(2)", "P P", "B B"]


def test_dimensions_that_appear_are_not_split() -> None:
    assert listed("expand(x, (2, 3))", (1, 1)) == ["P P", "B B"]


def test_kinds_other_than_sums() -> None:
    found = program_signatures(graph_of("max(x, axis=0)", (4, 6)), ("max", "min"))
    partial = [(s.operands[0], s.results[0]) for s in found if isinstance(s.results[0], Partial)]
    assert partial == [(Split(0), Partial("max")), (Partial("max"), Partial("max"))]


def test_what_has_no_rule_has_copies() -> None:
    op = Op("custom.unknown", (TensorType((4,), "f32"),), (TensorType((4,), "f32"),), {})
    assert [str(s.operands[0]) for s in signatures(op)] == ["Copy()"]


PROGRAMS: list[tuple[str, list[Shape]]] = [
    ("x @ y", [(4, 6), (6, 5)]),
    ("x @ y", [(3, 4, 6), (3, 6, 5)]),
    ("x + y", [(4, 6), (6,)]),
    ("x - y", [(4, 6), (4, 1)]),
    ("x * y", [(4, 6), (4, 6)]),
    ("x / y", [(4, 6), (4, 6)]),
    ("exp(x)", [(5,)]),
    ("relu(x @ y)", [(4, 6), (6, 5)]),
    ("sum(x, axis=0)", [(4, 6)]),
    ("max(x, axis=1, keepdims=True)", [(4, 6)]),
    ("softmax(x)", [(4, 6)]),
    ("transpose(x, (2, 0, 1))", [(3, 4, 5)]),
    ("expand(x, OUT)", [(4, 3, 1, 2)]),
    ("reshape(x, OUT)", [(4, 6)]),
    ('einsum("bsd,df->bsf", x, y)', [(2, 3, 4), (4, 5)]),
]
OUT = {"expand(x, OUT)": (2, 4, 3, 4, 2), "reshape(x, OUT)": (4, 2, 3)}


@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize(("expression", "shapes"), PROGRAMS, ids=lambda value: str(value))
def test_devices_compute_the_same(expression: str, shapes: list[Shape], devices: int) -> None:
    """Every device runs the operation on its own sizes; the results are blocks of the whole result."""
    out = OUT.get(expression, ())
    graph = graph_of(expression.replace("OUT", str(out)), *shapes)
    rng = np.random.default_rng(0)
    inputs: list[Array] = [rng.integers(1, 9, shape).astype(np.float64) for shape in shapes]
    (expected,) = run(graph, inputs)
    for signature in program_signatures(graph):
        if signature.divides and signature.divides % devices:
            continue
        got = on_devices(expression, signature, inputs, np.shape(expected), devices)
        assert_near(got, expected, terms=64, text=str(signature))


def on_devices(
    expression: str, signature: Signature, inputs: list[Array], shape: Shape, devices: int
) -> Array:
    mesh = Mesh("mesh", (("x", devices),))
    held = [
        spread(x, to_sharding([c], mesh, x.ndim)) for x, c in zip(inputs, signature.operands, strict=True)
    ]
    result = to_sharding([signature.results[0]], mesh, len(shape))
    sizes = local_shapes(result, shape, "balanced").tolist()
    blocks: dict[int, Array] = {}
    for device in range(devices):
        local = expression.replace("OUT", str(tuple(sizes[device])))
        operands = [blocks_of[device] for blocks_of in held]
        (blocks[device],) = run(graph_of(local, *(x.shape for x in operands)), operands)
    return assemble(blocks, result, "balanced")


def spread(x: Array, sharding: Sharding) -> dict[int, Array]:
    """The blocks; of partial sums every device has some."""
    held = distribute(x, sharding, "balanced")
    if sharding.unreduced:
        for device in list(held)[1:]:
            held[0] = held[0] - (device + 1)
            held[device] = held[device] + (device + 1)
    return held

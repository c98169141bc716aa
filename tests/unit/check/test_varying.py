"""The varying and partial types of per-device code: what is accepted, what is not, and the text of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder
from shardc.check.state import State
from shardc.check.varying import Checker, check_body
from shardc.diagnostics import ShardcError, collecting, register_source
from shardc.graph import Dense, DotDims, Location, Node, TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding

MESH = Mesh("pod", (("i", 4), ("j", 2)))
I, J = MESH.axis("i"), MESH.axis("j")  # noqa: E741
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
    builder: GraphBuilder | None = None,
) -> dict[str, str]:
    """Check one manual computation; the types of its values that have a name, as text."""
    builder = builder or GraphBuilder()
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
    return {
        str(builder.graph.values[v].loc.name): types.text(v)
        for v in types
        if builder.graph.values[v].loc.name
    }


def zeros(b: GraphBuilder, *shape: int) -> int:
    return b.one("stablehlo.constant", result=f32(*shape), value=Dense(np.array(0, np.float32), shape))


def ones(b: GraphBuilder, *shape: int) -> int:
    return b.one("stablehlo.constant", result=f32(*shape), value=Dense(np.array(1, np.float32), shape))


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
        basic.shard:3:9: error: the result, f32[8@i, 32], is the same over j, \
but z: f32[2, 32]{varies: i, j} varies over j
                z = a @ b
                    ^
            note: psum over j first, or return the blocks joined, as `64@j`""")


def told(inputs: object, body: object, outputs: object = (), **options: object) -> tuple[str, str | None]:
    """The message and the hint of the error that `check` raises."""
    with pytest.raises(ShardcError) as error:
        check(inputs, body, outputs, **options)  # type: ignore[arg-type]
    return error.value.diagnostic.message, error.value.diagnostic.hint


def warned(inputs: object, body: object, outputs: object) -> list[tuple[str, str | None]]:
    with collecting() as warnings:
        check(inputs, body, outputs)  # type: ignore[arg-type]
    return [(w.message, w.hint) for w in warnings]


def psum(b: GraphBuilder, x: int, *axes: Axis, kind: str = "sum") -> int:
    return b.one("spmd.all_reduce", x, axes=axes, kind=kind)


X = {"x": (f32(8, 32), lay([I], None, partial=[J]))}
XY = {**X, "y": (f32(8, 32), lay([I], None))}
MAX = {"m": (f32(8, 32), lay([I], None, partial=[J], kind="max")), "y": XY["y"]}
OUT = [(f32(8, 32), lay([I], None))]
PARTIAL = [(f32(8, 32), lay([I], None, partial=[J]))]
X_TEXT = "x: f32[2, 32]{varies: i; partial sum: j}"
Y_TEXT = "y: f32[2, 32]{varies: i}"


def once(b: GraphBuilder, y: int, kind: str = "sum") -> int:
    return b.one("spmd.to_partial", y, axes=(J,), kind=kind)


def local(b: GraphBuilder, y: int) -> int:
    return b.name(b.one("spmd.vary", y, axes=(J,)), "v")


# partial results


ACCEPTED = {
    "psum ends it": (XY, OUT, lambda b, x, y: [psum(b, x, J)]),
    "it may be returned": (XY, PARTIAL, lambda b, x, y: [x]),
    "linear": (XY, PARTIAL, lambda b, x, y: [b.one("stablehlo.negate", x)]),
    "times a whole": (XY, PARTIAL, lambda b, x, y: [b.one("stablehlo.multiply", x, y)]),
    "over a whole": (XY, PARTIAL, lambda b, x, y: [b.one("stablehlo.divide", x, y)]),
    "plus another": (XY, PARTIAL, lambda b, x, y: [b.one("stablehlo.add", x, x)]),
    "plus a whole that counts once": (XY, PARTIAL, lambda b, x, y: [b.one("stablehlo.add", x, once(b, y))]),
    "plus zeros": (XY, PARTIAL, lambda b, x, y: [b.one("stablehlo.add", x, zeros(b, 2, 32))]),
    "plus blocks declared to be terms": (
        XY,
        PARTIAL,
        lambda b, x, y: [
            b.one("stablehlo.add", x, b.one("spmd.as_partial", local(b, y), axes=(J,), kind="sum"))
        ],
    ),
    "local terms declared partial": (XY, PARTIAL, lambda b, x, y: [b.one("spmd.vary", y, axes=(J,))]),
    "other axes may move": (
        XY,
        [(f32(8, 32), lay(None, [I], partial=[J]))],
        lambda b, x, y: [b.one("spmd.all_to_all", x, axes=(I,), split_dim=1, concat_dim=0)],
    ),
    "psum_scatter ends it": (
        XY,
        [(f32(8, 32), lay([I], [J]))],
        lambda b, x, y: [b.one("spmd.reduce_scatter", x, axes=(J,), dim=1, kind="sum")],
    ),
    "a max passes exp": (
        MAX,
        OUT,
        lambda b, m, y: [psum(b, b.one("stablehlo.exponential", m), J, kind="max")],
    ),
    "and becomes a min": (MAX, OUT, lambda b, m, y: [psum(b, b.one("stablehlo.negate", m), J, kind="min")]),
    "a max of a whole": (
        MAX,
        OUT,
        lambda b, m, y: [psum(b, b.one("stablehlo.maximum", m, y), J, kind="max")],
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_partial_results_are_accepted(case: str):
    inputs, outputs, body = ACCEPTED[case]
    assert warned(inputs, body, outputs) == []


REFUSED = {
    "not linear": (
        XY,
        OUT,
        lambda b, x, y: [b.one("stablehlo.tanh", x)],
        f"tanh is not linear, but {X_TEXT} is a partial sum over j",
        "psum x over j first",
    ),
    "not monotone": (
        MAX,
        OUT,
        lambda b, m, y: [b.one("stablehlo.multiply", m, y)],
        "multiply is not monotone, but m: f32[2, 32]{varies: i; partial max: j} is a partial max over j",
        "pmax m over j first",
    ),
    "added to a whole": (
        XY,
        PARTIAL,
        lambda b, x, y: [b.one("stablehlo.add", x, y)],
        f"add combines a partial sum over j with a whole value: {X_TEXT}, {Y_TEXT}",
        "psum x over j first, or let one device alone count y: to_partial(y, j)",
    ),
    "plus what varies": (
        XY,
        PARTIAL,
        lambda b, x, y: [b.one("stablehlo.add", x, local(b, y))],
        "add combines a partial sum over j with a value that varies over j: "
        f"{X_TEXT}, v: f32[2, 32]{{varies: i, j}}",
        "psum x over j first, or declare v partial(sum: j) if its blocks are terms of the same sum",
    ),
    "declared to be terms, though it is the same": (
        XY,
        PARTIAL,
        lambda b, x, y: [b.name(b.one("spmd.as_partial", y, axes=(J,), kind="sum"), "t")],
        "t is declared a partial sum over j and is the same there, counted once per device",
        "leave j out of partial(…), or let one device keep it: to_partial(y, j)",
    ),
    "times what varies": (
        XY,
        PARTIAL,
        lambda b, x, y: [b.one("stablehlo.multiply", x, local(b, y))],
        "multiply combines a partial sum over j with a value that varies over j: "
        f"{X_TEXT}, v: f32[2, 32]{{varies: i, j}}",
        "psum x over j first",
    ),
    "squared": (
        XY,
        PARTIAL,
        lambda b, x, y: [b.one("stablehlo.multiply", x, x)],
        f"multiply of two partial results over j: {X_TEXT}, {X_TEXT}",
        "psum x over j first",
    ),
    "two kinds": (
        {**X, "m": MAX["m"]},
        PARTIAL,
        lambda b, x, m: [b.one("stablehlo.add", x, m)],
        f"add combines partial results of two kinds: {X_TEXT}, m: f32[2, 32]{{varies: i; partial max: j}}",
        "psum x over j and pmax m over j first",
    ),
    "reduced by another kind": (
        XY,
        OUT,
        lambda b, x, y: [psum(b, x, J, kind="max")],
        f"pmax over j of a partial sum: {X_TEXT}",
        "psum over j first",
    ),
    "gathered": (
        XY,
        OUT,
        lambda b, x, y: [b.one("spmd.all_gather", x, axes=(J,), dim=0, invariant=True)],
        f"all_gather over j of a partial sum over j: {X_TEXT}",
        "psum over j first",
    ),
    "returned as whole": (
        XY,
        OUT,
        lambda b, x, y: [x],
        f"the result, f32[8@i, 32], is whole over j, but {X_TEXT} is a partial sum over j",
        "psum over j first, or declare it partial(sum: j)",
    ),
    "returned as split": (
        XY,
        [(f32(8, 64), lay([I], [J]))],
        lambda b, x, y: [x],
        f"the result, f32[8@i, 64@j], is split over j, but {X_TEXT} is a partial sum over j",
        "psum_scatter over j first",
    ),
    "returned as another kind": (
        XY,
        [(f32(8, 32), lay([I], None, partial=[J], kind="max"))],
        lambda b, x, y: [x],
        f"the result, f32[8@i, 32], is partial(max: j), but {X_TEXT} is a partial sum over j",
        "declare it partial(sum: j)",
    ),
    "whole, returned as a partial sum": (
        XY,
        PARTIAL,
        lambda b, x, y: [y],
        f"the result, f32[8@i, 32], is partial(sum: j), but {Y_TEXT} is the same over j, "
        "so the sum counts it once per device",
        "leave j out of partial(…)",
    ),
    "made partial though it varies": (
        XY,
        PARTIAL,
        lambda b, x, y: [b.one("spmd.to_partial", y, axes=(I,), kind="sum")],
        f"to_partial over i keeps the value of one position, but the others differ: {Y_TEXT}",
        "only what is the same on all becomes partial so; blocks that differ are declared to be terms: "
        "t: f32[2, 32] partial(sum: i) = …",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_partial_results_are_refused(case: str):
    inputs, outputs, body, message, hint = REFUSED[case]
    assert told(inputs, body, outputs) == (message, hint)


def test_the_compiler_marks_local_products_as_partial():
    def body(b: GraphBuilder, a: int, w: int) -> list[int]:
        mark: dict[str, Any] = {"shardc.partial_over": ("j",)}
        z = b.one("stablehlo.dot_general", a, w, dot_dimension_numbers=MATMUL, **mark)
        return [b.one("stablehlo.tanh", b.name(z, "z"))]

    message, _ = told(AB, body, OUT)
    assert (
        message == "tanh is not linear, but z: f32[2, 32]{varies: i; partial sum: j} is a partial sum over j"
    )


def test_a_marked_reduction_has_its_own_kind():
    def body(b: GraphBuilder, x: int) -> list[int]:
        least = b.one("stablehlo.constant", result=f32(), value=Dense(np.array(-np.inf, np.float32), ()))
        combine = ([f32(), f32()], lambda b, p, q: [b.one("stablehlo.maximum", p, q)])
        mark: dict[str, Any] = {"shardc.partial_over": ("j",)}
        return b.op("stablehlo.reduce", x, least, regions=[combine], dimensions=(1,), **mark)

    inputs = {"x": (f32(8, 32), lay([I], [J]))}
    check(inputs, body, [(f32(8), lay([I], partial=[J], kind="max"))])
    message, _ = told(inputs, body, [(f32(8), lay([I]))])
    assert message == (
        "the result, f32[8@i], is whole over j, "
        "but the value: f32[2]{varies: i; partial max: j} is a partial max over j"
    )


# varying values


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda b, x: b.one("spmd.all_gather", x, axes=(I,), dim=0, invariant=True), "f32[8, 32]{same}"),
        (
            lambda b, x: b.one("spmd.all_gather", x, axes=(I,), dim=0, invariant=False),
            "f32[8, 32]{varies: i}",
        ),
        (lambda b, x: b.one("spmd.all_slice", x, axes=(J,), dim=1), "f32[2, 16]{varies: i, j}"),
        (
            lambda b, x: b.one("spmd.collective_permute", x, axes=(J,), pairs=((0, 1),)),
            "f32[2, 32]{varies: i, j}",
        ),
        (lambda b, x: psum(b, x, I), "f32[2, 32]{same}"),
        (lambda b, x: b.one("spmd.reduce_scatter", x, axes=(I,), dim=1, kind="sum"), "f32[2, 8]{varies: i}"),
        (lambda b, x: b.one("spmd.axis_index", axes=(J, I)), "i32[]{varies: i, j}"),
        (lambda b, x: ones(b, 2), "f32[2]{same}"),
        (lambda b, x: psum(b, x, Axis("i", 2)), "f32[2, 32]{varies: i:(2)2}"),
        (lambda b, x: b.one("spmd.vary", x, axes=(J,)), "f32[2, 32]{varies: i, j}"),
    ],
)
def test_what_operations_make_of_a_block_split_over_i(build: Callable[..., int], text: str):
    def body(b: GraphBuilder, x: int) -> list[int]:
        b.name(build(b, x), "made")
        return []

    assert check({"x": (f32(8, 32), lay([I], None))}, body, [])["made"] == text


def test_sub_axes_that_have_no_common_refinement():
    mesh = Mesh("six", (("i", 6),))

    def body(b: GraphBuilder, x: int) -> list[int]:
        b.one("spmd.vary", x, axes=(Axis("i", 2),))
        return [b.one("spmd.vary", x, axes=(Axis("i", 3),))]

    type = (f32(6), Sharding(mesh, (Dim((mesh.axis("i"),)),)))
    message, _ = told({"x": type}, body, [type])
    assert message == "parts of axis i end at 2 and 3 of 6: they overlap"


@pytest.mark.parametrize(
    ("sharding", "shape", "hint"),
    [
        (lay(None, None), (8, 32), "psum over i, j first, or return the blocks joined, as `256@(i, j)`"),
        (lay([I], None), (8, 32), "psum over j first, or return the blocks joined, as `64@j`"),
        (lay([I], [J]), (8, 64), None),
        (lay(None, [J]), (2, 64), "psum over i first, or return the blocks joined, as `8@i`"),
        (lay([J], [I]), (4, 128), None),
    ],
)
def test_untiling_needs_the_same_value(sharding: Sharding, shape: tuple[int, ...], hint: str | None):
    inputs = {"x": (f32(8, 64), lay([I], [J]))}
    if hint is None:
        check(inputs, lambda b, x: [x], [(f32(*shape), sharding)])
    else:
        assert told(inputs, lambda b, x: [x], [(f32(*shape), sharding)])[1] == hint


def test_a_scalar_that_varies():
    inputs = {"x": (f32(4, 2), lay([I], [J]))}
    message, hint = told(
        inputs, lambda b, x: [b.name(b.one("stablehlo.reshape", x, result=f32()), "s")], [(f32(), lay())]
    )
    assert message == "the result, f32[], is the same over i, j, but s: f32[]{varies: i, j} varies over i, j"
    assert hint == "psum over i, j first; a scalar cannot be split, but reshape(x, (1,)) can, as `8@(i, j)`"


def test_reducing_what_is_the_same():
    assert warned(XY, lambda b, x, y: [psum(b, y, J)], OUT) == [
        (
            f"psum over j of a value that is the same over j, so it becomes 2 times as large: {Y_TEXT}",
            "leave j out of the psum",
        )
    ]
    assert warned(XY, lambda b, x, y: [psum(b, y, J, kind="max")], OUT) == [
        (
            f"pmax over j of a value that is the same over j, so nothing changes: {Y_TEXT}",
            "leave j out of the pmax",
        )
    ]


def test_where_jax_has_an_operation_is_no_name():
    body = lambda b, x, y: [psum(b, b.name(b.one("stablehlo.negate", y), "jit(step)/neg"), J)]  # noqa: E731
    ((message, _),) = warned(XY, body, OUT)
    assert "2 times as large: operand 1: f32" in message


def test_an_axis_that_is_not_manual():
    body = lambda b, x: [psum(b, x, I)]  # noqa: E731
    assert told({"x": (f32(8), lay([J]))}, body, [(f32(8), lay([J]))], manual=("j",)) == (
        "all_reduce over i, which this code is not written per device of",
        "it is written over j",
    )


# control flow


def loop(b: GraphBuilder, carried: Sequence[int], body: Callable[..., Sequence[int]]) -> list[int]:
    """while s < 3: s, … = s + 1, body(…)"""
    types = [f32(), *(b.type_of(v) for v in carried)]

    def go_on(b: GraphBuilder, s: int, *rest: int) -> list[int]:
        return [b.one("stablehlo.compare", s, ones(b), comparison_direction="LT")]

    def turn(b: GraphBuilder, s: int, *rest: int) -> list[int]:
        return [b.one("stablehlo.add", s, ones(b)), *body(b, *rest)]

    return b.op("stablehlo.while", zeros(b), *carried, regions=[(types, go_on), (types, turn)])[1:]


def test_a_loop_may_make_a_carried_value_vary():
    def turn(b: GraphBuilder, p: int, q: int) -> list[int]:
        return [b.one("stablehlo.add", p, q), b.one("spmd.vary", q, axes=(J,))]

    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        p, q = loop(b, [y, y], turn)
        b.name(p, "p")
        return [b.one("spmd.all_reduce", q, axes=(J,), kind="sum")]

    assert check(XY, body, OUT)["p"] == "f32[2, 32]{varies: i, j}"


def test_a_loop_may_sum_what_varies_from_the_second_turn_on():
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        def turn(b: GraphBuilder, p: int) -> list[int]:
            term = b.one("spmd.as_partial", p, axes=(J,), kind="sum")
            return [b.one("stablehlo.multiply", x, psum(b, term, J))]

        return [psum(b, b.name(loop(b, [y], turn)[0], "p"), J)]

    inputs = {"x": (f32(8, 64), lay([I], [J])), "y": XY["y"]}
    assert check(inputs, body, OUT)["p"] == "f32[2, 32]{varies: i, j}"


def test_a_loop_may_not_declare_a_sum_of_what_never_varies():
    turn = lambda b, p: [psum(b, b.one("spmd.as_partial", p, axes=(J,), kind="sum"), J)]  # noqa: E731
    message, _ = told(XY, lambda b, x, y: loop(b, [y], turn), OUT)
    assert message.endswith("is declared a partial sum over j and is the same there, counted once per device")


def test_a_loop_in_loops_is_looked_at_where_what_it_begins_with_changes(monkeypatch: pytest.MonkeyPatch):
    looked, plainly = [0], Checker.node

    def node(self: Checker, node: Node) -> list[State]:
        looked[0] += node.name == "stablehlo.sine"
        return plainly(self, node)

    def nest(b: GraphBuilder, p: int, q: int, depth: int) -> list[int]:
        if not depth:
            return [b.one("stablehlo.add", p, b.one("stablehlo.sine", q)), b.one("spmd.vary", q, axes=(J,))]
        return loop(b, [p, q], lambda b, p, q: nest(b, p, q, depth - 1))

    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        p, q = nest(b, y, y, 8)
        b.name(p, "p")
        return [psum(b, q, J)]

    monkeypatch.setattr(Checker, "node", node)
    assert check(XY, body, OUT)["p"] == "f32[2, 32]{varies: i, j}"
    assert looked[0] < 40  # three times in each of eight loops are 6,561


def test_warnings_in_a_loop_speak_of_its_settled_types():
    def turn(b: GraphBuilder, p: int) -> list[int]:
        return [b.one("spmd.vary", psum(b, p, J), axes=(J,))]

    assert warned(XY, lambda b, x, y: [psum(b, loop(b, [y], turn)[0], J)], OUT) == []


def test_a_loop_may_carry_a_partial_sum_from_zero():
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        return loop(b, [zeros(b, 2, 32)], lambda b, p: [b.one("stablehlo.add", p, x)])

    check(XY, body, PARTIAL)


def test_a_loop_may_not_turn_a_whole_value_into_a_partial_sum():
    message, hint = told(XY, lambda b, x, y: loop(b, [y], lambda b, p: [x]), PARTIAL)
    assert message == "y is {varies: i} where the loop starts and {varies: i; partial sum: j} after a turn"
    assert hint == "psum over j what it is after a turn"


def test_devices_do_not_wait_for_others_that_went_another_way():
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        regions = [([], lambda b: [psum(b, x, J)]), ([], lambda b: [y])]
        on = b.one("spmd.axis_index", axes=(J,))
        return b.op("stablehlo.case", on, results=[b.type_of(y)], regions=regions)

    message, hint = told(XY, body, OUT)
    assert message == (
        "psum over j waits for all devices along j, and only some devices come here: "
        "what decides varies over j"
    )
    assert hint == "decide by a value that is the same over j: pmax it over j first"


def test_devices_may_wait_for_others_that_go_the_same_way():
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        regions = [([], lambda b: [b.one("spmd.vary", psum(b, x, J), axes=(I,))]), ([], lambda b: [y])]
        on = b.one("spmd.axis_index", axes=(I,))
        return b.op("stablehlo.case", on, results=[b.type_of(y)], regions=regions)

    check(XY, body, OUT)


def choose(b: GraphBuilder, on: int, *values: int) -> int:
    regions = [([], lambda b, v=v: [v]) for v in values]
    return b.op("stablehlo.case", on, results=[b.type_of(values[0])], regions=regions)[0]


def test_a_branch_taken_by_some_devices_gives_a_varying_result():
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        b.name(choose(b, b.one("spmd.axis_index", axes=(J,)), y, y), "c")
        return []

    assert check(XY, body, [])["c"] == "f32[2, 32]{varies: i, j}"


def test_a_branch_taken_by_some_devices_gives_no_partial_result():
    message, _ = told(XY, lambda b, x, y: [choose(b, b.one("spmd.axis_index", axes=(J,)), x, x)], PARTIAL)
    assert message == "switch depends on a value that varies over j, and its result is partial over it"


def test_a_partial_result_decides_nothing():
    inputs = {"k": (TensorType((), "i32"), lay(partial=[J])), "y": XY["y"]}
    message, hint = told(inputs, lambda b, k, y: [choose(b, k, y, y)], OUT)
    assert (
        message
        == "what switch decides by must be whole, but k: i32[]{partial sum: j} is a partial sum over j"
    )
    assert hint == "psum k over j first"


def test_functions_are_checked_with_the_types_of_their_arguments():
    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        return b.op("func.call", x, callee="twice")

    def twice(b: GraphBuilder, x: int) -> list[int]:
        return [b.one("stablehlo.add", x, x)]

    builder = GraphBuilder()
    builder.function("twice", [f32(2, 32)], twice, public=False)
    check(XY, body, PARTIAL, builder=builder)


def test_a_manual_computation_in_another():
    def inner(b: GraphBuilder, x: int) -> list[int]:
        return [psum(b, x, J)]

    def body(b: GraphBuilder, x: int) -> list[int]:
        split, whole = lay(None, [J]), lay(None, None)
        made = b.op(
            "sdy.manual_computation",
            x,
            results=[f32(2, 16)],
            regions=[([f32(2, 16)], inner)],
            in_shardings=(split,),
            out_shardings=(whole,),
            manual_axes=("j",),
        )
        return [b.name(made[0], "made")]

    inputs = {"x": (f32(8, 32), lay([I], None))}
    assert (
        check(inputs, body, [(f32(8, 16), lay([I], None))], manual=("i",))["made"] == "f32[2, 16]{varies: i}"
    )


# StableHLO's own collectives


def test_replica_groups_are_axes():
    def body(b: GraphBuilder, x: int) -> list[int]:
        groups = Dense(np.array([[0, 1], [2, 3], [4, 5], [6, 7]]), (4, 2))
        combine = ([f32(), f32()], lambda b, p, q: [b.one("stablehlo.add", p, q)])
        return b.op("stablehlo.all_reduce", x, results=[f32(2, 16)], regions=[combine], replica_groups=groups)

    check({"x": (f32(8, 32), lay([I], [J]))}, body, [(f32(8, 16), lay([I], None))])


def test_replica_groups_that_are_no_axes():
    def body(b: GraphBuilder, x: int) -> list[int]:
        groups = Dense(np.array([[0, 3], [1, 2], [4, 5], [6, 7]]), (4, 2))
        return b.op("stablehlo.all_gather", x, results=[f32(4, 16)], all_gather_dim=0, replica_groups=groups)

    message, _ = told({"x": (f32(8, 32), lay([I], [J]))}, body, [(f32(16, 16), lay([I], None))])
    assert message == "the groups of all_gather are not the devices that differ along some mesh axes"


@pytest.mark.parametrize(
    ("divisor", "modulus", "text"),
    [
        (2, 4, "i32[]{varies: i}"),
        (1, 2, "i32[]{varies: j}"),
        (1, 8, "i32[]{varies: i, j}"),
        (8, 2, "i32[]{same}"),
    ],
)
def test_axis_index_as_jax_prints_it(divisor: int, modulus: int, text: str):
    u32 = TensorType((), "u32")

    def number(b: GraphBuilder, value: int) -> int:
        return b.one("stablehlo.constant", result=u32, value=Dense(np.array(value, np.uint32), ()))

    def body(b: GraphBuilder, x: int) -> list[int]:
        device = b.one("stablehlo.partition_id", result=u32)
        place = b.one("stablehlo.divide", device, number(b, divisor))
        place = b.one("stablehlo.remainder", place, number(b, modulus))
        b.name(b.one("stablehlo.convert", place, result=TensorType((), "i32")), "index")
        return []

    assert check({"x": (f32(8, 32), lay([I], [J]))}, body, [])["index"] == text


def test_floats_of_a_device_number_are_not_computed():
    def body(b: GraphBuilder, x: int) -> list[int]:
        device = b.one("stablehlo.partition_id", result=TensorType((), "u32"))
        real = b.one("stablehlo.convert", device, result=f32())
        b.name(b.one("stablehlo.divide", real, ones(b)), "quotient")
        return []

    assert check({"x": (f32(8, 32), lay([I], [J]))}, body, [])["quotient"] == "f32[]{varies: i, j}"


def test_a_loop_counter_is_not_known():
    def turn(b: GraphBuilder, k: int, p: int) -> list[int]:
        one = b.one(
            "stablehlo.constant", result=TensorType((), "i32"), value=Dense(np.array(1, np.int32), ())
        )
        return [b.one("stablehlo.add", k, one), b.one("stablehlo.add", p, p)]

    def body(b: GraphBuilder, x: int, y: int) -> list[int]:
        zero = b.one(
            "stablehlo.constant", result=TensorType((), "i32"), value=Dense(np.array(0, np.int32), ())
        )
        return [loop(b, [zero, y], turn)[1]]

    check(XY, body, OUT)

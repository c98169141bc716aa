"""Lockstep execution on many devices: collectives, blocks, control flow that devices don't agree on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardc.analysis.build import GraphBuilder
from shardc.diagnostics import ShardcError
from shardc.graph import Dense, DotDims, TensorType
from shardc.graph.types import Location
from shardc.interpret.collectives import Place
from shardc.interpret.run import run
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.semantics.blocks import BlockError, assemble, cut, groups
from tests.builders import BlocksBuilder
from tests.sampling import examples
from tests.tolerance import assert_product

MESH = Mesh("pod", (("x", 2), ("y", 4)))
X, Y = MESH.axis("x"), MESH.axis("y")
I32, BOOL = TensorType((), "i32"), TensorType((), "bool")


def single(values):
    return np.array(values, np.float32)


def f32(*shape):
    return TensorType(shape, "f32")


def on(mesh, *dims, unreduced=(), kind="sum"):
    return Sharding(mesh, tuple(Dim(tuple(axes)) for axes in dims), unreduced=tuple(unreduced), kind=kind)


def manual(types, ins, outs, results, body, axes=("x", "y")):
    """main with one manual computation."""
    builder = GraphBuilder()
    locals_ = [t.with_shape(s.local_shape(t.shape)) for t, s in zip(types, ins, strict=True)]

    def main(b, *args):
        with b.at(Location("prog.shard", 7, 3)):
            return b.op(
                "sdy.manual_computation",
                *args,
                results=results,
                regions=[(locals_, body)],
                in_shardings=tuple(ins),
                out_shardings=tuple(outs),
                manual_axes=axes,
            )

    builder.function("main", types, main)
    return builder.graph


def test_groups_go_over_parts_of_axes():
    assert groups(MESH, (Y,)) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert groups(MESH, (X,)) == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert groups(MESH, (Y, X))[0] == (0, 4, 1, 5, 2, 6, 3, 7)
    assert groups(MESH, (Axis("y", 2, 1),))[0] == (0, 2)
    assert groups(MESH, (Axis("y", 2, 2),))[0] == (0, 1)


def test_cut_pads_uneven_blocks_and_shares_copies():
    array = np.arange(10.0).reshape(5, 2)
    blocks = cut(array, on(MESH, [Y], []))
    assert [block.shape for block in blocks] == [(2, 2)] * 8
    np.testing.assert_array_equal(blocks[2], [[8, 9], [0, 0]])
    np.testing.assert_array_equal(blocks[3], np.zeros((2, 2)))
    assert blocks[0] is blocks[4]


@pytest.mark.parametrize(("kind", "other"), [("sum", 0), ("max", -np.inf), ("min", np.inf)])
def test_cut_of_an_unreduced_sharding_puts_the_value_on_position_0(kind, other):
    blocks = cut(single([1, 2]), on(MESH, [], unreduced=[X], kind=kind))
    np.testing.assert_array_equal(blocks[3], [1, 2])
    np.testing.assert_array_equal(blocks[4], [other, other])


def axes_lists():
    pieces = [Axis("x", 2), Axis("y", 2, 1), Axis("y", 2, 2)]
    return st.permutations(pieces).flatmap(
        lambda order: st.lists(st.integers(0, 3), min_size=3, max_size=3).map(lambda where: (order, where))
    )


@given(
    axes_lists(), st.lists(st.integers(0, 9), min_size=2, max_size=2), st.sampled_from(["sum", "max", "min"])
)
@settings(max_examples=examples(200), deadline=None)
def test_assemble_undoes_cut(placed, shape, kind):
    order, where = placed
    dims = [[axis for axis, at in zip(order, where, strict=True) if at == dim] for dim in (0, 1)]
    partial = [axis for axis, at in zip(order, where, strict=True) if at == 2]
    sharding = on(MESH, *dims, unreduced=partial, kind=kind)
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(assemble(cut(array, sharding), sharding, tuple(shape)), array)


def test_assemble_names_devices_that_disagree():
    blocks = [single([1])] * 7 + [single([2])]
    with pytest.raises(
        BlockError, match=r"x=0, y=0 and x=1, y=3 hold different values .*: 1.0 and 2.0 at .0."
    ):
        assemble(blocks, on(MESH, []), (1,))
    assert assemble(blocks, on(MESH, []), (1,), check=False) == 1


def test_copies_of_nan_agree():
    assert np.isnan(assemble([single([np.nan]) for _ in range(8)], on(MESH, []), (1,)))


def blocks_of(array, *dims):
    return cut(array, on(MESH, *dims))


ARRAY = np.arange(64, dtype=np.float32).reshape(8, 8)


def builder():
    return BlocksBuilder(Place(MESH, tuple(range(8))))


def whole(blocks, shape, *dims):
    return assemble(blocks, on(MESH, *dims), shape)


def test_all_reduce_makes_the_sum_of_blocks():
    result = builder().one("spmd.all_reduce", blocks_of(ARRAY, [X], [Y]), axes=(Y,), kind="sum")
    np.testing.assert_array_equal(whole(result, (8, 2), [X], []), ARRAY.reshape(8, 4, 2).sum(1))
    assert result[0] is result[3]


def test_work_on_copies_is_done_once():
    b = builder()
    total = b.one("spmd.all_reduce", blocks_of(ARRAY, [X], [Y]), axes=(Y, X), kind="max")
    negative = b.one("stablehlo.negate", total)
    assert len({id(block) for block in negative}) == 1


@pytest.mark.parametrize("axes", [(X,), (Y,), (X, Y), (Y, X), (Axis("y", 2, 1),), (Axis("y", 2, 2), X)])
def test_all_gather_undoes_all_slice(axes):
    b = builder()
    sliced = b.one("spmd.all_slice", [ARRAY] * 8, axes=axes, dim=1)
    np.testing.assert_array_equal(whole(sliced, (8, 8), [], list(axes)), ARRAY)
    gathered = b.one("spmd.all_gather", sliced, axes=axes, dim=1, invariant=True)
    assert all(np.array_equal(block, ARRAY) for block in gathered)


def test_reduce_scatter_is_all_reduce_and_slice():
    b, blocks = builder(), blocks_of(ARRAY, [], [X])
    scattered = b.one("spmd.reduce_scatter", blocks, axes=(X, Y), dim=0, kind="sum")
    reduced = b.one("spmd.all_reduce", blocks, axes=(X, Y), kind="sum")
    expected = b.one("spmd.all_slice", reduced, axes=(X, Y), dim=0)
    assert all(np.array_equal(a, e) for a, e in zip(scattered, expected, strict=True))


def test_all_to_all_moves_an_axis_between_dimensions():
    moved = builder().one(
        "spmd.all_to_all", blocks_of(ARRAY, [X, Y], []), axes=(Y,), split_dim=1, concat_dim=0
    )
    np.testing.assert_array_equal(whole(moved, (8, 8), [X], [Y]), ARRAY)


def test_collective_permute_leaves_zeros_without_a_source():
    permuted = builder().one(
        "spmd.collective_permute", blocks_of(ARRAY, [Y], []), axes=(Y,), pairs=((0, 1), (1, 3))
    )
    expected = np.zeros_like(ARRAY)
    expected[2:4], expected[6:8] = ARRAY[0:2], ARRAY[2:4]
    np.testing.assert_array_equal(whole(permuted, (8, 8), [Y], []), expected)


def test_to_partial_and_all_reduce_give_the_value_back():
    b = builder()
    for kind in ("sum", "max", "min"):
        partial = b.one("spmd.to_partial", [ARRAY] * 8, axes=(Y,), kind=kind)
        back = b.one("spmd.all_reduce", partial, axes=(Y,), kind=kind)
        assert all(np.array_equal(block, ARRAY) for block in back)


def test_axis_index_is_row_major_over_the_axes():
    index = builder().one("spmd.axis_index", axes=(Y, X))
    assert [int(i) for i in index] == [0, 2, 4, 6, 1, 3, 5, 7]


def test_a_manual_matmul_with_partial_results():
    ins = [on(MESH, [], [Y]), on(MESH, [Y], [X])]
    dims = DotDims(lhs_contracting=(1,), rhs_contracting=(0,))

    def body(b, x, w):
        return [b.one("stablehlo.dot_general", x, w, dot_dimension_numbers=dims)]

    out = on(MESH, [], [X], unreduced=[Y])
    graph = manual([f32(4, 8), f32(8, 6)], ins, [out], [f32(4, 6)], body)
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    w = np.random.default_rng(1).standard_normal((8, 6)).astype(np.float32)
    assert_product(run(graph, [x, w])[0], x, w)


def test_a_missing_psum_is_found_at_its_line():
    graph = manual([f32(8)], [on(MESH, [Y])], [on(MESH, [])], [f32(2)], lambda b, x: [x])
    with pytest.raises(ShardcError, match=r"prog\.shard:7:3: error: .*x=0, y=0 and x=0, y=1 hold"):
        run(graph, [np.arange(8, dtype=np.float32)])
    np.testing.assert_array_equal(run(graph, [np.arange(8, dtype=np.float32)], check=False)[0], [0, 1])


def test_manual_over_one_axis_sees_the_rest_whole():
    def body(b, x):
        return [b.one("spmd.all_reduce", x, axes=(X,), kind="sum")]

    builder = GraphBuilder()
    builder.function(
        "main",
        [f32(4, 8)],
        lambda b, a: b.op(
            "sdy.manual_computation",
            a,
            results=[f32(2, 8)],
            regions=[([f32(2, 8)], body)],
            in_shardings=(on(MESH, [X], [Y]),),
            out_shardings=(on(MESH, [], [Y]),),
            manual_axes=("x",),
        ),
    )
    array = np.arange(32, dtype=np.float32).reshape(4, 8)
    np.testing.assert_array_equal(run(builder.graph, [array])[0], array[:2] + array[2:])


def loop(communicates):
    """Each device counts up to its own position; with a collective in the loop if asked."""

    def body(b, x):
        index = b.one("spmd.axis_index", axes=(X, Y))
        one = b.one("stablehlo.constant", value=dense(1))

        def step(b, i):
            i = b.one("stablehlo.add", i, one)
            return [b.one("spmd.all_reduce", i, axes=(X,), kind="max") if communicates else i]

        start = b.one("stablehlo.constant", value=dense(0))
        (count,) = b.op(
            "stablehlo.while",
            start,
            regions=[
                ([I32], lambda b, i: [b.one("stablehlo.compare", i, index, comparison_direction="LT")]),
                ([I32], step),
            ],
        )
        return [
            b.one(
                "stablehlo.broadcast_in_dim", count, result=TensorType((1,), "i32"), broadcast_dimensions=()
            )
        ]

    eight = TensorType((8,), "i32")
    return manual([eight], [on(MESH, [X, Y])], [on(MESH, [X, Y])], [eight], body)


def dense(value):
    return Dense(np.asarray(value, np.int32), ())


def test_devices_may_loop_differently_without_communication():
    np.testing.assert_array_equal(run(loop(False), [np.zeros(8, np.int32)])[0], range(8))


def test_devices_that_part_ways_before_a_collective_are_an_error_at_its_line():
    with pytest.raises(ShardcError, match=r"prog\.shard:7:3: error: only some devices go on in this loop"):
        run(loop(True), [np.zeros(8, np.int32)])


def test_branches_are_taken_by_each_device():
    def body(b, x):
        index = b.one("spmd.axis_index", axes=(Y,))
        return b.op(
            "stablehlo.case",
            index,
            regions=[([], lambda b: [x]), ([], lambda b: [b.one("stablehlo.negate", x)])],
        )

    graph = manual([f32(8)], [on(MESH, [Y])], [on(MESH, [Y])], [f32(8)], body)
    array = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(run(graph, [array])[0], [0, 1, -2, -3, -4, -5, -6, -7])


def test_trace_sees_every_node_and_all_devices():
    seen = []
    graph = manual(
        [f32(8)], [on(MESH, [Y])], [on(MESH, [Y])], [f32(8)], lambda b, x: [b.one("stablehlo.negate", x)]
    )
    run(graph, [np.ones(8, np.float32)], trace=lambda node, values: seen.append((node.name, len(values[0]))))
    assert seen == [("stablehlo.negate", 8), ("sdy.manual_computation", 1)]


def test_wrong_inputs_are_refused():
    graph = manual([f32(8)], [on(MESH, [Y])], [on(MESH, [Y])], [f32(8)], lambda b, x: [x])
    with pytest.raises(ValueError, match=r"argument 0 of main is f32\[8\], got int32\[8\]"):
        run(graph, [np.ones(8, np.int32)])
    with pytest.raises(ValueError, match="takes 1 arrays, got 0"):
        run(graph, [])


def test_unknown_operations_are_an_error():
    builder = GraphBuilder()
    builder.function("main", [], lambda b: b.op("stablehlo.custom_call", results=[I32], call_target_name="f"))
    with pytest.raises(ShardcError, match="custom_call @f cannot be run"):
        run(builder.graph, [])

"""Assignments: what they make of tensors, what makes them illegal, and how to read them off shardings."""

from itertools import product

import pytest

from shardc.graph import DotDims, Op, TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.ops import rule_of
from shardc.rules.assign import operand_shardings, project, result_shardings
from shardc.rules.legal import always_legal, legal

MESH = Mesh("mesh", (("x", 2), ("y", 8), ("z", 3)))
X, Y, Z = Axis("x", 2), Axis("y", 8), Axis("z", 3)


def tensor(*shape):
    return TensorType(shape, "f32")


def ruled(op):
    rule = rule_of(op)
    assert rule is not None
    return op, rule


def matmul(m=8, k=16, n=24):
    dims = DotDims((), (), (1,), (0,))
    op = Op(
        "stablehlo.dot_general",
        (tensor(m, k), tensor(k, n)),
        (tensor(m, n),),
        {"dot_dimension_numbers": dims},
    )
    return ruled(op)


def reshape(source, target):
    return ruled(Op("stablehlo.reshape", (tensor(*source),), (tensor(*target),), {}))


def reduce_sum(*shape, kind="sum"):
    op = Op("stablehlo.reduce", (tensor(*shape), tensor()), (tensor(shape[0]),), {"dimensions": (1,)}, kind)
    return ruled(op)


def sharding(*dims, unreduced=()):
    return Sharding(MESH, tuple(Dim(axes) for axes in dims), unreduced=unreduced)


def test_contraction_leaves_a_partial_sum():
    _, rule = matmul()
    assignment = ((X,), (), (Y,))  # i, j, k
    assert operand_shardings(rule, assignment, MESH) == (sharding((X,), (Y,)), sharding((Y,), ()))
    assert result_shardings(rule, assignment, MESH) == (sharding((X,), (), unreduced=(Y,)),)


def test_partials_flow_through_one_side_of_a_product():
    _, rule = matmul()
    assignment = ((X,), (), ())
    group = frozenset({1})
    assert operand_shardings(rule, assignment, MESH, (Y,), group) == (
        sharding((X,), ()),
        sharding((), (), unreduced=(Y,)),
    )
    assert result_shardings(rule, assignment, MESH, (Y,), group) == (sharding((X,), (), unreduced=(Y,)),)


def test_partials_do_not_flow_through_both_sides_or_as_maxima():
    _, rule = matmul()
    with pytest.raises(ValueError, match=r"\[0, 1\] let no partial sum through"):
        operand_shardings(rule, ((),) * 3, MESH, (Y,), frozenset({0, 1}))
    with pytest.raises(ValueError, match="no partial max"):
        result_shardings(rule, ((),) * 3, MESH, (Y,), frozenset({0}), "max")


def test_what_a_sum_starts_from_counts_once():
    _, rule = reduce_sum(8, 16)
    assert operand_shardings(rule, ((), (Y,)), MESH)[1] == sharding(unreduced=(Y,))
    _, rule = reduce_sum(8, 16, kind="max")
    assert operand_shardings(rule, ((), (Y,)), MESH)[1] == sharding()


def test_merged_dimensions_concatenate_axes():
    _, rule = reshape((8, 4), (32,))
    parts = ((X, Axis("y", 4)), (Axis("y", 2, 4),))
    assert result_shardings(rule, parts, MESH) == (sharding((X, Y)),)


@pytest.mark.parametrize(
    ("case", "assignment", "reason"),
    [
        (matmul(), ((X,), (), (Y,)), None),
        (matmul(), ((X,), (X,), ()), "axis x splits factors i and j"),
        (matmul(), ((Axis("y", 4), Axis("y", 4, 2)), (), ()), "axis y splits factor i twice"),
        (matmul(m=7), ((X,), (), ()), None),
        (reshape((4, 3), (12,)), ((X,), ()), None),
        (reshape((4, 3), (12,)), ((Z,), ()), "factor i of size 4 is split into 3 and shares a dimension"),
        (reshape((2, 4), (8,)), ((X,), (Axis("y", 4),)), None),
        (reshape((4, 4), (16,)), ((X,), (Y,)), "factor j of size 4 is split into 8 and shares a dimension"),
        (reshape((4, 8), (32,)), ((X,), (Y,)), "factor j is split, but i, major to it, is not fully split"),
        (reduce_sum(8, 4, kind="prod"), ((), (X,)), "no combination that an all-reduce knows"),
    ],
)
def test_legal(case, assignment, reason):
    op, rule = case
    found = legal(rule, op, assignment)
    assert (found is None) if reason is None else (found is not None and reason in found)


@pytest.mark.parametrize(
    ("case", "easy"),
    [
        (matmul(m=7), (True, True, True)),
        (reshape((4, 3), (12,)), (False, False)),
        (reduce_sum(8, 4, kind="prod"), (True, False)),
    ],
)
def test_what_is_always_legal_is_legal(case, easy):
    op, rule = case
    assert always_legal(rule, op) == easy
    for assignment in product([(), (X,), (Axis("y", 4),), (Z, Axis("y", 2, 4))], repeat=len(easy)):
        used = [axis for axes in assignment for axis in axes]
        if len({axis.name for axis in used}) == len(used):
            if all(easy[factor] for factor, axes in enumerate(assignment) if axes):
                assert legal(rule, op, assignment) is None


def test_need_of_other_devices_data_is_named():
    op, rule = ruled(Op("stablehlo.reverse", (tensor(8),), (tensor(8),), {"dimensions": (0,)}))
    assert legal(rule, op, ((X,),)) == "factor i is split over x, but needs data of other devices"


def test_projection_splits_an_axis_between_factors():
    _, rule = reshape((8, 4), (32,))
    found = project(rule.results[0], sharding((X, Y)), rule)
    assert found.axes == {0: (X, Axis("y", 4)), 1: (Axis("y", 2, 4),)}
    assert not found.overflow


def test_projection_overflows_where_sizes_share_nothing():
    _, rule = reshape((8, 4), (32,))
    found = project(rule.results[0], sharding((X, Z, Y)), rule)
    assert found.axes == {0: (X,), 1: ()}
    assert found.overflow == {0: (Z, Y)}

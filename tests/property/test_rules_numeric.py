"""What rules claim, computed: all devices' blocks and partial results make up the global result.

Each operation runs in NumPy, once as a whole and once per device, with small whole numbers (exact sums).
Padding holds junk unless the rule says that the operation would see it.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shardc.graph import ConvDims, DotDims, GatherDims, Op, ScatterDims, TensorType, identity
from shardc.layout import Axis, Mesh
from shardc.layout.slices import blocks, slices
from shardc.ops import meaning, rule_of
from shardc.ops.rule import Kind
from shardc.rules.assign import operand_shardings, project, result_shardings
from shardc.rules.legal import legal
from tests.sampling import examples
from tests.tolerance import assert_sums

COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}
JUNK = 77
MESH = Mesh("mesh", (("x", 4), ("y", 2), ("z", 3)))
PARTS = (Axis("x", 4), Axis("x", 2), Axis("x", 2, 2), Axis("y", 2), Axis("z", 3))


def f(*shape, dtype="f64"):
    return TensorType(shape, dtype)


def op(name, operands, results, combiner=None, **attrs):
    results = results if isinstance(results, list) else [results]
    name = name if "." in name else f"stablehlo.{name}"
    return Op(name, tuple(operands), tuple(results), attrs, combiner)


def index(*shape):
    return f(*shape, dtype="i32")


MATRIX = f(8, 6)
UNARY = (
    "abs cbrt ceil exponential exponential_minus_one floor log logistic negate rsqrt sign sqrt tanh "
    "round_nearest_even round_nearest_afz chlo.erf chlo.erfc chlo.asinh chlo.atan chlo.sinh chlo.square "
    "chlo.acosh"
).split()
BINARY = "add subtract multiply divide maximum minimum power remainder atan2".split()
INTEGER = "add subtract multiply maximum minimum divide and or xor chlo.mulhi".split()
CONVERSIONS = (
    "f32 f64,f64 f32,i32 f64,i64 f32,u8 i32,i8 i64,i32 i8,u32 i32,bool i32,bool f64,f64 i32,f64 c128,f64 bool"
)
CHANNELS_LAST = ConvDims(0, 2, (1,), 1, 2, (0,), 0, 2, (1,))
WINDOWED = {"window_strides": (1,), "dimension_numbers": CHANNELS_LAST}


def conv(lhs, rhs, out, **attrs):
    return op("convolution", [f(*lhs), f(*rhs)], f(*out), **{**WINDOWED, **attrs})


OPS = [
    *(op(name, [MATRIX], MATRIX) for name in UNARY),
    *(op(name, [MATRIX] * 2, MATRIX) for name in BINARY),
    *(op(name, [f(8, 6, dtype="i64")] * 2, f(8, 6, dtype="i64")) for name in INTEGER),
    *(op(name, [f(8, 6, dtype="bool")] * 2, f(8, 6, dtype="bool")) for name in ("and", "or", "xor")),
    *(op("negate", [f(8, dtype=d)], f(8, dtype=d)) for d in ("i64", "i8")),
    *(op("not", [f(8, dtype=d)], f(8, dtype=d)) for d in ("i64", "u8", "bool")),
    *(
        op("convert", [f(8, dtype=source)], f(8, dtype=target))
        for source, target in (pair.split() for pair in CONVERSIONS.split(","))
    ),
    op("compare", [MATRIX] * 2, f(8, 6, dtype="bool"), comparison_direction="LT"),
    op("complex", [MATRIX] * 2, f(8, 6, dtype="c128")),
    op("real", [f(8, dtype="c128")], f(8)),
    op("imag", [f(8, dtype="c128")], f(8)),
    op("select", [f(8, 6, dtype="bool"), MATRIX, MATRIX], MATRIX),
    op("select", [f(dtype="bool"), MATRIX, MATRIX], MATRIX),
    op("clamp", [f(), MATRIX, f()], MATRIX),
    op("clamp", [MATRIX] * 3, MATRIX),
    op(
        "dot_general", [f(4, 8, 6), f(4, 6, 3)], f(4, 8, 3),
        dot_dimension_numbers=DotDims((0,), (0,), (2,), (1,)),
    ),
    op("dot_general", [f(8, 6), f(7, 6)], f(8, 7), dot_dimension_numbers=DotDims((), (), (1,), (1,))),
    op("einsum", [f(8, 6), f(6, 7)], f(7, 8), einsum_config="ik,kj->ji"),
    op("einsum", [f(4, 8, 6), f(4, 6, 3)], f(8, 4), einsum_config="bik,bkj->ib"),
    op("triangular_solve", [f(4, 3, 3), f(4, 3, 6)], f(4, 3, 6),
       left_side=True, lower=True, unit_diagonal=False, transpose_a="NO_TRANSPOSE"),
    op("fft", [f(4, 8, dtype="c128")], f(4, 8, dtype="c128"), fft_type="FFT", fft_length=(8,)),
    *(op("reduce", [f(8, 6, 4), f()], f(6), kind, dimensions=(0, 2))
      for kind in ("sum", "max", "min", "prod")),
    *(op("reduce", [f(8, 6, dtype="bool"), f(dtype="bool")], f(8, dtype="bool"), kind, dimensions=(1,))
      for kind in ("and", "or")),
    *(op("reduce_window", [f(8, 6), f()], f(4, 6), kind, window_dimensions=(2, 1), window_strides=(2, 1))
      for kind in ("sum", "max", "min")),
    op("reduce_window", [f(8, 6), f()], f(8, 6), "sum",
       window_dimensions=(8, 1), padding=((7, 0), (0, 0))),
    op("transpose", [f(8, 6, 4)], f(4, 8, 6), permutation=(2, 0, 1)),
    *(op("reshape", [f(*source)], f(*target)) for source, target in (
        ((8, 6), (48,)), ((48,), (8, 6)), ((8, 4, 1), (2, 16)), ((6, 5), (3, 10)), ((4, 6), (8, 3)))),
    op("broadcast_in_dim", [f(8, 1)], f(4, 8, 6), broadcast_dimensions=(1, 2)),
    op("broadcast_in_dim", [f()], f(4, 7), broadcast_dimensions=()),
    op("concatenate", [f(8, 3), f(8, 4)], f(8, 7), dimension=1),
    op("pad", [f(8, 6), f()], f(8, 9),
       edge_padding_low=(0, 1), edge_padding_high=(0, 2), interior_padding=(0, 0)),
    op("pad", [f(8, 6), f()], f(8, 6),
       edge_padding_low=(-2, 0), edge_padding_high=(2, 0), interior_padding=(0, 0)),
    op("reverse", [f(8, 6)], f(8, 6), dimensions=(1,)),
    op("slice", [f(8, 6)], f(8, 2), start_indices=(0, 1), limit_indices=(8, 5), strides=(1, 2)),
    op("dynamic_slice", [f(8, 6), index(), index()], f(8, 2), slice_sizes=(8, 2)),
    op("dynamic_update_slice", [f(8, 6), f(8, 2), index(), index()], f(8, 6)),
    op("gather", [f(8, 6), index(4, 3, 1)], f(4, 3, 6), slice_sizes=(1, 6),
       dimension_numbers=GatherDims((2,), (0,), (), (), (0,), 2)),
    op("gather", [f(8, 6), index(8, 3, 1)], f(8, 3), slice_sizes=(1, 1),
       dimension_numbers=GatherDims((), (1,), (0,), (0,), (1,), 2)),
    *(op("scatter", [f(8, 6), index(4, 1), f(4, 6)], f(8, 6), kind, unique_indices=kind == "set",
         scatter_dimension_numbers=ScatterDims((1,), (0,), (), (), (0,), 1))
      for kind in ("sum", "max", "min", "set", "prod")),
    conv((4, 8, 6), (3, 6, 4), (4, 6, 4)),
    conv((4, 8, 6), (1, 6, 4), (4, 8, 4)),
    conv((4, 8, 6), (2, 6, 4), (4, 4, 4), window_strides=(2,)),
    conv((2, 4, 6), (4, 6, 4), (2, 1, 4)),
    conv((4, 8, 8), (3, 2, 12), (4, 6, 12), feature_group_count=4),
    conv((8, 8, 6), (3, 6, 12), (2, 6, 12), batch_group_count=4),
    op("sort", [f(8, 6)], f(8, 6), dimension=1),
    op("sdy.sharding_constraint", [f(8, 6)], f(8, 6)),
]  # fmt: skip


def name_of(op):
    return f"{op.name} {', '.join(map(str, op.operands))} {op.combiner or ''}"


def run(op, arrays):
    less = (lambda a, b: [a < b],) if op.name == "stablehlo.sort" else ()
    with np.errstate(all="ignore"):
        computes = meaning(op.name)
        assert computes is not None
        return computes(op, [np.asarray(a) for a in arrays], *less)


def values(rng, type, op):
    if type.dtype == "bool":
        return rng.random(type.shape) < 0.5
    if type.dtype == "i32" and op.name in (
        "stablehlo.gather",
        "stablehlo.dynamic_slice",
        "stablehlo.scatter",
    ):
        if op.combiner == "set":
            return rng.permutation(8)[: type.size].reshape(type.shape).astype(np.int32)
        return rng.integers(0, 9, type.shape).astype(np.int32)  # 8 is out of bounds, for some
    array = rng.integers(1, 9, type.shape) * (1 if type.dtype[0] == "u" else rng.choice([-1, 1], type.shape))
    return array.astype(type.numpy)


TERMS = 512
"""More than any sum here has; its terms are products of two numbers of at most 8."""


def same(actual, expected):
    if np.asarray(expected).dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
    else:
        assert_sums(np.asarray(actual), np.asarray(expected), TERMS, TERMS * 64.0)


@pytest.mark.parametrize("op", OPS, ids=name_of)
@pytest.mark.parametrize("kind", COMBINE)
def test_partial_results_flow(op, kind):
    rule = rule_of(op)
    assert rule is not None
    rng = np.random.default_rng(1)
    for group, result_kind in rule.flows(kind):
        whole = [values(rng, type, op) for type in op.operands]
        parts = [list(whole) for _ in range(3)]
        for i in group:
            if rng.random() < 0.5 and len(group) > 1:  # a whole operand: one device keeps it
                for part in parts[1:]:
                    part[i] = np.full(op.operands[i].shape, identity(kind, op.operands[i].dtype))
            else:
                for part in parts:
                    part[i] = values(rng, op.operands[i], op)
            whole[i] = reduce(COMBINE[kind], [part[i] for part in parts])
        computed = [run(op, part) for part in parts]
        for expected, *partial in zip(run(op, whole), *computed, strict=True):
            same(reduce(COMBINE[result_kind], partial), expected)


@pytest.mark.parametrize("op", OPS, ids=name_of)
@pytest.mark.parametrize("kind", COMBINE)
def test_devices_without_a_share_change_nothing(op, kind):
    rule = rule_of(op)
    assert rule is not None
    rng = np.random.default_rng(2)
    for group, result_kind in rule.flows(kind):
        whole = [values(rng, type, op) for type in op.operands]
        nothing = [
            np.full(type.shape, identity(kind, type.dtype)) if i in group else array
            for i, (type, array) in enumerate(zip(op.operands, whole, strict=True))
        ]
        for expected, other in zip(run(op, whole), run(op, nothing), strict=True):
            same(COMBINE[result_kind](expected, other), expected)


@st.composite
def assigned(draw):
    """An operation and axes for some of its factors, no axis twice."""
    op = draw(st.sampled_from(OPS))
    rule = rule_of(op)
    assert rule is not None
    assignment = [()] * len(rule.factors)
    for axis in draw(st.lists(st.sampled_from(PARTS), max_size=3, unique=True)):
        if rule.factors and not any(axis.overlaps(used) for axes in assignment for used in axes):
            factor = draw(st.integers(0, len(rule.factors) - 1))
            assignment[factor] = (*assignment[factor], axis)
    return op, rule, tuple(assignment)


def localised(op, operands, results):
    """The operation on blocks: attributes that state sizes state those of the blocks."""
    attrs = dict(op.attrs)
    for key in {"limit_indices", "slice_sizes"} & set(attrs):
        attrs[key] = tuple(
            local if size == whole else size
            for size, whole, local in zip(attrs[key], op.operands[0].shape, operands[0].shape, strict=True)
        )
    if op.name == "stablehlo.convolution":
        attrs["feature_group_count"] = operands[0].shape[2] // operands[1].shape[1]
        attrs["batch_group_count"] = operands[0].shape[0] // results[0].shape[0]
    return replace(op, operands=tuple(operands), results=tuple(results), attrs=attrs)


def local_types(shardings, types):
    return [type.with_shape(s.local_shape(type.shape)) for s, type in zip(shardings, types, strict=True)]


def blocks_of(array, sharding, once_kind, fills):
    """Every device's block of an array; `fills` says what the padding of a dimension holds."""
    bounds = slices(sharding, array.shape)
    keeps = blocks(sharding.mesh, sharding.unreduced) == 0
    for device in range(sharding.mesh.size):
        block = array[tuple(slice(*b) for b in bounds[device])]
        for dim, size in enumerate(sharding.local_shape(array.shape)):
            missing = [(0, size - block.shape[dim] if i == dim else 0) for i in range(array.ndim)]
            block = np.pad(block, missing, constant_values=fills.get(dim, JUNK))
        if not keeps[device]:
            block = np.full_like(block, once_kind)
        yield block


@pytest.mark.parametrize("op", OPS, ids=name_of)
def test_each_factor_that_may_be_split(op):
    rule = rule_of(op)
    assert rule is not None
    for factor in range(len(rule.factors)):
        for axis in PARTS:
            assignment = tuple((axis,) if f == factor else () for f in range(len(rule.factors)))
            if legal(rule, op, assignment) is None:
                check_assignment(op, rule, assignment, seed=factor)


@settings(max_examples=examples(300), deadline=None)
@given(assigned(), st.integers(0, 99))
def test_legal_assignments_compute_the_whole(case, seed):
    op, rule, assignment = case
    assume(legal(rule, op, assignment) is None)
    check_assignment(op, rule, assignment, seed)


def check_assignment(op, rule, assignment, seed):
    """Run the operation on every device's blocks and put the results together."""
    rng = np.random.default_rng(seed)
    arrays = [values(rng, type, op) for type in op.operands]
    inputs = operand_shardings(rule, assignment, MESH)
    outputs = result_shardings(rule, assignment, MESH)
    assert operand_shardings(rule, read_back(rule, inputs + outputs), MESH) == inputs

    local = localised(op, local_types(inputs, op.operands), local_types(outputs, op.results))
    per_operand = []
    for i, (array, sharding) in enumerate(zip(arrays, inputs, strict=True)):
        neutral = identity(rule.reduction or "sum", op.operands[i].dtype)
        fills = {
            dim: neutral
            for dim in sharding.uneven(array.shape)
            if any(rule.factors[f].kind is Kind.REDUCTION for f in rule.operands[i][dim])
        }
        fill_unseen = {dim: 0 for dim in range(array.ndim) if op.operands[i].dtype in ("i32", "bool")}
        per_operand.append(list(blocks_of(array, sharding, neutral, {**fill_unseen, **fills})))
    computed = [run(local, list(row)) for row in zip(*per_operand, strict=True)]
    for r, (expected, sharding) in enumerate(zip(run(op, arrays), outputs, strict=True)):
        check_blocks([row[r] for row in computed], sharding, expected, local.results[r].shape)


def read_back(rule, shardings):
    """The assignment that the shardings of all tensors agree on."""
    found = {}
    for dims, sharding in zip(rule.tensors, shardings, strict=True):
        held = project(dims, sharding, rule)
        assert not held.overflow
        for factor, axes in held.axes.items():
            assert found.setdefault(factor, axes) == axes
    return tuple(found.get(factor, ()) for factor in range(len(rule.factors)))


def check_blocks(found, sharding, expected, local_shape):
    """Combine blocks of devices that differ only over unreduced axes; compare with the slice they hold."""
    bounds = slices(sharding, expected.shape)
    where = [blocks(sharding.mesh, dim.axes) for dim in sharding.dims]
    share = blocks(sharding.mesh, sharding.unreduced)
    for device in range(sharding.mesh.size):
        if share[device]:
            continue
        assert found[device].shape == local_shape
        others = [
            next(
                d
                for d in range(sharding.mesh.size)
                if share[d] == number and all(w[d] == w[device] for w in where)
            )
            for number in range(share.max() + 1)
        ]
        total = reduce(COMBINE[sharding.kind], [found[d] for d in others])
        held = tuple(slice(*b) for b in bounds[device])
        same(total[tuple(slice(0, s.stop - s.start) for s in held)], expected[held])


def test_every_kind_of_factor_was_tried():
    rules = [rule_of(op) for op in OPS]
    kinds = {factor.kind for rule in rules if rule is not None for factor in rule.factors}
    assert kinds == set(Kind)

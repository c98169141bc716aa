"""Result types of operations, and what is said where operands don't fit."""

import numpy as np
import pytest

from shardc.graph import ConvDims, Dense, DotDims, GatherDims, Op, ScatterDims, TensorType
from shardc.layout import Axis, Dim, Mesh, Sharding
from shardc.ops import ShapeError, definitions, infer, verify

MESH = Mesh("pod", (("x", 2), ("y", 4)))
X, Y = MESH.axis("x"), MESH.axis("y")
MATMUL = DotDims(lhs_contracting=(1,), rhs_contracting=(0,))
BATCHED = DotDims((0,), (0,), (2,), (1,))
NCHW = ConvDims(0, 1, (2, 3), 1, 0, (2, 3), 0, 1, (2, 3))
WINDOW = {"window_dimensions": (2, 2), "window_strides": (2, 1), "padding": ((0, 0), (1, 0))}


def t(text):
    """f32[2, 3] as a type; a bare dtype is a scalar."""
    dtype, _, sizes = text.rstrip("]").partition("[")
    return TensorType(tuple(int(size) for size in sizes.split(",") if size), dtype)


def types(text):
    return tuple(map(t, text.split()))


GOOD = [
    ("stablehlo.add", "f32[2,3] f32[2,3]", {}, "f32[2,3]"),
    ("stablehlo.and", "bool[2] bool[2]", {}, "bool[2]"),
    ("stablehlo.abs", "c64[2]", {}, "f32[2]"),
    ("stablehlo.real", "c128[2]", {}, "f64[2]"),
    ("stablehlo.complex", "f32[2] f32[2]", {}, "c64[2]"),
    ("stablehlo.is_finite", "bf16[2]", {}, "bool[2]"),
    ("stablehlo.compare", "u8[2] u8[2]", {"comparison_direction": "LT"}, "bool[2]"),
    ("stablehlo.select", "bool f32[2] f32[2]", {}, "f32[2]"),
    ("stablehlo.clamp", "f32 f32[2] f32[2]", {}, "f32[2]"),
    ("stablehlo.transpose", "f32[2,3,4]", {"permutation": (2, 0, 1)}, "f32[4,2,3]"),
    ("stablehlo.reverse", "f32[2,3]", {"dimensions": (1,)}, "f32[2,3]"),
    ("stablehlo.concatenate", "f32[2,3] f32[2,4]", {"dimension": 1}, "f32[2,7]"),
    ("stablehlo.slice", "f32[9]", {"start_indices": (1,), "limit_indices": (8,), "strides": (3,)}, "f32[3]"),
    (
        "stablehlo.pad",
        "f32[4] f32",
        {"edge_padding_low": (-1,), "edge_padding_high": (2,), "interior_padding": (1,)},
        "f32[8]",
    ),
    ("stablehlo.get_dimension_size", "f32[4]", {"dimension": 0}, "i32"),
    ("stablehlo.dot_general", "f32[8,4] f32[4,6]", {"dot_dimension_numbers": MATMUL}, "f32[8,6]"),
    ("stablehlo.einsum", "f32[8,4] f32[4,6]", {"einsum_config": "ij, jk -> ki"}, "f32[6,8]"),
    ("stablehlo.einsum", "f32 f32[4,6]", {"einsum_config": ",jk->k"}, "f32[6]"),
    ("chlo.mulhi", "u8[2] u8[2]", {}, "u8[2]"),
    ("stablehlo.dot_general", "f32[2,8,4] f32[2,4,6]", {"dot_dimension_numbers": BATCHED}, "f32[2,8,6]"),
    ("stablehlo.convolution", "f32[2,3,9,9] f32[4,3,3,3]", {"dimension_numbers": NCHW}, "f32[2,4,7,7]"),
    (
        "stablehlo.convolution",
        "f32[2,6,9,9] f32[4,3,3,3]",
        {
            "dimension_numbers": NCHW,
            "feature_group_count": 2,
            "window_strides": (2, 1),
            "lhs_dilation": (2, 1),
        },
        "f32[2,4,8,7]",
    ),
    ("stablehlo.reduce", "f32[2,3] i32[2,3] f32 i32", {"dimensions": (1,)}, "f32[2] i32[2]"),
    ("stablehlo.reduce_window", "f32[6,6] f32", WINDOW, "f32[3,6]"),
    ("stablehlo.sort", "f32[6] i32[6]", {"dimension": 0, "is_stable": True}, "f32[6] i32[6]"),
    ("chlo.top_k", "bf16[4,9]", {"k": 3}, "bf16[4,3] i32[4,3]"),
    ("stablehlo.dynamic_slice", "f32[4,5] i32 i32", {"slice_sizes": (2, 5)}, "f32[2,5]"),
    ("stablehlo.dynamic_update_slice", "f32[4,5] f32[1,5] i32 i32", {}, "f32[4,5]"),
    (
        "stablehlo.gather",
        "f32[10,8] i32[3,2,1]",
        {
            "dimension_numbers": GatherDims((2,), (0,), (), (), (0,), 2),
            "slice_sizes": (1, 8),
        },
        "f32[3,2,8]",
    ),
    (
        "stablehlo.gather",
        "f32[5,10,8] i32[5,3,1]",
        {
            "dimension_numbers": GatherDims((2,), (1,), (0,), (0,), (1,), 2),
            "slice_sizes": (1, 1, 8),
        },
        "f32[5,3,8]",
    ),
    (
        "stablehlo.scatter",
        "f32[10,8] i32[3,1] f32[3,8]",
        {"scatter_dimension_numbers": ScatterDims((1,), (0,), (), (), (0,), 1)},
        "f32[10,8]",
    ),
    ("stablehlo.while", "i32 f32[3]", {}, "i32 f32[3]"),
    ("stablehlo.fft", "f32[4,6]", {"fft_type": "RFFT", "fft_length": (6,)}, "c64[4,4]"),
    ("stablehlo.cholesky", "f32[2,3,3]", {"lower": True}, "f32[2,3,3]"),
    (
        "stablehlo.batch_norm_training",
        "f32[2,3] f32[3] f32[3]",
        {"feature_index": 1},
        "f32[2,3] f32[3] f32[3]",
    ),
    ("spmd.all_reduce", "f32[2]", {"axes": (X,), "kind": "max"}, "f32[2]"),
    ("spmd.all_gather", "f32[2,3]", {"axes": (X, Y), "dim": 1, "invariant": True}, "f32[2,24]"),
    ("spmd.reduce_scatter", "f32[8]", {"axes": (Axis("y", 2, 2),), "dim": 0, "kind": "sum"}, "f32[4]"),
    ("spmd.all_to_all", "f32[8,3]", {"axes": (Y,), "split_dim": 0, "concat_dim": 1}, "f32[2,12]"),
    ("spmd.all_to_all", "f32[8,3]", {"axes": (Y,), "split_dim": 0, "concat_dim": 0}, "f32[8,3]"),
    ("spmd.collective_permute", "f32[8]", {"axes": (Y,), "pairs": ((0, 1), (1, 0))}, "f32[8]"),
    ("spmd.axis_index", "", {"axes": (X,)}, "i32"),
    ("stablehlo.all_gather", "f32[2]", {"all_gather_dim": 0, "replica_groups": ((0, 1), (2, 3))}, "f32[4]"),
    ("stablehlo.partition_id", "", {}, "u32"),
]


@pytest.mark.parametrize(("name", "operands", "attrs", "results"), GOOD, ids=[case[0] for case in GOOD])
def test_inferred_types(name, operands, attrs, results):
    assert infer(name, types(operands), attrs) == types(results)


STATED = [
    ("stablehlo.convert", "f32[2]", {}, "i8[2]"),
    ("stablehlo.reshape", "f32[2,3]", {}, "f32[6]"),
    ("stablehlo.broadcast_in_dim", "f32[1,3]", {"broadcast_dimensions": (2, 0)}, "f32[3,2,4]"),
    ("stablehlo.iota", "", {"iota_dimension": 0}, "i32[5]"),
    ("stablehlo.bitcast_convert", "f32[2]", {}, "u8[2,4]"),
    ("stablehlo.bitcast_convert", "u8[2,4]", {}, "f32[2]"),
    ("stablehlo.einsum", "bf16[8,4] bf16[4,6]", {"einsum_config": "ij,jk->ik"}, "f32[8,6]"),
    ("stablehlo.dot_general", "bf16[8,4] bf16[4,6]", {"dot_dimension_numbers": MATMUL}, "f32[8,6]"),
    ("stablehlo.custom_call", "f32[2]", {}, "f32[7]"),
]


@pytest.mark.parametrize(("name", "operands", "attrs", "results"), STATED, ids=[case[0] for case in STATED])
def test_stated_types_are_checked_and_kept(name, operands, attrs, results):
    assert infer(name, types(operands), attrs, results=types(results)) == types(results)


def test_constants_have_the_type_of_their_value():
    assert infer("stablehlo.constant", (), {"value": Dense(np.zeros((), np.float16), (2, 3))}) == types(
        "f16[2,3]"
    )


BAD = [
    (
        "stablehlo.einsum",
        "f32[8,4] f32[4,6]",
        {"einsum_config": "ij,jk"},
        "",
        'einsum has the config "ij,jk"; one is "ij,jk->ik"',
    ),
    (
        "stablehlo.einsum",
        "f32[8,8] f32[8,6]",
        {"einsum_config": "ii,ij->j"},
        "",
        'einsum has "ii" in "ii,ij->j"; each dimension has a letter of its own',
    ),
    (
        "stablehlo.einsum",
        "f32[8,4] f32[4,6]",
        {"einsum_config": "ij,...->ij"},
        "",
        'einsum has "..." in "ij,...->ij"; each dimension has a letter of its own',
    ),
    (
        "stablehlo.einsum",
        "f32[8,4] f32[5,6]",
        {"einsum_config": "ij,jk->ik"},
        "",
        "einsum has sizes 4 and 5 for j, of f32[8, 4] and f32[5, 6]",
    ),
    (
        "stablehlo.einsum",
        "f32[8,4] f32[4,6]",
        {"einsum_config": "ij,jk->iz"},
        "",
        "einsum has no operand with z, which its result has",
    ),
    (
        "stablehlo.einsum",
        "f32[8,4] f32[4,6]",
        {"einsum_config": "i,jk->ik"},
        "",
        'einsum needs 2 entries in "i", got 1',
    ),
    (
        "stablehlo.einsum",
        "i32[8,4] f32[4,6]",
        {"einsum_config": "ij,jk->ik"},
        "",
        "einsum of i32[8, 4] and f32[4, 6] needs its result type stated (results=)",
    ),
    (
        "chlo.mulhi",
        "f32[2] f32[2]",
        {},
        "",
        "mulhi is defined for signed integers, unsigned integers, got f32[2]",
    ),
    ("stablehlo.add", "f32[2,3] f32[3]", {}, "", "add needs equal types, got f32[2, 3] and f32[3]"),
    ("stablehlo.add", "f32[2]", {}, "", "add takes 2 operands, got 1"),
    (
        "stablehlo.exponential",
        "i32[2]",
        {},
        "",
        "exponential is defined for floats, complex numbers, got i32[2]",
    ),
    ("stablehlo.and", "f32 f32", {}, "", "and is defined for bool, signed integers, unsigned integers"),
    ("stablehlo.compare", "f32 f32", {"comparison_direction": "LESS"}, "", "no direction LESS"),
    ("stablehlo.compare", "f32 f32", {}, "", "compare needs the attribute comparison_direction"),
    ("stablehlo.select", "i32 f32 f32", {}, "", "needs a predicate bool[]"),
    ("stablehlo.reshape", "f32[2,3]", {}, "", "cannot infer its result type"),
    ("stablehlo.reshape", "f32[2,3]", {}, "f32[7]", "keeps elements and dtype, got f32[2, 3] to f32[7]"),
    ("stablehlo.add", "f32 f32", {}, "f32[1]", "add gives f32[], not f32[1]"),
    (
        "stablehlo.broadcast_in_dim",
        "f32[2]",
        {"broadcast_dimensions": (0,)},
        "f32[3]",
        "cannot put dimension 0 of f32[2], of size 2, in dimension 0 of f32[3], of size 3",
    ),
    ("stablehlo.transpose", "f32[2,3]", {"permutation": (0, 0)}, "", "names a dimension twice"),
    (
        "stablehlo.transpose",
        "f32[2,3]",
        {"permutation": (0, 2)},
        "",
        "2, which is no dimension of a tensor of rank 2",
    ),
    ("stablehlo.transpose", "f32[2,3]", {"permutation": (0,)}, "", "needs 2 entries in permutation, got 1"),
    ("stablehlo.transpose", "f32[2,3]", {"permutation": "01"}, "", "needs permutation to be tuple, got '01'"),
    ("stablehlo.concatenate", "f32[2,3] f32[4,4]", {"dimension": 1}, "", "needs dimension 0 equal"),
    (
        "stablehlo.slice",
        "f32[4]",
        {"start_indices": (2,), "limit_indices": (5,)},
        "",
        "2:5 in dimension 0 of f32[4]",
    ),
    (
        "stablehlo.dot_general",
        "f32[8,4] f32[5,6]",
        {"dot_dimension_numbers": MATMUL},
        "",
        "cannot contract dimension 1 of f32[8, 4], of size 4, with dimension 0 of f32[5, 6], of size 5",
    ),
    (
        "stablehlo.convolution",
        "f32[2,4,9,9] f32[4,3,3,3]",
        {"dimension_numbers": NCHW},
        "",
        "has 4 input features",
    ),
    (
        "stablehlo.reduce",
        "f32[2,3] i32",
        {"dimensions": (1,)},
        "",
        "needs an initial value f32[] for f32[2, 3]",
    ),
    ("stablehlo.reduce", "f32[2,3] f32", {"dimensions": (2,)}, "", "dimensions 2, which is no dimension"),
    (
        "stablehlo.dynamic_slice",
        "f32[4] i32",
        {"slice_sizes": (5,)},
        "",
        "cannot take 5 of dimension 0 of f32[4]",
    ),
    ("chlo.top_k", "f32[4]", {"k": 5}, "", "cannot take 5 of the last dimension of f32[4]"),
    (
        "spmd.all_slice",
        "f32[6]",
        {"axes": (Y,), "dim": 0},
        "",
        "cannot split dimension 0 of f32[6], of size 6, in 4",
    ),
    ("spmd.all_reduce", "f32[6]", {"axes": (Y,), "kind": "prod"}, "", "has no kind prod"),
    ("spmd.collective_permute", "f32", {"axes": (X,), "pairs": ((0, 1), (1, 1))}, "", "target twice"),
    (
        "spmd.collective_permute",
        "f32",
        {"axes": (X,), "pairs": ((0, 2),)},
        "",
        "target outside the 2 positions",
    ),
    ("stablehlo.nonsense", "f32", {}, "", "stablehlo.nonsense is no known operation"),
]


@pytest.mark.parametrize(("name", "operands", "attrs", "results", "text"), BAD, ids=[case[4] for case in BAD])
def test_what_does_not_fit_is_named(name, operands, attrs, results, text):
    with pytest.raises(ShapeError) as caught:
        infer(name, types(operands), attrs, results=types(results) or None)
    assert text in str(caught.value)


def test_regions_must_return_what_the_operation_needs():
    with pytest.raises(ShapeError, match=r"needs its region 0 to return bool\[\], got i32\[\]"):
        infer("stablehlo.while", types("i32"), {}, region_results=[types("i32"), types("i32")])
    with pytest.raises(ShapeError, match="needs its region 1"):
        infer("stablehlo.if", types("bool"), {}, region_results=[types("f32"), types("i32")])


def test_shardings_must_have_the_rank_of_their_tensor():
    with pytest.raises(ShapeError, match=r"a sharding of rank 1 for f32\[2, 3\]"):
        infer("sdy.sharding_constraint", types("f32[2,3]"), {"sharding": Sharding(MESH, (Dim((X,)),))})


def test_shardings_must_be_possible():
    twice = Sharding(MESH, (Dim((X,)), Dim((X,))))
    with pytest.raises(ShapeError, match="axis x is used twice"):
        infer("sdy.reshard", types("f32[2,3]"), {"sharding": twice})


def test_verify_looks_at_the_results():
    verify(Op("stablehlo.negate", types("f32[2]"), types("f32[2]"), {}))
    with pytest.raises(ShapeError, match="gives"):
        verify(Op("stablehlo.negate", types("f32[2]"), types("f32[3]"), {}))


def test_no_operation_raises_anything_but_shape_errors():
    for name in (definition.name for definition in definitions() if definition.infer is not None):
        for operands in (
            "",
            "f32",
            "f32[2,3]",
            "f32[2,3] f32[2,3]",
            "i32 i32 i32",
            "bool[2] f32 f32[2] f32 f32",
        ):
            try:
                infer(name, types(operands), {})
            except ShapeError:
                continue

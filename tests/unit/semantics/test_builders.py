"""Operations computed at once through ArrayBuilder: what JAX on CPU lowers to custom calls, and regions."""

import numpy as np
import pytest

from shardc.diagnostics import ShardcError
from shardc.graph import Dense, TensorType
from shardc.interpret.collectives import Place
from shardc.layout import Mesh
from shardc.ops import ShapeError
from tests.builders import ArrayBuilder, BlocksBuilder
from tests.tolerance import assert_near, assert_sums

RNG = np.random.default_rng(0)
I32, F32 = TensorType((), "i32"), TensorType((), "f32")


def single(values):
    return np.array(values, np.float32)


def definite():
    a = RNG.standard_normal((2, 4, 4)).astype(np.float32)
    return a @ a.transpose(0, 2, 1) + 4 * np.eye(4, dtype=np.float32)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower):
    a = definite()
    half = np.tril(a) if lower else np.triu(a)
    factor = ArrayBuilder().one("stablehlo.cholesky", half, lower=lower)
    product = factor @ factor.transpose(0, 2, 1) if lower else factor.transpose(0, 2, 1) @ factor
    assert_sums(product, a, 2 * 4, np.sqrt(np.einsum("bii,bjj->bij", a, a)), "f32")


def test_cholesky_of_an_indefinite_matrix_is_nan():
    assert np.isnan(ArrayBuilder().one("stablehlo.cholesky", -np.eye(2, dtype=np.float32), lower=True)).all()


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
@pytest.mark.parametrize("transpose_a", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
def test_triangular_solve(left_side, lower, unit_diagonal, transpose_a):
    a = (definite() + 1j * RNG.standard_normal((2, 4, 4))).astype(np.complex64)
    b = RNG.standard_normal((2, 4, 3) if left_side else (2, 3, 4)).astype(np.complex64)
    x = ArrayBuilder().one(
        "stablehlo.triangular_solve",
        a,
        b,
        left_side=left_side,
        lower=lower,
        unit_diagonal=unit_diagonal,
        transpose_a=transpose_a,
    )
    read = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        read = read - np.eye(4) * read + np.eye(4)
    applied = {
        "NO_TRANSPOSE": read,
        "TRANSPOSE": read.swapaxes(1, 2),
        "ADJOINT": read.conj().swapaxes(1, 2),
    }[transpose_a]
    solved = applied @ x if left_side else x @ applied
    magnitude = float(np.abs(applied).max() * np.abs(x).max())
    assert_near(solved, b, terms=4 * 4, magnitude=4 * magnitude)


def test_triangular_solve_divides_by_zero():
    """As it divides elsewhere, and as JAX does."""
    how = {"left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE"}
    a, b = single([[1, 0, 0], [2, 0, 0], [3, 4, 5]]), single([[1, 0], [1, 0], [1, 0]])
    x = ArrayBuilder().one("stablehlo.triangular_solve", a, b, **how)
    np.testing.assert_array_equal(x, single([[1, 0], [-np.inf, np.nan], [np.inf, np.nan]]))
    assert ArrayBuilder().one("stablehlo.triangular_solve", a[:0, :0], b[:0], **how).shape == (0, 2)


def test_batch_norm():
    x = RNG.standard_normal((4, 3, 5)).astype(np.float32)
    scale, offset = single([1, 2, 3]), single([0, 1, -1])
    attrs = {"epsilon": 1e-3, "feature_index": 1}
    y, mean, variance = ArrayBuilder().op("stablehlo.batch_norm_training", x, scale, offset, **attrs)
    expected = (x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 1e-3)
    expected = expected * scale[:, None] + offset[:, None]
    assert_near(y, expected, terms=4 * 20)
    again = ArrayBuilder().one("stablehlo.batch_norm_inference", x, scale, offset, mean, variance, **attrs)
    assert_near(again, y, terms=20)


def test_batch_norm_grad_is_the_gradient():
    jax = pytest.importorskip("jax")
    x, g = (RNG.standard_normal((4, 3, 5)).astype(np.float32) for _ in range(2))
    scale, offset = single([1, 2, 3]), single([0, 1, -1])

    def norm(x, scale, offset):
        normal = (x - x.mean((0, 2), keepdims=True)) / jax.numpy.sqrt(x.var((0, 2), keepdims=True) + 1e-3)
        return (g * (normal * scale[:, None] + offset[:, None])).sum()

    expected = jax.grad(norm, (0, 1, 2))(x, scale, offset)
    actual = ArrayBuilder().op(
        "stablehlo.batch_norm_grad",
        x,
        scale,
        x.mean((0, 2)),
        x.var((0, 2)),
        g,
        epsilon=1e-3,
        feature_index=1,
    )
    for ours, theirs in zip(actual, expected, strict=True):
        assert_near(ours, theirs, terms=4 * 20, magnitude=20 * float(np.abs(g).max()))


def test_regions_may_use_values_from_outside():
    b = ArrayBuilder()
    step, limit = np.asarray(2, np.int32), np.asarray(7, np.int32)
    (result,) = b.op(
        "stablehlo.while",
        np.asarray(0, np.int32),
        regions=[
            ([I32], lambda b, i: [b.one("stablehlo.compare", i, limit, comparison_direction="LT")]),
            ([I32], lambda b, i: [b.one("stablehlo.add", i, step)]),
        ],
    )
    assert result == 8


def test_a_reduction_may_use_values_from_outside_that_differ_between_devices():
    mesh = Mesh("m", (("x", 2),))
    b = BlocksBuilder(Place(mesh, (0, 1)))
    index = b.one("spmd.axis_index", axes=(mesh.axis("x"),))
    x = [np.arange(4, dtype=np.int32)] * 2
    zero = [np.asarray(0, np.int32)] * 2

    def plus_index(b, left, right):
        return [b.one("stablehlo.add", b.one("stablehlo.add", left, right), index)]

    (result,) = b.op("stablehlo.reduce", x, zero, dimensions=(0,), regions=[([I32, I32], plus_index)])
    assert [int(block) for block in result] == [6, 6 + 4]


def test_a_splat_of_absurd_size_takes_no_memory():
    value = Dense(np.asarray(1, np.float32), (10**6, 10**6, 10**6))
    assert ArrayBuilder().one("stablehlo.constant", value=value).shape == value.shape


def test_operands_that_do_not_fit_raise():
    with pytest.raises(ShapeError, match=r"add needs equal types, got f32\[2, 3\] and f32\[3\]"):
        ArrayBuilder().one("stablehlo.add", np.zeros((2, 3), np.float32), np.zeros(3, np.float32))


def test_map_applies_its_region():
    x = single([1, 2, 3])
    (result,) = ArrayBuilder().op(
        "stablehlo.map",
        x,
        dimensions=(0,),
        regions=[([F32], lambda b, v: [b.one("stablehlo.multiply", v, v)])],
    )
    np.testing.assert_array_equal(result, x * x)


def test_a_reduction_may_widen():
    jnp = pytest.importorskip("jax").numpy
    x = np.full((3, 1000), 0.1, jnp.bfloat16)
    add = ([F32, F32], lambda b, left, right: [b.one("stablehlo.add", left, right)])
    (result,) = ArrayBuilder().op(
        "stablehlo.reduce",
        x,
        np.zeros((), np.float32),
        results=[F32.with_shape((3,))],
        dimensions=(1,),
        regions=[add],
    )
    assert result.dtype == np.float32
    assert_sums(result, x.astype(np.float64).sum(1), x.shape[1], np.abs(x).astype(np.float64).sum(1), "f32")


def test_an_operation_without_enough_memory_is_an_error():
    ones = ArrayBuilder().one("stablehlo.constant", value=Dense(np.asarray(1, np.float32), (10**18,)))
    with pytest.raises(
        ShardcError, match=r"add makes f32\[1000000000000000000\], for which there is no memory"
    ):
        ArrayBuilder().one("stablehlo.add", ones, ones)


def test_named_computations_run_in_place():
    x = np.arange(3, dtype=np.int32)
    vector = I32.with_shape((3,))
    (result,) = ArrayBuilder().op(
        "sdy.named_computation",
        x,
        regions=[([vector], lambda b, v: [b.one("stablehlo.add", v, v)])],
    )
    np.testing.assert_array_equal(result, x + x)


def test_integer_powers_wrap_and_invert_only_units():
    base, exponent = np.meshgrid(
        np.array([0, 1, -1, 2, -3, 100000], np.int32), np.array([-2, -1, 0, 1, 3], np.int32)
    )
    result = ArrayBuilder().one("stablehlo.power", base, exponent)

    def power(x, n):
        if n < 0:
            return x**-n if x in (1, -1) else 0
        return (x**n + 2**31) % 2**32 - 2**31

    np.testing.assert_array_equal(
        result, np.vectorize(power, otypes=[np.int32])(base.astype(object), exponent)
    )

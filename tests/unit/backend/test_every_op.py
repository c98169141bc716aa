"""Every operation that has a meaning can be printed, and the rare ones mean the same."""

import numpy as np
import pytest

from shardc.analysis.build import GraphBuilder
from shardc.backend import jax as jax_backend
from shardc.backend import numpy as numpy_backend
from shardc.backend.jax.target import JAX
from shardc.backend.numpy.target import NUMPY
from shardc.diagnostics import ShardcError
from shardc.graph import Location, TensorType
from shardc.interpret.run import run
from shardc.ops import definitions
from tests.tolerance import assert_right

KNOWN = {definition.name for definition in definitions() if definition.meaning is not None}
GLOBAL_ONLY = {name for name in KNOWN if name.startswith(("sdy.", "shardc."))}


@pytest.mark.parametrize("printers", [JAX, NUMPY], ids=["jax", "numpy"])
def test_every_operation_has_a_printer(printers):
    assert {name for name in KNOWN if name not in printers} == GLOBAL_ONLY


def f32(*shape):
    return TensorType(shape, "f32")


def positive(b, x):
    """x x^T + 4 I"""
    squared = b.one("stablehlo.multiply", x, b.one("stablehlo.transpose", x, permutation=(1, 0)))
    rows = b.one("stablehlo.iota", result=TensorType((4, 4), "i32"), iota_dimension=0)
    columns = b.one("stablehlo.iota", result=TensorType((4, 4), "i32"), iota_dimension=1)
    diagonal = b.one("stablehlo.compare", rows, columns, comparison_direction="EQ")
    eye = b.one("stablehlo.convert", diagonal, result=f32(4, 4))
    return b.one("stablehlo.add", squared, b.one("stablehlo.multiply", eye, fill(b, 16.0, 4, 4)))


def fill(b, value, *shape):
    from shardc.graph import Dense

    dense = Dense(np.array(value, np.float32), shape)
    return b.one("stablehlo.constant", result=f32(*shape), value=dense)


def cholesky(lower):
    return lambda b, x: [b.one("stablehlo.cholesky", positive(b, x), lower=lower)]


def solve(left, lower, unit, how):
    def build(b, x):
        attrs = {"left_side": left, "lower": lower, "unit_diagonal": unit, "transpose_a": how}
        return [b.one("stablehlo.triangular_solve", positive(b, x), x, **attrs)]

    return build


def mapped(b, x):
    body = ([f32()], lambda b, a: [b.one("stablehlo.add", b.one("stablehlo.tanh", a), fill(b, 1.0))])
    return b.op("stablehlo.map", x, regions=[body], dimensions=(0, 1), results=[f32(4, 4)])


def einsum(b, x):
    return [b.one("stablehlo.einsum", x, positive(b, x), einsum_config="ij, kj -> ki")]


def halves(b, x):
    scaled = b.one("stablehlo.multiply", x, fill(b, 2.0**30, 4, 4))
    whole = b.one("stablehlo.convert", scaled, result=TensorType((4, 4), "i32"))
    return [b.one("chlo.mulhi", whole, b.one("stablehlo.transpose", whole, permutation=(1, 0)))]


def size(b, x):
    return [b.one("stablehlo.get_dimension_size", x, dimension=1)]


def case(b, x):
    corner = b.one("stablehlo.slice", x, start_indices=(0, 0), limit_indices=(1, 1), strides=(1, 1))
    scalar = b.one("stablehlo.reshape", corner, result=f32())
    index = b.one("stablehlo.convert", scalar, result=TensorType((), "i32"))
    branches = [([], lambda b, k=k: [b.one("stablehlo.add", x, fill(b, k, 4, 4))]) for k in (1.0, 2.0, 3.0)]
    return b.op("stablehlo.case", index, regions=branches)


NORM = {"epsilon": 1e-3, "feature_index": 1}


def rows(b, x):
    """Two vectors of positive numbers."""
    squares = b.one("stablehlo.multiply", x, x)
    for row in (0, 1):
        part = b.one(
            "stablehlo.slice", squares, start_indices=(row, 0), limit_indices=(row + 1, 4), strides=(1, 1)
        )
        yield b.one("stablehlo.reshape", part, result=f32(4))


def norm_inference(b, x):
    v, w = rows(b, x)
    return b.op("stablehlo.batch_norm_inference", x, v, w, v, w, **NORM)


def norm_training(b, x):
    return b.op("stablehlo.batch_norm_training", x, *rows(b, x), **NORM)


def norm_grad(b, x):
    v, w = rows(b, x)
    return b.op("stablehlo.batch_norm_grad", x, v, v, w, positive(b, x), **NORM)


def random_bits(b, x):
    state = b.one("stablehlo.iota", result=TensorType((2,), "u64"), iota_dimension=0)
    types = [TensorType((2,), "u64"), TensorType((4, 5), "u32")]
    return b.op("stablehlo.rng_bit_generator", state, results=types, rng_algorithm="DEFAULT")


BUILT = {
    "cholesky lower": cholesky(True),
    "cholesky upper": cholesky(False),
    "solve": solve(True, True, False, "NO_TRANSPOSE"),
    "solve right": solve(False, False, False, "TRANSPOSE"),
    "solve unit": solve(True, False, True, "ADJOINT"),
    "map": mapped,
    "einsum": einsum,
    "upper halves": halves,
    "dimension size": size,
    "batch norm inference": norm_inference,
    "batch norm training": norm_training,
    "batch norm gradient": norm_grad,
    "random bits": random_bits,
}


@pytest.mark.parametrize("name", BUILT)
def test_rare_operations(name, load):
    agree(BUILT[name], 0.0, load)


@pytest.mark.parametrize("corner", [-9.0, 0.5, 1.5, 9.0])
def test_an_index_outside_the_branches_means_the_last(corner, load):
    agree(case, corner, load)


def agree(body, shift, load):
    builder = GraphBuilder()
    builder.function("main", [f32(4, 4)], body)
    x = (np.random.default_rng(0).standard_normal((4, 4)) * 0.3 + shift).astype(np.float32)
    expected = run(builder.graph, [x])
    for text in (jax_backend.emit(builder.graph), numpy_backend.emit(builder.graph)):
        got = load(text)["main"](x)
        for a, e in zip(got if isinstance(got, tuple) else (got,), expected, strict=True):
            assert np.asarray(a).dtype == e.dtype
        assert_right(builder.graph, builder.graph, [x], got if isinstance(got, tuple) else (got,), text)


@pytest.mark.parametrize("backend", [jax_backend, numpy_backend])
def test_an_unknown_operation_is_named_with_its_place(backend):
    builder = GraphBuilder()

    def body(b, x):
        with b.at(Location("prog.mlir", 7, 3)):
            return b.op("sdy.propagation_barrier", x, results=[f32(4)])

    builder.function("main", [f32(4)], body)
    with pytest.raises(
        ShardcError, match=r"prog.mlir:7:3: error: sdy.propagation_barrier cannot be written as"
    ):
        backend.emit(builder.graph)


def test_sizes_that_no_array_could_have():
    builder = GraphBuilder()
    huge = f32(10**9, 10**9)

    def body(b, x):
        return [b.one("stablehlo.add", x, b.one("stablehlo.multiply", x, fill(b, 2.0, *huge.shape)))]

    builder.function("main", [huge], body)
    for backend in (jax_backend, numpy_backend):
        assert "    return arg0 + arg0 * 2.0\n" in backend.emit(builder.graph)

"""What operations mean in exact arithmetic, against NumPy on numbers that floats hold exactly."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.graph import Op, TensorType
from shardc.graph.attrs import DotDims
from shardc.ops import Trait, chlo, definitions, hlo, meaning
from shardc.ops.definition import of
from shardc.proof import values
from shardc.proof.draws import Draw
from shardc.proof.evaluate import TABLES
from shardc.proof.table import meanings
from shardc.proof.values import DrawAgain, is_exact, same, whole
from tests.tolerance import assert_near

_ = TABLES
RNG = np.random.default_rng(0)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order() -> None:
    RNG.bit_generator.state = START


ELEMENTWISE = [
    definition.example
    for definition in definitions()
    if definition.has(Trait.ELEMENTWISE) and definition.example is not None and definition.meaning is not None
]
REAL = [op for op in ELEMENTWISE if not any(t.dtype.startswith("c") for t in (*op.operands, *op.results))]


def _exactly(op: Op, arrays: list[np.ndarray]) -> list[np.ndarray]:
    found = meanings(Draw(0))(op.name)
    assert found is not None
    return found(op, arrays)


def _plainly(op: Op, arrays: list[np.ndarray]) -> list[np.ndarray]:
    found = meaning(op.name)
    assert found is not None
    return found(op, arrays)


def _argument(type: TensorType) -> np.ndarray:
    if type.dtype == "bool":
        return RNG.integers(0, 2, type.shape).astype(np.bool_)
    return (RNG.integers(-8, 9, type.shape) / 4).astype(type.numpy)


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_shadows_are_what_numpy_computes(op: Op) -> None:
    """The shadow of an operation is its meaning in f64 wherever that is a number."""
    arrays = [_argument(type) for type in op.operands]
    plain, exact = meaning(op.name), meanings(Draw(0))(op.name)
    assert plain is not None and exact is not None
    lifted = [whole(a) if a.dtype.kind == "f" else a for a in arrays]
    with np.errstate(all="ignore"):
        (wanted,) = plain(op, arrays)
        try:
            (found,) = exact(op, lifted)
        except DrawAgain:
            pytest.skip("these arguments decide nothing")
    if not is_exact(found):
        if op.results[0].dtype == "bool":
            assert (found == wanted).all()
        return
    number = np.isfinite(wanted.astype(np.float64)) & np.isfinite(found["shadow"])
    assert number.any()
    assert_near(found["shadow"][number], wanted[number], terms=64, dtype="f32")


@pytest.mark.parametrize("definition", [hlo.add, hlo.subtract, hlo.multiply, hlo.maximum, hlo.minimum])
def test_arithmetic_is_exact(definition) -> None:
    type = TensorType((50,), "f32")
    a, b = _argument(type), _argument(type)
    op = of(definition.name, [type, type], type)
    (found,) = _exactly(op, [whole(a), whole(b)])
    (wanted,) = _plainly(op, [a, b])
    assert same(found, whole(wanted)).all()


@pytest.mark.parametrize("terms", [5, 3000])
def test_products_are_exact(terms: int) -> None:
    left, right = TensorType((2, terms), "f32"), TensorType((terms, 3), "f32")
    dims = DotDims((), (), (1,), (0,))
    op = of(hlo.dot_general.name, [left, right], TensorType((2, 3), "f32"), dot_dimension_numbers=dims)
    a, b = RNG.integers(-99, 99, left.shape), RNG.integers(-99, 99, right.shape)
    (found,) = _exactly(op, [whole(a), whole(b)])
    assert same(found, whole(a @ b)).all()


def test_division_is_the_inverse_of_multiplication() -> None:
    type = TensorType((4,), "f32")
    op, times = (of(d.name, [type, type], type) for d in (hlo.divide, hlo.multiply))
    a, b = whole(np.array([1.0, 2.0, -3.0, 0.0])), whole(np.array([3.0, 7.0, 0.5, 9.0]))
    (quotient,) = _exactly(op, [a, b])
    (product,) = _exactly(times, [quotient, b])
    assert same(product, a).all()


def test_infinities_are_elements_of_their_own() -> None:
    type = TensorType((3,), "f32")
    op = of(hlo.exponential.name, [type], type)
    (found,) = _exactly(op, [whole(np.array([-np.inf, np.inf, 0.0]))])
    assert same(found, whole(np.array([0.0, np.inf, 1.0]))).all()
    nothing = values.identity("max")
    pair = of(hlo.maximum.name, [type, type], type)
    x = whole(np.array([-3.0, 0.0, 5.0]))
    (found,) = _exactly(pair, [np.broadcast_to(nothing, (3,)), x])
    assert same(found, x).all()


def test_values_too_close_to_order_are_drawn_again() -> None:
    type = TensorType((1,), "f32")
    op = of(hlo.maximum.name, [type, type], type)
    rng = np.random.default_rng(0)
    a, b = (values.draw(rng, (1,), np.array([0.5])) for _ in range(2))
    with pytest.raises(DrawAgain):
        _exactly(op, [a, b])


def test_top_k_is_in_order() -> None:
    type = TensorType((2, 5), "f32")
    out = type.with_shape((2, 2))
    op = of(chlo.top_k.name, [type], out, out.with_dtype("i32"), k=2)
    x = np.array([[1.0, 5.0, 5.0, 2.0, 0.0], [3.0, -1.0, 4.0, 4.5, 2.0]])
    wanted, places = _plainly(op, [x])
    found, indices = _exactly(op, [whole(x)])
    assert same(found, whole(wanted)).all()
    assert (indices == places).all()

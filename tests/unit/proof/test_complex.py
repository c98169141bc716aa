"""Complex numbers and Fourier transforms in exact arithmetic, and proofs of programs with them."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph, Op, TensorType, walk
from shardc.graph.attrs import DotDims
from shardc.interpret.arguments import random_inputs
from shardc.interpret.compare import compare
from shardc.interpret.reference import GraphReference
from shardc.ops import chlo, hlo, meaning
from shardc.ops.definition import of
from shardc.passes.pipeline import run_to
from shardc.proof.degrees import Degrees
from shardc.proof.draws import Draw
from shardc.proof.evaluate import TABLES
from shardc.proof.prove import Verdict, prove
from shardc.proof.report import lines
from shardc.proof.table import meanings
from shardc.proof.values import is_complex, parts, same, whole
from tests.tolerance import assert_near
from tests.unit.proof.planted import faults

_ = TABLES

PRODUCTS = """mesh m[x=4]
def f(a: c64[32@x, 16], b: c64[16, 8@x]) -> c64[32, 8]:
    h = a @ b * 0.1
    return h * 2.0 / (1.0 + h * h) + exp(h) * sum(h, 0)
"""
FILTER = """mesh m[x=2, y=2]
def f(a: f32[8@x, 16], b: f32[16, 12@y]) -> (f32[8, 12], f32[8]):
    h = rfft(a @ b, axis=1)
    return irfft(h * h, axis=1), abs(sum(h, 1))
"""
UNEVEN = """mesh m[x=4]
def f(a: c64[10@x, 6]) -> (c64[6], c64[10@x, 6]):
    return sum(exp(a) / (a * a + 1.0), 0), fft(a, axis=0)
"""
STEPS = """mesh m[x=4]
def f(a: c64[8@x, 4]) -> c64[8, 4@x]:
    for i in range(3) carrying a:
        a = fft(a, axis=1) * 0.5 + real(a)
    return ifft(a, axis=0)
"""
CONJUGATE = """mesh m[x=4]
def f(a: c64[8@x, 4]) -> (c64[4], c64[8@x, 4]):
    return sum(conj(a) * a, 0), conj(conj(a)) + 2.0 * conj(a)
"""
PROGRAMS = {"conjugate": CONJUGATE, "products": PRODUCTS, "filter": FILTER, "uneven": UNEVEN, "steps": STEPS}


def _compiled(text: str) -> tuple[Graph, Graph]:
    with collecting():
        module = read(text, "test.shard", {}, None)
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
        return whole, snapshot(module).graph


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_proved(name: str) -> None:
    proof = prove(*_compiled(PROGRAMS[name]))
    assert proof.verdict is Verdict.PROVED, proof.reason
    assert proof.chance < 1e-20


def test_the_conjugate_is_known() -> None:
    """The sum of a number and its conjugate is twice the real part."""
    left, right = (
        _compiled(f"mesh m[x=4]\ndef f(a: c64[8@x, 4]) -> c64[8@x, 4]:\n    return {value}\n")
        for value in ("a + conj(a)", "(2.0 * real(a)).astype(c64)")
    )
    assert prove(left[0], right[1]).verdict is Verdict.PROVED
    other = _compiled(CONJUGATE.replace("conj(a) * a", "a * a"))
    assert prove(_compiled(CONJUGATE)[0], other[1]).verdict is Verdict.DIFFERS


@pytest.mark.parametrize("name", ["products", "filter", "uneven"])
def test_planted_faults_are_found(name: str) -> None:
    """What changes results on random inputs differs; what does not is not said to."""
    whole_, local = _compiled(PROGRAMS[name])
    found = 0
    planted = faults(local)
    for fault in Random(0).sample(planted, min(10, len(planted))):
        with fault.planted():
            said = prove(whole_, local).verdict
            if said is not Verdict.NOT_PROVED:
                assert _is_right(whole_, local) == (said is Verdict.PROVED), str(fault)
        found += said is Verdict.DIFFERS
    assert found > 1


def _is_right(whole_: Graph, local: Graph) -> bool:
    inputs = random_inputs(whole_.types(whole_.main.body.args), 1)
    try:
        return all(result.same for result in compare(GraphReference(whole_), local, inputs))
    except ShardcError:
        return False


def _replaced(graph: Graph, old: str, **changes: Any) -> None:
    nodes, place = next(
        (region.nodes, place)
        for node in walk(graph.main.body)
        for region in node.regions
        for place, inner in enumerate(region.nodes)
        if inner.name == old
    )
    nodes[place] = replace(nodes[place], **changes)


@pytest.mark.parametrize(
    ("operation", "changes"),
    [
        (hlo.fft.name, {"attrs": {"fft_type": "IFFT", "fft_length": (10,)}}),
        (hlo.exponential.name, {"name": hlo.sine.name}),
        (hlo.divide.name, {"name": hlo.multiply.name}),
    ],
)
def test_another_operation_differs(operation: str, changes: dict[str, object]) -> None:
    whole_, local = _compiled(UNEVEN)
    _replaced(local, operation, **changes)
    assert prove(whole_, local).verdict is Verdict.DIFFERS


PARTS = """mesh m[x=4]
def f(a: c64[8@x, 4]) -> c64[8@x, 4]:
    return complex(real(a) * 2.0, {}imag(a))
"""


def test_a_wrong_imaginary_part_is_shown() -> None:
    (whole_, _), (_, local) = _compiled(PARTS.format("")), _compiled(PARTS.format("-"))
    proof = prove(whole_, local)
    assert proof.verdict is Verdict.DIFFERS and proof.difference is not None
    assert proof.difference.wanted == -proof.difference.have


BACK = """mesh m[x=4]
def f(a: c64[8@x, 4]) -> c64[8@x, 4]:
    return {}
"""


def test_that_transforms_are_undone_is_not_known_and_not_refuted() -> None:
    whole_, _ = _compiled(BACK.format("a"))
    _, local = _compiled(BACK.format("ifft(fft(a, axis=1), axis=1)"))
    proof = prove(whole_, local)
    assert proof.verdict is Verdict.NOT_PROVED
    assert "by laws of functions that the proof does not know" in lines(proof)[0]


# ---- meanings

RNG = np.random.default_rng(0)
TYPE = TensorType((8, 4), "c64")
REAL, TRUTH = TYPE.with_dtype("f32"), TYPE.with_dtype("bool")
UNARY = [
    definition.name
    for definition in (
        *(hlo.negate, hlo.exponential, hlo.exponential_minus_one, hlo.log, hlo.log_plus_one, hlo.sqrt),
        *(hlo.rsqrt, hlo.sine, hlo.cosine, hlo.tan, hlo.tanh, hlo.logistic, hlo.sign, chlo.square),
    )
]
PLAIN = [
    *(of(name, [TYPE], TYPE) for name in UNARY),
    *(
        of(each.name, [TYPE] * 2, TYPE)
        for each in (hlo.add, hlo.subtract, hlo.multiply, hlo.divide, hlo.power)
    ),
    *(of(each.name, [TYPE], REAL) for each in (hlo.abs_, hlo.real, hlo.imag, hlo.convert)),
    of(hlo.complex_.name, [REAL] * 2, TYPE),
    of(hlo.convert.name, [REAL], TYPE),
    of(hlo.compare.name, [TYPE] * 2, TRUTH, comparison_direction="NE"),
]


def _argument(type: TensorType) -> np.ndarray:
    real, imaginary = (RNG.integers(-8, 9, type.shape) / 4 for _ in range(2))
    return (real + 1j * imaginary if type.dtype.startswith("c") else real).astype(type.numpy)


def _exactly(op: Op, arrays: list[np.ndarray]) -> np.ndarray:
    found = meanings(Draw(0))(op.name)
    assert found is not None
    return found(op, [whole(array) for array in arrays])[0]


def _plainly(op: Op, arrays: list[np.ndarray]) -> np.ndarray:
    found = meaning(op.name)
    assert found is not None
    return found(op, arrays)[0]


def _shadow(array: np.ndarray) -> np.ndarray:
    if not parts(array):
        return array
    return array["re"]["shadow"] + 1j * array["im"]["shadow"] if is_complex(array) else array["shadow"]


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: f"{op.name} of {op.operands[0].dtype}")
def test_shadows_are_what_numpy_computes(op: Op) -> None:
    arrays = [_argument(type) for type in op.operands]
    with np.errstate(all="ignore"):
        wanted, found = _plainly(op, arrays), _shadow(_exactly(op, arrays))
    number = np.isfinite(wanted) & np.isfinite(found)
    assert number.sum() > 20
    assert_near(found[number], wanted[number], dtype="f32")


@pytest.mark.parametrize("definition", [hlo.add, hlo.subtract, hlo.multiply])
def test_arithmetic_is_exact(definition) -> None:
    op = of(definition.name, [TYPE, TYPE], TYPE)
    arrays = [_argument(TYPE), _argument(TYPE)]
    assert same(_exactly(op, arrays), whole(_plainly(op, arrays))).all()


def test_quotients_are_exact() -> None:
    """(z w) / w is z, and i i is -1."""
    z, w = _argument(TYPE), _argument(TYPE) + 3
    op = of(hlo.divide.name, [TYPE, TYPE], TYPE)
    assert same(_exactly(op, [z * w, w]), whole(z)).all()
    i = np.full(TYPE.shape, 1j, np.complex64)
    assert same(_exactly(of(hlo.multiply.name, [TYPE, TYPE], TYPE), [i, i]), whole(i * i)).all()


def test_products_are_exact() -> None:
    left, right, out = TensorType((2, 70), "c64"), TensorType((70, 3), "c64"), TensorType((2, 3), "c64")
    op = of(hlo.dot_general.name, [left, right], out, dot_dimension_numbers=DotDims((), (), (1,), (0,)))
    arrays = [_argument(left), _argument(right)]
    assert same(_exactly(op, arrays), whole(_plainly(op, arrays))).all()


@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
@pytest.mark.parametrize("lengths", [(1,), (6,), (7,), (4, 6), (3, 5)])
def test_shadows_are_the_real_transforms(kind: str, lengths: tuple[int, ...]) -> None:
    last = lengths[-1] // 2 + 1 if kind == "IRFFT" else lengths[-1]
    operand = TensorType((2, *lengths[:-1], last), "f32" if kind == "RFFT" else "c64")
    x = _argument(operand)
    wanted = _plainly(of(hlo.fft.name, [operand], operand, fft_type=kind, fft_length=lengths), [x])
    out = TensorType(wanted.shape, "f32" if kind == "IRFFT" else "c64")
    found = _exactly(of(hlo.fft.name, [operand], out, fft_type=kind, fft_length=lengths), [x])
    assert_near(_shadow(found), wanted, terms=64, dtype="f32")


def test_a_transform_over_two_dimensions_is_one_over_each() -> None:
    type = TensorType((4, 6), "c64")
    x = whole(_argument(type))
    apply = meanings(Draw(0))(hlo.fft.name)
    assert apply is not None
    both = of(hlo.fft.name, [type], type, fft_type="FFT", fft_length=(4, 6))
    rows = of(hlo.fft.name, [type], type, fft_type="FFT", fft_length=(6,))
    turned = TensorType((6, 4), "c64")
    columns = of(hlo.fft.name, [turned], turned, fft_type="FFT", fft_length=(4,))
    one_by_one = apply(columns, [apply(rows, [x])[0].T])[0].T
    assert same(apply(both, [x])[0], one_by_one).all()


def test_degrees_count_denominators_of_pairs() -> None:
    """1 / (1 + z z) is conj(1 + z z) over a sum of squares, of degree 4."""
    text = "mesh m[x=2]\ndef f(z: c64[4@x]) -> c64[4@x]:\n    return 1.0 / (1.0 + z * z)\n"
    whole_, _ = _compiled(text)
    assert Degrees(whole_, {}).results() == 2 + 4

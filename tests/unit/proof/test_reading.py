"""Emitted NumPy texts, read back and proved; faults in the texts."""

from __future__ import annotations

import pytest

from shardc.backend.numpy import emit
from shardc.graph import Graph, TensorType, walk
from shardc.ops import hlo
from shardc.proof.prove import Verdict
from shardc.proof.reading.kernel_names import KernelNames
from shardc.proof.reading.numpy_names import NumpyNames
from shardc.proof.reading.numpy_text import read_back
from shardc.proof.reading.recorded import Recorded, Recorder
from shardc.proof.reading.text import prove_text
from shardc.proof.values import Beyond
from tests.unit.proof.programs import LAYER, LOOP, MOVES, PROGRAMS, SPECTRAL, TAKE, UNEVEN, emitted


def _emitted(program: str) -> tuple[Graph, str]:
    return emitted(program, emit)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_emitted_is_proved(name: str) -> None:
    proof = prove_text(*_emitted(PROGRAMS[name]), "numpy")
    assert proof.verdict is Verdict.PROVED, proof.reason


def test_a_loop_stays_a_loop() -> None:
    whole, text = _emitted(LOOP)
    nodes = [node for f in read_back(text, whole).functions.values() for node in walk(f.body)]
    assert sum(node.name == hlo.while_.name for node in nodes) == 1
    assert prove_text(whole, text, "numpy").loops[0]  # and is proved by induction


FAULTS = {
    "a sum over other devices": (LAYER, 'comm.psum(np.maximum(x @ w1, 0.0) @ w2, "model")',
                                 'comm.psum(np.maximum(x @ w1, 0.0) @ w2, "data")'),
    "no sum": (LAYER, 'comm.psum(np.maximum(x @ w1, 0.0) @ w2, "model")', "np.maximum(x @ w1, 0.0) @ w2"),
    "a maximum": (LAYER, "comm.psum(", "comm.pmax("),
    "another function": (LAYER, "np.maximum(", "np.minimum("),
    "another number": (LAYER, "1e-06", "1e-05"),
    "another axis": (LAYER, "np.mean(y * y, axis=1", "np.mean(y * y, axis=0"),
    "swapped operands": (LAYER, " - x", " * -1.0 + x"),
    "no root": (LAYER, "1.0 / np.sqrt(", "1.0 / (" ),
    "another layout": (LAYER, 'out_specs=(P("data", None),)', 'out_specs=(P("model", None),)'),
    "a slice one off": (MOVES, "2:12", "3:13"),
    "pieces swapped": (MOVES, "5:], y[:, :5]", ":5], y[:, 5:]"),
    "sums along another axis": (MOVES, "np.cumsum(y, axis=0", "np.cumsum(y, axis=1"),
    "padding that counts": (UNEVEN, "-np.inf", "np.inf"),
    "other rows": (TAKE, "* 16", "* 15"),
    "a loop too short": (LOOP, "range(6)", "range(5)"),
    "another layer": (LOOP, "ws[i]", "ws[0]"),
    "a layer that is none": (LOOP, "range(6)", "range(7)"),
    "a place that is not clipped": (LOOP, "ws[i]", "ws[i - 1]"),
    "the transform back": (SPECTRAL, "np.fft.fft(", "np.fft.ifft("),
    "a transform of other lengths": (SPECTRAL, "np.fft.irfft(", "np.fft.hfft("),
    "no conjugate": (SPECTRAL, "np.conj(", "("),
    "the other part": (SPECTRAL, "np.imag(", "np.real("),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_a_text_are_found(name: str) -> None:
    program, right, wrong = FAULTS[name]
    whole, text = _emitted(program)
    assert right in text, text
    proof = prove_text(whole, text.replace(right, wrong, 1), "numpy")
    assert proof.verdict is not Verdict.PROVED


def test_numbers_that_say_where_a_part_begins_are_integers() -> None:
    """ops.dynamic_update_slice(carry, t[None], i, 0, 0)"""
    recorder = Recorder()
    names = KernelNames(recorder)

    def body(_: object, *given: int) -> list[int]:
        array, update, start = (Recorded(recorder, value) for value in given)
        moved = names.dynamic_update_slice(array, update, start, 0, 0)
        return [names.dynamic_slice(moved, 0, 0, 0, slice_sizes=(1, 2, 2)).value]

    types = [TensorType((4, 2, 2), "f32"), TensorType((1, 2, 2), "f32"), TensorType((), "i64")]
    nodes = recorder.builder.function("main", types, body).body.nodes
    update, part = (
        node for node in nodes if node.name in (hlo.dynamic_slice.name, hlo.dynamic_update_slice.name)
    )
    graph = recorder.builder.graph
    assert [graph.type(value).dtype for value in update.operands[2:]] == ["i64"] * 3
    assert [graph.type(value).dtype for value in part.operands[1:]] == ["i32"] * 3


def test_what_cannot_be_read_is_not_proved() -> None:
    whole, text = _emitted(LAYER)
    proof = prove_text(whole, text.replace("np.maximum(", "np.heaviside("), "numpy")
    assert proof.verdict is Verdict.NOT_PROVED and "np.heaviside" in proof.reason


def test_a_text_reads_nothing_and_runs_nothing_else() -> None:
    whole, text = _emitted(LAYER)
    with pytest.raises(Beyond, match="open"):
        read_back(text.replace("    y = comm", "    open('x', 'w')\n    y = comm"), whole)


def test_large_shapes_do_not_allocate() -> None:
    whole, text = _emitted(LAYER.replace("B = 64", "B = 64000000"))
    assert prove_text(whole, text, "numpy").verdict is Verdict.PROVED


PLACES = """
mesh m[x=4]
def f(a: f32[12@x, 4], c: f32[10@x, 4]) -> (f32[12@x, 4], f32[10@x, 4], f32[4, 4]):
    best = a
    for i in range(6) carrying best:
        row = a[11 - i]
        best = dynamic_update_slice(best, where(row > best[i], row, 0.0)[None], (i, 0))
    return best, c * 2.0, c[1:8:2]
"""


def test_places_that_follow_from_counters_and_positions_are_read() -> None:
    """a[11 - i], and a table of the devices' starts."""
    whole, text = _emitted(PLACES)
    assert "a[j]" in text or "11) - i" in text, text
    proof = prove_text(whole, text, "numpy")
    assert proof.verdict is Verdict.PROVED, proof.reason
    for wrong, found in (("np.int32(5) - i", Verdict.DIFFERS), ("np.int32(12) - i", Verdict.NOT_PROVED)):
        altered = text.replace("np.int32(11) - i", wrong)
        assert altered != text
        assert prove_text(whole, altered, "numpy").verdict is found


RANGES = {
    "np.int32(11) - i": (6, 11),
    "np.clip(x, 7, 3)": (3, 3),
    "np.int32(3) * i - 20": (-20, -5),
    "np.where(i < 2, i, np.int32(-1))": (-1, 5),
    "np.array([1, 2, 1, 0], np.int32)[i % 4]": None,
    "np.int32(2147483647) + i": None,
    "x + 1": None,
}


@pytest.mark.parametrize("text", RANGES)
def test_what_integers_can_be(text: str) -> None:
    recorder = Recorder()
    names = NumpyNames(recorder)
    found: list[tuple[int, int] | None] = []

    def body(_: object, *given: int) -> list[int]:
        i, x = (Recorded(recorder, value) for value in given)
        recorder.bounds[i.value] = (0, 5)
        try:
            result = eval(text, {"np": names, "i": i, "x": x})
        except Beyond:  # the place in the table is not known
            return [i.value]
        found.append(recorder.bounds.get(result.value))
        return [result.value]

    recorder.builder.function("main", [TensorType((), "i32")] * 2, body)
    assert (found or [None]) == [RANGES[text]]


ODD = {
    "a class in place of a dtype": ("dtype=np.dtype(np.int32)", "dtype=np.int32"),
    "a size below zero": ("np.zeros((8,", "np.zeros((-8,"),
    "a size that NumPy finds": ("x.reshape(16)", "x.reshape(-1)"),
}
ODD_TEXT = """
def main(x):
    y = ops.convert(x, dtype=np.dtype(np.int32))
    return x.reshape(16), y.astype(np.float32), np.zeros((8, 2), np.float32) + x
"""


@pytest.mark.parametrize("name", [None, *ODD])
def test_what_numpy_takes_otherwise_is_not_proved(name: str | None) -> None:
    whole = emitted(
        "mesh m[x=2]\ndef main(x: f32[8, 2]) -> (f32[16], f32[8, 2], f32[8, 2]):\n"
        "    return reshape(x, (16,)), astype(astype(x, i32), f32), x\n",
        emit,
    )[0]
    text = ODD_TEXT if name is None else ODD_TEXT.replace(*ODD[name])
    assert (text == ODD_TEXT) == (name is None)
    proof = prove_text(whole, text, "numpy")
    assert (proof.verdict is Verdict.PROVED) == (name is None), proof.reason


REFUSED = {
    "shapes that do not fit": ("x @ w1", "w1 @ x"),
    "shapes that are not alike": ("y * y", "y * w1"),
    "an axis that is not there": ("axis=1, keepdims", "axis=2, keepdims"),
    "an axis that the mesh does not have": ('w2, "model")', 'w2, "modell")'),
    "a name that is not there": ("y * y", "y * u"),
    "a name that has no value yet": ("y * y", "y * exps"),
    "one result too many": ("return exps", "return y, exps"),
    "no Python": ("return exps", "return (exps"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_text_that_does_not_run_differs(name: str) -> None:
    right, wrong = REFUSED[name]
    whole, text = _emitted(LAYER)
    assert right in text, text
    proof = prove_text(whole, text.replace(right, wrong, 1), "numpy")
    assert proof.verdict is Verdict.DIFFERS and "does not run" in proof.reason, proof.reason


def test_a_text_that_does_not_fit_fails() -> None:
    """NumPy's slices end at the dimension's end, the operation's do not."""
    whole, text = _emitted(TAKE.replace("take(t, i, 0)", "dynamic_slice(t, (i[0], 0), (8, 128))"))
    assert "(8, 128)" in text, text
    proof = prove_text(whole, text.replace("(8, 128)", "(8, 129)"), "numpy")
    assert proof.verdict is Verdict.NOT_PROVED and proof.fails, proof.reason


COUNTED = """
mesh m[x=4]
def f(x: bool[16@x, 8]) -> bool[8]:
    return any(x, 0)
"""


def test_truth_values_are_counted_in_numbers() -> None:
    whole, text = _emitted(COUNTED)
    assert prove_text(whole, text, "numpy").verdict is Verdict.PROVED
    assert prove_text(whole, text.replace("pmax", "psum"), "numpy").verdict is Verdict.DIFFERS

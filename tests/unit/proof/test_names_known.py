"""Every function that the printers of NumPy texts write is one that the reader of such texts knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardc.backend.numpy import emit
from shardc.graph import walk
from shardc.ops import definitions
from shardc.proof.prove import Verdict
from shardc.proof.reading.kernel_names import KernelNames
from shardc.proof.reading.numpy_names import NumpyNames
from shardc.proof.reading.numpy_text import read_back
from shardc.proof.reading.recorded import Recorder
from shardc.proof.reading.text import prove_text
from tests.unit.proof.programs import emitted

BESIDE = {"ndarray", "random.default_rng"}
"""In signatures, and in what a text does when it is run as a program."""

_NAMES = re.compile(r"(?:\bnp|xp\})\.([a-z_0-9.]*[a-z_0-9])")


def _written() -> set[str]:
    """The names in the table of operations, and in the strings of the printers' modules."""
    texts = [text for each in definitions() if (text := each.spelling.numpy) is not None]
    root = Path(__file__).parents[3] / "shardc" / "backend"
    for path in (*root.glob("numpy/*.py"), *root.glob("python/*.py")):
        texts += re.findall(r'"[^"\n]*"', path.read_text(encoding="utf-8"))
    return {name for text in texts for name in _NAMES.findall(text)} - BESIDE


def test_functions_of_numpy() -> None:
    names = _written()
    assert {"isnan", "maximum.accumulate", "tanh", "einsum", "arccos"} <= names
    for name in sorted(names):
        found: object = NumpyNames(Recorder())
        for part in name.split("."):
            found = getattr(found, part)


def test_functions_of_operations() -> None:
    texts = [text for each in definitions() if (text := each.spelling.numpy) is not None]
    names = {name for text in texts for name in re.findall(r"\bops\.([a-z_0-9]+)", text)}
    assert names
    for name in sorted(names):
        assert callable(getattr(KernelNames(Recorder()), name))


PROGRAM = """
mesh pod[data=2, model=4]
def f(x: f32[8@data, 16@model], y: f32[8@data, 16]) -> f32[8, 16]:
    return {}
"""


def test_running_maxima() -> None:
    whole, text = emitted(PROGRAM.format("cummax(y, axis=1)"), emit)
    assert "np.maximum.accumulate(" in text, text
    proof = prove_text(whole, text, "numpy")
    assert proof.verdict is Verdict.PROVED, proof.reason
    wrong = text.replace("np.maximum.accumulate(", "np.minimum.accumulate(")
    assert prove_text(whole, wrong, "numpy").verdict is Verdict.DIFFERS


def test_what_is_no_number() -> None:
    whole, text = emitted(PROGRAM.format("where(x != x, y, x)"), emit)
    assert "x != x" in text, text
    proof = prove_text(whole, text.replace("x != x", "np.isnan(x)"), "numpy")
    assert proof.verdict is Verdict.PROVED, proof.reason
    wrong = text.replace("x != x", "np.isfinite(x)")
    assert prove_text(whole, wrong, "numpy").verdict is Verdict.DIFFERS


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "atanh"])
def test_inverse_functions(name: str) -> None:
    whole, text = emitted(PROGRAM.format("tanh(x) + y"), emit)
    assert "np.tanh(x)" in text, text
    other = text.replace("np.tanh(x)", f"np.arc{name.removeprefix('a')}(x)")
    nodes = [node for f in read_back(other, whole).functions.values() for node in walk(f.body)]
    assert sum(node.name == f"chlo.{name}" for node in nodes) == 1
    assert prove_text(whole, other, "numpy").verdict is not Verdict.PROVED

"""Every function that printers of NumPy and JAX texts write is one that the readers of such texts know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardc.backend.numpy import emit
from shardc.graph import walk
from shardc.ops import definitions
from shardc.proof.prove import Verdict
from shardc.proof.reading.jax_text import names_of_text
from shardc.proof.reading.kernel_names import KernelNames
from shardc.proof.reading.numpy_names import NumpyNames
from shardc.proof.reading.numpy_text import read_back
from shardc.proof.reading.recorded import Recorder
from shardc.proof.reading.text import prove_text
from tests.unit.proof.programs import emitted

BESIDE = {"ndarray", "random.default_rng"}
"""In signatures, and in what a text does when it is run as a program."""

OF_JAX = {"jax.numpy", "jax.lax", "jax.lax.linalg", "jax.sharding", "jax.Array", "jax.experimental",
          "jax.extend.backend", "jax.extend.random", "jnp.int", "np.dtype", "np.generic"}  # fmt: skip
"""Modules, which texts import by name, types in signatures, and the beginnings of names."""

OF_PROCESSES = {
    "jax.make_array_from_process_local_data",
    "jax.process_index",
    "jax.tree.leaves",
    "np.random.default_rng",
}
OF_HOSTS = {"jax.debug.callback", "jax.ffi.ffi_call", "jax.pure_callback"}
"""What a text does when it is run as a program, and what no reader can know."""

_NAMES_OF_JAX = re.compile(r"\b((?:jnp|lax|jax|np)\.[a-zA-Z_0-9.]*[a-zA-Z_0-9])")
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


def test_functions_of_jax() -> None:
    pytest.importorskip("jax")
    texts = [text for each in definitions() if (text := each.spelling.jax) is not None]
    root = Path(__file__).parents[3] / "shardc" / "backend" / "jax"
    for path in root.rglob("*.py"):
        texts += re.findall(r'"[^"\n]*"', path.read_text(encoding="utf-8"))
    names = {name for text in texts for name in _NAMES_OF_JAX.findall(text)}
    assert {"jnp.tanh", "lax.ppermute", "jax.nn.softmax", "jax.debug.callback"} <= names
    for name in sorted(names - OF_JAX - OF_PROCESSES - OF_HOSTS):
        first, *rest = name.split(".")
        found = names_of_text()[first]
        for part in rest:
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

"""Emitted MPI texts, read back and proved; faults in the texts."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardc
from shardc.backend.mpi import emit
from shardc.graph import Graph
from shardc.proof.prove import Verdict
from shardc.proof.reading.text import prove_text
from tests.unit.proof.programs import LAYER, LOOP, PROGRAMS, TAKE, UNEVEN, emitted

ALONE = """
def f(x: f32[8, 4]) -> f32[8, 4]:
    return softmax(cumsum(x, 0), 1)
"""


def _emitted(program: str) -> tuple[Graph, str]:
    return emitted(program, emit)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_emitted_is_proved(name: str) -> None:
    proof = prove_text(*_emitted(PROGRAMS[name]), "mpi")
    assert proof.verdict is Verdict.PROVED, proof.reason


def test_a_program_for_one_device() -> None:
    whole, text = _emitted(ALONE)
    assert prove_text(whole, text, "mpi").verdict is Verdict.PROVED
    assert prove_text(whole, text.replace("axis=0", "axis=1", 1), "mpi").verdict is not Verdict.PROVED


@pytest.mark.parametrize("target", ["mpi", "jax"])
def test_programs_for_processes_that_take_dicts(target: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    text = (Path(__file__).parents[2] / "e2e/programs/dict_trees.mlir").read_text()
    here = target == "jax"
    program = shardc.compile(text, language="mlir", target=target, process_data=here, prove=True)
    assert "def main_local(p, x):" in program.source
    assert program.proof is not None and program.proof.startswith("proved"), program.proof


FAULTS = {
    "a sum over other devices": (LAYER, '@ w2, "model")', '@ w2, "data")'),
    "a maximum": (LAYER, "y = comm.psum(", "y = comm.pmax("),
    "no communicator": (LAYER, 'GROUPS = ["model"]', "GROUPS = []"),
    "another layout of an argument": (LAYER, '(None, "model")),', '("model", None)),'),
    "another layout of a result": (LAYER, '("data", None), None),', '("model", None), None),'),
    "another dtype": (LAYER, "((64, 128), np.float32", "((64, 128), np.float64"),
    "another mesh": (LAYER, '{"data": 2, "model": 4}', '{"model": 8}'),
    "other rows": (TAKE, "* 16", "* 15"),
    "padding that counts": (UNEVEN, "-np.inf", "np.inf"),
    "a loop too short": (LOOP, "range(6)", "range(5)"),
    "another way to talk": (LAYER, "parts[1:]", "parts[2:]"),
    "another import": (LAYER, "import numpy as np", "import jax.numpy as np"),
    "a function once more": (LAYER, "\n# How dev", "def main(x, w1, w2):\n    return x\n\n\n# How dev"),
    "a function below": (LAYER, "\nif __name__", "\ndef psum(x):\n    return x\n\n\nif __name__"),
    "a name of what it carries": (LAYER, "device_main(comm", "gathered(comm"),
    "what runs first": (LAYER, "\nAXES =", "\nnp.float32 = np.float64\nAXES ="),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_a_text_are_found(name: str) -> None:
    program, right, wrong = FAULTS[name]
    whole, text = _emitted(program)
    assert right in text, text
    assert prove_text(whole, text.replace(right, wrong, 1), "mpi").verdict is not Verdict.PROVED

"""Collectives of transformer training steps: as many as the shape of the program asks for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax")

BENCH = Path(__file__).resolve().parents[3] / "bench" / "transformer.py"


@pytest.fixture(scope="module")
def transformer() -> Any:
    spec = importlib.util.spec_from_file_location("bench_transformer", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


CASES = [("block", "bp", 2), ("block", "mp", 1), ("block", "z3", 1), ("lm", "bp", 1), ("lm", "z3", 1)]
CASES += [("lm", "z3", 6)]  # more than a thousand operations


@pytest.mark.parametrize(("model", "schedule", "layers"), CASES)
def test_counts(transformer: Any, model: str, schedule: str, layers: int) -> None:
    counts, _, _ = transformer.measure(model, schedule, transformer.Size(layers))
    assert counts == transformer.expected(model, schedule, layers)


@pytest.mark.parametrize(("model", "layers"), [("block", 2), ("lm", 1)])
def test_gathered_again(transformer: Any, model: str, layers: int) -> None:
    counts, _, _ = transformer.measure(model, "z3", transformer.Size(layers), regather=True)
    assert counts == transformer.expected(model, "z3", layers, regather=True)


def test_the_tables_of_thirty_two_layers(transformer: Any) -> None:
    assert transformer.expected("lm", "bp", 32) == (0, 290, 0)
    assert transformer.expected("lm", "mp", 32) == (0, 418, 0)
    assert transformer.expected("lm", "z2", 32) == (129, 289, 129)
    assert transformer.expected("lm", "z3", 32, regather=True) == (259, 289, 129)
    assert transformer.expected("block", "z3", 2) == (12, 11, 12)
    assert transformer.expected("block", "z3", 2, regather=True) == (24, 11, 12)

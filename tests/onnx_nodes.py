"""The node tests that come with the package onnx, run unsharded; and what is counted of them.

`python -m tests.onnx_nodes` writes docs/onnx.md.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.model import Model, array_of
from shardc.frontend.onnx.problems import DynamicModel, UnsupportedModel
from shardc.graph.types import DTYPES
from shardc.interpret.run import run
from tests.tolerance import assert_near, assert_printed

PAGE = Path(__file__).parents[1] / "docs" / "onnx.md"

PRINTED = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad",
    "test_roialign_aligned_false",
    "test_roialign_aligned_true",
}
"""Cases whose results the package has with four decimals."""

_DTYPES = {dtype for _, dtype in DTYPES.values()}


@dataclass(frozen=True, eq=False)
class Case:
    """One test: a model, what it is given, what it should give."""

    name: str
    model: ModelProto
    inputs: Sequence[Any]
    outputs: Sequence[Any]

    @property
    def operator(self) -> str:
        """The operator that it tests: that of its only node, or what its name says."""
        nodes = self.model.graph.node
        domain = nodes[0].domain
        if len(nodes) == 1:
            return f"{domain}:{nodes[0].op_type}" if domain else nodes[0].op_type
        return "several nodes"

    @property
    def dense(self) -> bool:
        """Whether all arrays are of dtypes that shardc has."""
        return all(
            isinstance(value, np.ndarray | np.generic) and value.dtype in _DTYPES
            for value in (*self.inputs, *self.outputs)
        )


@cache
def cases() -> tuple[Case, ...]:
    """All of them, in the order of the package."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        found = collect_testcases("")
    return tuple(_cases(found))


def _cases(found: Sequence[Any]) -> Iterator[Case]:
    for case in found:
        inputs, outputs = case.data_sets[0]
        yield Case(case.name, case.model, [*map(_array, inputs)], [*map(_array, outputs)])


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def lowered(case: Case) -> Lowering:
    """The model lowered; inputs that its shapes depend on are fixed to those of the case."""
    names = [info.name for info in case.model.graph.input]
    values: dict[str, Any] = {}
    while True:
        lowering = Lowering(Model(case.model, case.name), {}, values)
        try:
            lowering.build()
            return lowering
        except DynamicModel as error:
            wanted = [name for name in error.inputs if name not in values]
            if not wanted:
                raise
            values = values | {name: np.asarray(case.inputs[names.index(name)]) for name in wanted}


def computed(case: Case) -> list[np.ndarray]:
    """The results of the case's model on its inputs."""
    lowering = lowered(case)
    given = [
        np.asarray(value)
        for info, value in zip(case.model.graph.input, case.inputs, strict=False)
        if info.name not in lowering.values
    ]
    weights = [array_of(tensor, None) for tensor in lowering.weights.values()]
    return run(snapshot(lowering.module).graph, [*given, *weights])


def check(case: Case, results: Sequence[np.ndarray]) -> None:
    """AssertionError unless the results are right, as near as sums of up to 256 terms."""
    assert len(results) == len(case.outputs)
    for result, output in zip(results, case.outputs, strict=True):
        wanted = np.asarray(output)
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        if case.name in PRINTED:
            assert_printed(result, wanted, decimals=4)
        else:
            assert_near(result, wanted, terms=256)


def outcome(case: Case) -> str:
    """right, or why the case is refused."""
    try:
        results = computed(case)
    except UnsupportedModel as error:
        return "refused: " + ", ".join(sorted(error.counts))
    except ShardcError as error:
        return "refused: " + error.diagnostic.message.splitlines()[0].removeprefix(f"{case.name} ")
    check(case, results)
    return "right"


@cache
def outcome_of(case: Case) -> str:
    """The same, computed once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(case)


def outcomes() -> dict[str, str]:
    """The outcome of every case by its name."""
    return {case.name: outcome_of(case) for case in cases()}


def page(text: str) -> str:
    """The page with the counts of this package between its marks."""
    head, mark, rest = text.partition("<!-- counts -->\n")
    tail = rest.partition("<!-- end -->")[2]
    return head + mark + "\n".join(_lines()) + "\n<!-- end -->" + tail


def _lines() -> Iterator[str]:
    found = outcomes()
    right, total = Counter[str](), Counter[str]()
    for case in cases():
        total[case.operator] += 1
        right[case.operator] += found[case.name] == "right"
    dense = [case for case in cases() if case.dense]
    dense_right = sum(found[case.name] == "right" for case in dense)
    every, all_right = sum(total.values()), sum(right.values())
    refused = every - all_right
    yield f"Of the {every} node tests of onnx {onnx.__version__}, {all_right} are right and {refused}"
    yield f"are refused; of the {len(dense)} whose tensors are all of dtypes that shardc has,"
    yield f"{dense_right} are right."
    yield ""
    yield "| Operator | Right | Cases |"
    yield "| --- | ---: | ---: |"
    for name in sorted(total):
        yield f"| {name} | {right[name]} | {total[name]} |"
    yield ""
    yield "What is refused, and for how many cases:"
    yield ""
    reasons = Counter(o.removeprefix("refused: ") for o in found.values() if o != "right")
    for reason, count in sorted(reasons.items()):
        yield f"- {count}: {reason}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

"""What the devices are compared with: the program on one device, another function of it, or one in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol, cast

import numpy as np

from shardc.diagnostics import ShardcError
from shardc.graph import Graph, TensorType
from shardc.interpret.decisions import Decision, Decisions, affected
from shardc.interpret.resummed import resummed
from shardc.interpret.run import run
from shardc.interpret.wide import run_wide, widened
from shardc.ops import meaning
from shardc.semantics.arrays import Array

Judged = tuple[list[Array], dict[int, list[Decision]]]
"""Results, and for each the decisions that fell otherwise than in `Reference.exact`."""

Sampled = Callable[[Sequence[Array], int], Judged]
"""Results of arguments, with sums in an order that a seed says, where that can be."""


class Reference(Protocol):
    """Computes the right results of an entry.

    alike: whether it has the program's own literals, so what differs in f64 differs.
    """

    @property
    def alike(self) -> bool: ...

    def exact(self, arrays: Sequence[Array]) -> list[Array]:
        """The results in f64, integers exactly. Called first."""
        ...

    def own(self, arrays: Sequence[Array], seed: int | None = None) -> Judged:
        """The results in the program's own dtypes, and by result the decisions that fell otherwise in f64;
        with a seed sums are in another order, where that can be.
        """
        ...

    def nearby(self, arrays: Sequence[Array], seed: int) -> Judged:
        """The results in f64 for arguments in f64, near those of `exact`, as `own` has them."""
        ...


class GraphReference:
    """A function of a program, on one device; `alike` if it is what was compiled."""

    def __init__(self, graph: Graph, alike: bool = True) -> None:
        self.graph, self.alike = graph, alike
        self._exact = Decisions(graph)

    def exact(self, arrays: Sequence[Array]) -> list[Array]:
        return run_wide(self.graph, arrays, self._exact.record)

    def own(self, arrays: Sequence[Array], seed: int | None = None) -> Judged:
        decisions = Decisions(self.graph)
        means = meaning if seed is None else resummed(seed)
        results = run(self.graph, arrays, trace=decisions.record, meanings=means)
        return results, affected(self.graph, decisions.otherwise(self._exact))

    def nearby(self, arrays: Sequence[Array], seed: int) -> Judged:
        decisions = Decisions(self.graph)
        results = run_wide(self.graph, arrays, decisions.record, resummed(seed))
        return results, affected(self.graph, decisions.otherwise(self._exact))


class PythonReference:
    """A NumPy or JAX function of the same arguments, in order; its results are those of the entry, in order.

    It decides in f64 what it gets in f64; JAX is told to keep f64. `types` are the entry's results. 0.1 is
    another number in Python than in f32.
    """

    alike = False

    def __init__(self, function: Callable[..., Any], types: Sequence[TensorType], name: str) -> None:
        self.function, self.types, self.name = function, types, name

    def exact(self, arrays: Sequence[Array]) -> list[Array]:
        with _f64():
            return [widened(array) for array in self._results([widened(array) for array in arrays])]

    def own(self, arrays: Sequence[Array], seed: int | None = None) -> Judged:
        results = self._results(arrays)
        return [array.astype(type.numpy) for array, type in zip(results, self.types, strict=True)], {}

    def nearby(self, arrays: Sequence[Array], seed: int) -> Judged:
        return self.exact(arrays), {}

    def _results(self, arrays: Sequence[Array]) -> list[Array]:
        try:
            leaves = _leaves(self.function(*arrays))
        except Exception as error:
            raise ShardcError(f"--against {self.name}: {type(error).__name__}: {error}") from error
        have = [tuple(array.shape) for array in leaves]
        want = [type.shape for type in self.types]
        if have != want:
            raise ShardcError(f"--against {self.name} gives arrays of shapes {have}, the program {want}")
        return leaves


def _leaves(value: object) -> list[Array]:
    """The arrays of nested tuples, lists and dictionaries, in order."""
    if isinstance(value, Mapping):
        items = sorted(cast("Mapping[str, object]", value).items())
        return [leaf for _, item in items for leaf in _leaves(item)]
    if isinstance(value, tuple | list):
        return [leaf for item in cast("Sequence[object]", value) for leaf in _leaves(item)]
    return [np.asarray(value)]


def _f64() -> Any:
    """Let JAX compute in f64, if the function has brought it."""
    jax = sys.modules.get("jax")
    return nullcontext() if jax is None else cast("Any", jax).enable_x64(True)

"""Runs a NumPy program's device_main by itself: collectives give arrays of the right shape, of ones.

python -m bench.one_device FILE   the peaks that tracemalloc measures and that the report says, as JSON
"""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from bench.suites import JUDGED, texts
from shardc.analysis import per_device
from shardc.backend import numpy as backend
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph, TensorType
from shardc.passes.pipeline import run_to
from shardc.report.cost import cost_of
from shardc.runtime.comm import Call, Comm
from shardc.runtime.groups import MeshGroups


class Alone(Comm):
    """A device that nobody answers."""

    def _meet(self, call: Call, x: Any) -> Any:
        parts, shape = self._groups.over(call.axes).size, list(x.shape)
        params: dict[str, Any] = dict(call.params)
        if call.kind == "all_gather":
            shape[params["axis"]] *= parts
        elif call.kind == "psum_scatter":
            shape[params["scatter_dimension"]] //= parts
        elif call.kind == "all_to_all":
            shape[params["split_axis"]] //= parts
            shape[params["concat_axis"]] *= parts
        return np.ones(shape, x.dtype)


def peak(graph: Graph) -> int:
    """The most bytes that tracemalloc sees while one device runs a local module's NumPy program."""
    program = per_device.read(graph)
    assert program.mesh is not None
    scope: dict[str, Any] = {"__name__": "alone"}
    exec(compile(backend.emit(graph), "alone", "exec"), scope)
    run = scope["device_main"]
    comm = Alone(MeshGroups(scope["mesh"]()), 0)
    types = [graph.type(value) for value in program.body.args]
    run(comm, *map(block, types))  # what Python and NumPy allocate once
    gc.collect()
    tracemalloc.start()
    try:
        blocks = [block(type) for type in types]
        tracemalloc.reset_peak()
        run(comm, *blocks)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def block(type: TensorType) -> Any:
    rng = np.random.default_rng(type.size)
    if type.numpy.kind in "iub":
        return np.asarray(rng.integers(0, 2, type.shape)).astype(type.numpy)
    return np.asarray(rng.standard_normal(type.shape) * 0.1).astype(type.numpy)


def main() -> None:
    """Writes {program: {said, measured}} of both suites to the file that is named."""
    found: dict[str, dict[str, int]] = {}
    for name, text in texts(JUDGED):
        with collecting():
            module = read(text(), name)
            run_to(make_context(), module, "local")
        graph = snapshot(module).graph
        found[name] = {"said": cost_of(graph, backend.peak(graph)).memory.peak, "measured": peak(graph)}
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

"""Programs that people write, through both targets and --run, and what their communication may come to.

A line `# expect: all_reduce=1 all_gather=0 bytes<=1536` in a program says how many collectives of a kind its
per-device code has, and how many bytes a device may send when it runs, as counted by hand.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from shardc.analysis.loops import Constants, counted
from shardc.backend.jax import emit as emit_jax
from shardc.backend.numpy import emit as emit_numpy
from shardc.cli.driver import load
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.graph import Graph, Region
from shardc.graph.trees import arguments_of
from shardc.interpret.arguments import random_inputs
from shardc.interpret.run import run
from shardc.layout import Axis, size_of
from shardc.ops import sent
from shardc.passes.pipeline import run_to
from shardc.runtime.trees import leaves
from tests.sampling import chosen
from tests.tolerance import assert_right
from tests.xla_flags import QUICK

FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(FOLDER.glob("*.shard"))

COLLECTIVES = {
    f"spmd.{name}"
    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")
}

RUN_ALL = """
import importlib.util, pickle, sys
import jax
import numpy as np
jax.config.update("jax_num_cpu_devices", 8)
results = {}
for name in sys.argv[1:]:
    jax.config.update("jax_enable_x64", False)
    spec = importlib.util.spec_from_file_location(name, name + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with open(name + ".in", "rb") as file:
        arrays = pickle.load(file)
    results[name] = [np.asarray(x) for x in jax.tree.leaves(module.main(*arrays))]
with open("results", "wb") as file:
    pickle.dump(results, file)
"""


@dataclass
class Compiled:
    """A program: its per-device code, inputs, and the program that it was made of."""

    text: str
    whole: Graph
    local: Graph
    arrays: list[np.ndarray]

    @property
    def arguments(self) -> list[object]:
        """What main is called with."""
        return list(arguments_of(self.local.main.interface, self.arrays))

    def check(self, got: list[np.ndarray]) -> None:
        """The results are right: integers exactly, floats to the bound that --run has."""
        assert_right(self.whole, self.local, self.arrays, got, self.text)


@pytest.fixture(scope="module")
def compiled() -> Callable[[str], Compiled]:
    """A program by its name, compiled when it is first asked for."""
    return cache(lambda name: _compile(FOLDER / f"{name}.shard"))


@pytest.fixture(scope="module")
def jax_results(
    compiled: Callable[[str], Compiled],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> dict[str, list[np.ndarray]]:
    """What the JAX outputs compute, all that are asked for in one other process."""
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("jax")
    names = [case["name"] for case in chosen(request, "test_jax")]
    for name in names:
        (folder / f"{name}.py").write_text(emit_jax(compiled(name).local))
        (folder / f"{name}.in").write_bytes(pickle.dumps(compiled(name).arguments))
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "", "HOME": str(folder), "XLA_FLAGS": QUICK}
    command = [sys.executable, "-c", RUN_ALL, *names]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pickle.loads((folder / "results").read_bytes())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS])
def test_jax(
    name: str, compiled: Callable[[str], Compiled], jax_results: dict[str, list[np.ndarray]]
) -> None:
    compiled(name).check(jax_results[name])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS])
def test_numpy(name: str, compiled: Callable[[str], Compiled]) -> None:
    namespace: dict[str, object] = {"__name__": "compiled"}
    exec(compile(emit_numpy(compiled(name).local), f"{name}.py", "exec"), namespace)
    results = namespace["main"](*compiled(name).arguments)  # pyright: ignore
    compiled(name).check(leaves(results))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS])
def test_run(name: str, compiled: Callable[[str], Compiled]) -> None:
    program = compiled(name)
    program.check([np.asarray(value) for value in run(program.local, program.arrays)])


@pytest.mark.parametrize("path", [p for p in PROGRAMS if "# expect:" in p.read_text()], ids=lambda p: p.stem)
def test_traffic(path: Path, compiled: Callable[[str], Compiled]) -> None:
    program = compiled(path.stem)
    kinds, total = _traffic(program.local, program.local.main.body, Constants(program.local), 1)
    line = next(line for line in program.text.splitlines() if line.startswith("# expect:"))
    for word in line.split()[2:]:
        name, limit, number = word.partition("<=")
        if limit:
            assert name == "bytes" and total <= int(number), (total, kinds)
        else:
            name, _, number = word.partition("=")
            assert kinds[name] == int(number), (total, kinds)


def _compile(path: Path) -> Compiled:
    with collecting():
        module = load(str(path), {}, None)
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local")
    arrays = random_inputs(whole.types(whole.main.body.args))
    return Compiled(path.read_text(), whole, snapshot(module).graph, arrays)


def _traffic(graph: Graph, region: Region, constants: Constants, times: int) -> tuple[Counter[str], int]:
    """The collectives of each kind in the code, and the bytes a device sends in all turns of its loops."""
    kinds: Counter[str] = Counter()
    total = 0
    for node in region.nodes:
        trips = 1
        inner = list(node.regions)
        if node.name == "stablehlo.while":
            loop = counted(node, constants)
            trips = loop.trips if loop else 1
        elif node.name == "func.call":
            inner.append(graph.functions[str(node.attrs["callee"])].body)
        elif node.name in COLLECTIVES:
            axes = cast("tuple[Axis, ...]", node.attrs["axes"])
            kinds[node.name.removeprefix("spmd.")] += 1
            total += times * sent(node.name, graph.type(node.operands[0]).nbytes, size_of(axes))
        for body in inner:
            more, amount = _traffic(graph, body, constants, times * trips)
            kinds, total = kinds + more, total + amount
    return kinds, total

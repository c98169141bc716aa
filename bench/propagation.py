"""Time propagation against jaxlib's `sdy-propagation-pipeline` on a transformer training step.

From the parsed module to the shardings of all values, both in this process, interleaved, best of some runs.
shardc's time includes the snapshot of the module. Before anything is timed, all shardings are compared.

  python -m bench.propagation               4 and 64 layers; then 8 and 16 384 devices; what provenance costs
  python -m bench.propagation --layers N    only N layers
"""

from __future__ import annotations

import argparse
import gc
import inspect
import textwrap
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax._src.interpreters import mlir as jax_mlir
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir, passmanager
from xdsl.dialects.builtin import ModuleOp

from bench.ruler import programs
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph, walk
from shardc.propagation import propagate, sweep
from shardc.propagation.provenance import Recorder
from shardc.propagation.sweep import SweepState
from tests.unit.propagation import shardy


def training_step(layers: int, data: int = 2, model: int = 4) -> str:
    """StableHLO of one step of gradient descent, Megatron-style annotations, layers one after the other."""
    mesh = AbstractMesh((data, model), ("data", "model"))
    heads = max(8, model)
    arguments = programs.block_args(8 * heads, heads, 8, 32 * heads)

    def aval(arg):
        sharding = NamedSharding(mesh, PartitionSpec(*(arg.spec or ())))
        return jax.ShapeDtypeStruct(arg.shape, jnp.float32, sharding=sharding if arg.spec else None)

    def step(x, params):
        def loss(params):
            h = x
            for layer in params:
                h = programs.block(layer, h)
            return jnp.mean(jnp.square(h))

        return programs.sgd(params, jax.grad(loss)(params))

    params = [{key: aval(arg) for key, arg in arguments.items()} for _ in range(layers)]
    rows = NamedSharding(mesh, PartitionSpec("data"))
    x = jax.ShapeDtypeStruct((2 * data, 64, 8 * heads), jnp.float32, sharding=rows)
    return jax.jit(step).trace(x, params).lower(lowering_platforms=("cpu",)).as_text()


def shardy_seconds(text: str) -> float:
    """One run of Shardy's pipeline."""
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        manager = passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)")
        return seconds(lambda: manager.run(module.operation))


def shardc_seconds(
    module: ModuleOp, recorder: Callable[[], Recorder | None] = lambda: None
) -> tuple[float, float]:
    """The snapshot, and propagation."""
    graphs: list[Graph] = []
    took = seconds(lambda: graphs.append(snapshot(module).graph))
    return took, seconds(lambda: propagate(graphs[0], on_change=recorder()))


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(layers: int, runs: int) -> None:
    """One line: both times, and their ratio."""
    text = training_step(layers)
    theirs, ours = shardy.compare(text)
    assert theirs == ours, "the shardings differ"
    module = read(text, "step.mlir")
    nodes = sum(1 for f in snapshot(module).graph.functions.values() for _ in walk(f.body))
    peer, own = [], []
    for _ in range(runs):
        peer.append(shardy_seconds(text))
        own.append(shardc_seconds(module))
    took, whole = min(own, key=sum)
    ratio = (took + whole) / min(peer)
    print(
        f"{layers:3d} layers, {nodes:6d} operations, {len(theirs)} results and functions alike: Shardy "
        f"{min(peer):.3f} s, shardc {took + whole:.3f} s (snapshot {took:.3f}, propagation {whole:.3f}): "
        f"{ratio:.2f} times",
        flush=True,
    )


def devices(layers: int, runs: int) -> None:
    """One line: how much longer many devices take than few."""
    modules = [read(training_step(layers, *mesh), "step.mlir") for mesh in ((2, 4), (128, 128))]
    times = [[sum(shardc_seconds(module)) for module in modules] for _ in range(runs)]
    few, many = (min(column) for column in zip(*times, strict=True))
    ratio = f"{many / few:.2f} times"
    print(f"{layers:3d} layers on 8 devices {few:.3f} s, on 16384 {many:.3f} s: {ratio}", flush=True)


def provenance(layers: int, runs: int) -> None:
    """One line: what recording costs."""
    module = read(training_step(layers), "step.mlir")
    times = [(shardc_seconds(module)[1], shardc_seconds(module, Recorder)[1]) for _ in range(runs)]
    off, on = (min(column) for column in zip(*times, strict=True))
    ratio = f"{on / off:.2f} times"
    print(f"{layers:3d} layers, provenance off {off:.3f} s, on {on:.3f} s: {ratio}", flush=True)


def without_hook(layers: int, runs: int) -> None:
    """One line: what it costs that changes could be recorded, against a sweep that cannot tell of them."""
    module = read(training_step(layers), "step.mlir")
    hooked = SweepState._visit_all
    source = textwrap.dedent(inspect.getsource(hooked))
    lines = source.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "self._on_change" in line)
    assert "self._tell" in lines[at + 1]
    bare: dict[str, Any] = {}
    exec("".join(lines[:at] + lines[at + 2 :]), dict(vars(sweep)), bare)
    times = []
    for _ in range(runs):
        with_hook = shardc_seconds(module)[1]
        SweepState._visit_all = bare["_visit_all"]
        times.append((shardc_seconds(module)[1], with_hook))
        SweepState._visit_all = hooked
    never, off = (min(column) for column in zip(*times, strict=True))
    ratio = f"{off / never:.2f} times"
    print(f"{layers:3d} layers, no provenance {never:.3f} s, provenance off {off:.3f} s: {ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for layers in [options.layers] if options.layers else [4, 64]:
        compare(layers, options.runs)
    if not options.layers:
        devices(8, options.runs)
        provenance(8, options.runs)
        without_hook(8, options.runs)


if __name__ == "__main__":
    main()

"""Programs of model_programs.py on one accelerator: times modelled for machines, and the measured one.

    JAX_PLATFORMS=cuda python -m bench.one_gpu [--machine h100-infiniband]… [--times 4] [-o FILE] [PROGRAM…]

A machine is a shipped one, or a file that `shardc measure` wrote; programs are compiled for the first.

Dimensions that model_programs.py enlarges to 256 and more are so many times larger still. What shardc emits
for a mesh of one device is timed (the quickest of ten turns of a twentieth of a second); with the sizes of
the suite, and products in full precision, its results are compared with those of the NumPy program that
shardc emits. There is nothing to send: what is checked is work, the half of the model that processes on a CPU
say nothing about. In turns with it the function itself is timed, under `jax.jit`: what is emitted is to be as
quick, though it is written in other operations.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from msgspec import Struct

from bench.model_accuracy import local, modelled
from bench.model_programs import SCALED, scaled
from bench.model_timing import block
from bench.page import publish
from bench.ruler import programs
from bench.suites import lowered
from shardc.compilation import emit
from shardc.launch.program import load_program
from shardc.launch.timing import Clock, quickest
from shardc.planning.machines import load

LARGE = 256
CHOSEN = (
    "mlp_fwd_dp",
    "mlp_train_dp",
    "mlp_train_fsdp",
    "tfm_fwd_tp",
    "tfm_train_tp",
    "xent_vocab_gather",
    "moe_ep_fwd",
    "transpose_add",
    "scan_mlp_tp_fwd",
    "grad_accum_dp",
    "zero1_adam",
    "gpt_adam_dp_tp",
)
"""The programs that are run where none is named."""


class Found(Struct, frozen=True):
    """A program: for each machine the seconds modelled, of products and in all; seconds measured, of what is
    emitted and of the function under jax.jit; and how far off its results are."""

    name: str
    modelled: tuple[tuple[float, float], ...]
    measured: float
    plain: float
    off: float


def built(suite: str, name: str, sizes: Mapping[int, int], machine: str, folder: Path, target: str) -> Any:
    """The emitted program as a module, arguments for it, and the graph."""
    module = import_module(suite)
    program = scaled(module.PROGRAMS[name], sizes, 1)
    graph = local(lowered(module, program), machine)
    path = folder / f"{name}_{target}.py"
    path.write_text(emit(graph, target), encoding="utf-8")
    arguments: list[Any] = []
    programs.tree_args(lambda arg: arguments.append(block(arg.shape, arg.dtype)), program.args)
    return load_program(str(path)), arguments, graph


def off(have: object, want: object) -> float:
    """The largest difference of any result, over the largest number of that result."""
    found = 0.0
    for a, b in zip(jax.tree.leaves(have), jax.tree.leaves(want), strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        assert a.shape == b.shape
        found = max(found, float(np.max(np.abs(a - b)) / max(float(np.max(np.abs(b))), 1e-30)))
    return found


def itself(suite: str, name: str, sizes: Mapping[int, int]) -> tuple[Any, Any]:
    """The function under jax.jit, on a mesh of this device, and arguments for it."""
    module = import_module(suite)
    program = scaled(module.PROGRAMS[name], sizes, 1)
    devices = np.array(jax.devices()[:1]).reshape((1,) * len(program.mesh))
    args = programs.tree_args(lambda arg: block(arg.shape, arg.dtype), program.args)
    return module.jitted(program, Mesh(devices, (*program.mesh,))), jax.device_put(args)


def tried(number: int, machines: Sequence[str], times: int, folder: Path) -> Found:
    """One program of SCALED."""
    suite, name, sizes = SCALED[number]
    machine = machines[0]
    module, arguments, _ = built(suite, name, {}, machine, folder, "jax")
    expected, _, _ = built(suite, name, {}, machine, folder, "numpy")
    with jax.default_matmul_precision("highest"):
        wrong = off(module.main(*arguments), expected.main(*arguments))
    larger = {size: large * (times if large >= LARGE else 1) for size, large in sizes.items()}
    module, arguments, graph = built(suite, name, larger, machine, folder, "jax")
    placed = jax.device_put(arguments)
    parts = [modelled(graph, load(each)) for each in machines]
    assert all(sends == 0 for sends, _, _ in parts)
    alone = Clock(lambda: None, lambda own: own[None], jax.block_until_ready)
    plain, given = itself(suite, name, larger)
    seconds, of_plain = quickest([lambda: module.main(*placed), lambda: plain(*given)], alone)
    modelled_each = tuple((products, products + rest) for _, products, rest in parts)
    return Found(name, modelled_each, seconds, of_plain, wrong)


def lines(found: Sequence[Found], machines: Sequence[str]) -> list[str]:
    """The page's tables, one a machine."""
    ratios = [each.measured / each.plain for each in found]
    page = [
        f"On {jax.devices()[0].device_kind}, JAX {jax.__version__}; results are off by "
        f"{max(each.off for each in found):.1e} at most.",
        f"What is emitted takes {statistics.median(ratios):.2f} times as long as the function under jax.jit "
        f"in the median, {max(ratios):.2f} times at most.",
    ]
    for index, machine in enumerate(machines):
        errors = [abs(each.modelled[index][1] / each.measured - 1) for each in found]
        page += [
            "",
            f"Modelled as {Path(machine).stem}: median error {statistics.median(errors):.0%}.",
            "",
            "| program | measured ms | under jax.jit | modelled ms | products | off by | results off by |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for each in found:
            products, modelled = each.modelled[index]
            measured = f"{each.measured * 1e3:.2f} | {each.plain * 1e3:.2f}"
            page.append(
                f"| {each.name} | {measured} | {modelled * 1e3:.2f} | {products * 1e3:.2f} | "
                f"{modelled / each.measured - 1:+.0%} | {each.off:.0e} |"
            )
    return page


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--machine", action="append", help="default: h100-infiniband")
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE")
    given = parser.parse_args()
    machines = given.machine or ["h100-infiniband"]
    found: list[Found] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, name, _) in enumerate(SCALED):
            if name in (given.programs or CHOSEN):
                found.append(tried(number, machines, given.times, Path(folder)))
                print(found[-1], flush=True)
    publish("The model of time on one accelerator", __doc__, lines(found, machines), given.output)


if __name__ == "__main__":
    main()

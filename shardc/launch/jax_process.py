"""What runs in every process of JAX: `python -m shardc.launch.jax_process PROGRAM.py [--inputs …]`.

Without a coordinator, JAX finds out itself how this process was started. Each process reads the blocks of its
devices, and nothing else.
"""

from __future__ import annotations

import argparse
import atexit
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from shardc.arrays import Group, Placed, save
from shardc.arrays.loading import Blocks
from shardc.arrays.saving import check_layouts
from shardc.diagnostics import ShardcError
from shardc.graph.types import TensorType
from shardc.launch.cluster import own_place
from shardc.launch.mpi_process import arguments, code_of, show_lines
from shardc.launch.program import (
    arguments_of,
    describe,
    has_main_local,
    inputs_of,
    load_program,
    placed,
    results_of,
    saying,
)
from shardc.runtime import Mesh

SLOWEST_START = 600
"""Seconds until all processes have to be there: a busy machine starts them slowly, and who fails is seen."""

_PREEMPTION = "jax_enable_preemption_service"
"""With it SIGTERM ends no process: it is for scripts, which may ask whether they are to save and end."""

_DEVICES = "--devices says how many each process has of its CPU"
_PLACES = "who the others are say JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID"


_LACKING = "UNIMPLEMENTED: "
"""How XLA's errors begin of what it lacks."""
_ELSEWHERE = "shardc run --mpi has all operations; XLA has more on accelerators than on CPUs"


def main(argv: Sequence[str] | None = None) -> int:
    """Join the others, and run the program with them."""
    done: list[bool] = []
    atexit.register(_end, done)  # before JAX's own, and the program's: so it is the last that runs
    import jax

    show_lines()
    given = arguments(argv)
    emitted = has_main_local(given.program)
    try:
        _join(jax, given, emitted)
        sys.argv = [given.program, *given.rest]
        if emitted:
            _run(jax, load_program(given.program), given)
        else:
            _keep_devices(jax)
            runpy.run_path(given.program, run_name="__main__")
    except ShardcError as error:
        print(error, file=sys.stderr)
        _leave()
    except SystemExit as end:
        if code := code_of(end):
            _leave(code)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        _leave()
    jax.distributed.shutdown()
    done.append(True)
    return 0


def _end(done: Sequence[bool]) -> None:
    """End a process that has done all: taking its memory apart, JAX's clients may wait for ever."""
    if done:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _leave(code: int = 1) -> None:
    """End at once: JAX's own end waits for the others, which wait for this process."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _join(jax: Any, given: argparse.Namespace, emitted: bool) -> None:
    """Before anything else of JAX: who the others are."""
    if emitted:
        jax.config.update(_PREEMPTION, False)
    if given.coordinator is None:
        try:
            jax.distributed.initialize(**own_place())
        except ValueError as error:  # it does not know of all that it needs
            raise ShardcError(str(error), hint=_PLACES) from error
        return
    jax.distributed.initialize(
        given.coordinator,
        given.processes,
        given.process,
        initialization_timeout=SLOWEST_START,
    )


def _keep_devices(jax: Any) -> None:
    """Let emitted scripts not ask for emulated devices: there are those of all processes."""
    jax.devices()
    update = jax.config.update

    def other(name: str, value: object) -> None:
        if name != "jax_num_cpu_devices":
            update(name, value)

    jax.config.update = other


def _run(jax: Any, module: ModuleType, given: argparse.Namespace) -> None:
    try:
        mesh = module.mesh()
    except RuntimeError as error:  # not enough of them
        raise ShardcError(str(error), hint=_DEVICES) from error
    layout = Mesh(dict(mesh.shape))
    devices = [*mesh.devices.flat]  # in the mesh's order: this is how the layouts here number them
    if len({device.process_index for device in devices}) < jax.process_count():
        raise ShardcError(
            f"of {len(jax.devices())} devices the mesh takes {len(devices)}, and none of some processes",
            hint=_DEVICES,
        )
    params, results = placed(module.PARAMS, layout), placed(module.RESULTS, layout)
    group = Group(jax.process_index(), jax.process_count(), lambda sent: _allgather(jax, sent))
    numbers = {device: i for i, device in enumerate(devices)}
    own = [number for device, number in numbers.items() if device.process_index == jax.process_index()]
    if given.outputs:
        group.agree(lambda: check_layouts(given.outputs, results))
    blocks: Blocks = {}
    say = saying(jax.process_index())
    # nobody leaves the others waiting
    group.agree(lambda: blocks.update(inputs_of(given.inputs, params, own, say)))
    local = {name: joined(held, params[name]) for name, held in blocks.items()}
    made = _made(jax, module, arguments_of(local))
    found = results_of(made, results)  # nothing is said before they are there
    if given.outputs:
        held = {name: _held(array, numbers) for name, array in found.items()}
        save(given.outputs, held, results, group)
    if jax.process_index() == 0:
        where = f"{jax.process_count()} processes x {jax.local_device_count()} devices"
        print("\n".join(describe(results, where)), flush=True)


def _made(jax: Any, module: ModuleType, arguments: Sequence[Any]) -> Any:
    """The results, when they are there. ShardcError for what XLA does not compile for these devices, which it
    says before anything runs."""
    try:
        return jax.block_until_ready(module.main_local(*arguments))
    except jax.errors.JaxRuntimeError as error:
        said = str(error).partition("\n")[0]
        if not said.startswith(_LACKING):
            raise
        raise ShardcError(
            f"XLA cannot compile this program here: {said.removeprefix(_LACKING)}", hint=_ELSEWHERE
        ) from error


def joined(held: Mapping[int, np.ndarray[Any, Any]], layout: Placed) -> np.ndarray[Any, Any]:
    """The blocks of a process's devices in order, without the gaps between them."""
    if layout.sharding is None:
        return next(iter(held.values()))
    block = layout.block_shape
    places = {device: tuple(start for start, _ in _grid(layout, device)) for device in held}
    starts = [sorted({place[dim] for place in places.values()}) for dim in range(len(block))]
    whole = np.empty([len(at) * size for at, size in zip(starts, block, strict=True)], layout.type.numpy)
    for device, place in places.items():
        index = [at.index(start) for at, start in zip(starts, place, strict=True)]
        whole[tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, block, strict=True))] = held[device]
    return whole


def _grid(layout: Placed, device: int) -> list[tuple[int, int]]:
    """Where a device's block lies in the padded array, in which all blocks have the ceiling size."""
    assert layout.sharding is not None
    padded = tuple(
        size * dim.parts for size, dim in zip(layout.block_shape, layout.sharding.dims, strict=True)
    )
    return [*Placed(TensorType(padded, layout.type.dtype), layout.sharding).bounds[device]]


def _held(array: Any, numbers: Mapping[Any, int]) -> dict[int, np.ndarray[Any, Any]]:
    """The blocks of a result that are on this process's devices."""
    return {numbers[shard.device]: np.asarray(shard.data) for shard in array.addressable_shards}


def _allgather(jax: Any, sent: bytes) -> list[bytes]:
    """The bytes of all processes, by way of arrays of the longest one's size."""
    from jax.experimental import multihost_utils

    lengths = np.asarray(multihost_utils.process_allgather(np.array([len(sent)], np.int32))).reshape(-1)
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: len(sent)] = np.frombuffer(sent, np.uint8)
    everyone = np.asarray(multihost_utils.process_allgather(padded)).reshape(len(lengths), -1)
    return [row[:length].tobytes() for row, length in zip(everyone, lengths, strict=True)]


if __name__ == "__main__":
    sys.exit(main())

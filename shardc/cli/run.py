"""`shardc run`: a program on several processes of this machine, or this process as one of a cluster's."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

from shardc.cli.ending import run_to_end
from shardc.cli.misuse import Parser, positive, seconds
from shardc.diagnostics import ShardcError, collecting
from shardc.launch.cluster import starter
from shardc.launch.mpi_process import split
from shardc.launch.noise import GlooLines, hydra_banner
from shardc.launch.processes import Command, run
from shardc.launch.rank import VARIABLE, Endings
from shardc.launch.scratch import scratch
from shardc.options import Options

_PREFIXES = {"HYDRA": ("-l",), "Open MPI": ("--tag-output",)}
"""How an mpiexec that says such a word of itself is asked to put the rank before every line."""

_SHARING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "32",
}
"""For more processes than cores: who waits for a message (MPICH) lets the others work."""

_KEEPING = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
}
"""For glibc: memory that is freed stays with the process. Else every run of a program with arrays of 32 MiB
and more asks the system for that memory again, page by page, which takes as long as the arithmetic."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code of the process that failed first, 0 if none did."""
    parser = _parser()
    words, rest = split(sys.argv[1:] if argv is None else argv)
    given = parser.parse_args(words, argparse.Namespace(rest=rest))
    return run_to_end("shardc run", lambda: _reported(given))


def _reported(given: argparse.Namespace) -> int:
    try:
        with scratch("run") as folder:
            return _run(given, folder)
    except ShardcError as error:
        print(error, file=sys.stderr)
        return 1


def _run(given: argparse.Namespace, folder: Path) -> int:
    who = starter()
    if given.processes is None and who is None:
        raise ShardcError("how many processes? -n says it", hint="shardc run PROGRAM -n 4")
    if given.inputs and given.processes is not None and not Path(given.inputs).exists():
        raise ShardcError(f"cannot read {given.inputs}: no such file")
    if given.outputs:
        from shardc.arrays.saving import check_target

        check_target(given.outputs)
    if given.mpi and given.devices not in (None, 1):
        raise ShardcError("a process of MPI is one device", hint="leave out --devices")
    path, devices = _compiled(given, folder)
    arguments = [path, *_paths(given), "--", *given.rest]
    if given.processes is None:
        return _one_of_many(given, arguments)
    _check_devices(given, devices)
    return run_processes(arguments, given.processes, given.devices or 1, given.mpi, given.limit)


def run_processes(words: Sequence[str], processes: int, devices: int, mpi: bool, limit: float | None) -> int:
    """Start `words`, a file and what it is given, on processes of this machine; the exit code."""

    def say(text: str) -> None:
        print(f"shardc run: {text}", file=sys.stderr)

    if not mpi:
        command = [sys.executable, "-m", "shardc.launch.jax_process", *words]
        return run(_jax(processes, devices, command), limit, say)
    mpiexec = _mpi(processes, [sys.executable, "-m", "shardc.launch.watched_mpi", *words])
    if sys.platform != "linux":
        return run([mpiexec], limit, say)
    with scratch("ranks") as folder:
        endings = Endings(folder, processes)
        try:
            environment = {**mpiexec.environment, VARIABLE: str(folder)}
            watched = replace(mpiexec, environment=environment, noise=_banner, ranks=endings)
            return run([watched], limit, say)
        finally:
            endings.close()


def _banner() -> Callable[[bytes], bool]:
    return hydra_banner


def _compiled(given: argparse.Namespace, folder: Path) -> tuple[str, int | None]:
    """The emitted file, and how many devices it needs if that is known."""
    if given.program.endswith(".py"):
        if not Path(given.program).is_file():
            raise ShardcError(f"cannot read {given.program}: no such file")
        return str(Path(given.program).resolve()), None
    import shardc
    from shardc.cli import driver

    target = "mpi" if given.mpi else "jax"
    options = Options(target=target, process_data=not given.mpi, **driver.source_of(given.program))
    with collecting() as warnings:
        program = shardc.compile(driver.read_text(given.program), options)
    for diagnostic in (*warnings, *program.warnings):
        print(diagnostic, file=sys.stderr)
    if program.mesh is None:
        raise ShardcError(f"{given.program} has no mesh: it runs on one device", hint="shardc compiles it")
    path = folder / f"{Path(given.program).stem}.py"
    path.write_text(program.source, encoding="utf-8")
    return str(path), program.mesh.size


def _check_devices(given: argparse.Namespace, devices: int | None) -> None:
    each = given.devices or 1
    if devices is not None and devices != given.processes * each:
        raise ShardcError(
            f"the program's mesh has {devices} devices, {given.processes} processes of {each} have "
            f"{given.processes * each}",
            hint="-n processes times --devices each must be the mesh's size",
        )


def _paths(given: argparse.Namespace) -> list[str]:
    """--inputs and --outputs, where they are wherever a process is started."""
    named = {"--inputs": given.inputs, "--outputs": given.outputs}
    return [word for flag, path in named.items() if path for word in (flag, str(Path(path).absolute()))]


def _one_of_many(given: argparse.Namespace, arguments: list[str]) -> int:
    """This process is one of those that somebody else has started."""
    if given.limit is not None:
        raise ShardcError("--limit is for processes that -n starts", hint="who started this one ends it")
    if given.devices is not None:
        os.environ.update(_emulated(given.devices))
    return run_here(arguments, given.mpi)


def run_here(words: Sequence[str], mpi: bool) -> int:
    """Run `words`, a file and what it is given, in this process, one of many; the exit code."""
    if mpi:
        from shardc.launch.mpi_process import main as process
    else:
        from shardc.launch.jax_process import main as process
    return process(words)


def _jax(count: int, devices: int, command: Sequence[str]) -> list[Command]:
    """One command a process; process 0 is the coordinator, at a free port."""
    if find_spec("jax") is None:
        raise ShardcError("JAX is not installed", hint="pip install 'shardc[jax]', or run with --mpi")
    coordinator = f"127.0.0.1:{_free_port()}"
    environment = {**_unless_set(_KEEPING), **_emulated(devices)}
    words, rest = split(command)
    return [
        Command(
            f"process {process}",
            f"[{process}] ",
            [
                *words,
                *("--coordinator", coordinator, "--processes", str(count), "--process", str(process)),
                *("--", *rest),
            ],
            environment,
            noise=GlooLines,
        )
        for process in range(count)
    ]


def _emulated(devices: int) -> dict[str, str]:
    """The environment in which a process of JAX has that many devices, of its CPU."""
    return {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(devices),
        "JAX_CPU_ENABLE_ASYNC_DISPATCH": "0",  # gloo's collectives must begin in one order everywhere
    }


def _unless_set(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables, with the values that this process was given for them, if any."""
    return {name: os.environ.get(name, value) for name, value in environment.items()}


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _mpi(count: int, command: Sequence[str]) -> Command:
    """mpiexec, the one beside this Python first: the wheel of mpich puts it there."""
    if find_spec("mpi4py") is None:
        raise ShardcError("mpi4py is not installed", hint="pip install 'shardc[mpi]' brings it, and MPI")
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        raise ShardcError("there is no mpiexec", hint="pip install mpich")
    said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    flags = next((flags for word, flags in _PREFIXES.items() if word in said), ())
    cores = os.cpu_count() or 1
    own = {"OPENBLAS_NUM_THREADS": str(max(1, cores // count))}
    environment = _unless_set({**_KEEPING, **own, **(_SHARING if count > cores else {})})
    return Command("mpiexec", "", [mpiexec, *flags, "-n", str(count), *command], environment)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="shardc run",
        description="Runs a program on several processes of this machine. Started by Slurm, mpirun or "
        "a coordinator, this process is one of theirs, and -n is left out.",
    )
    parser.add_argument("program", metavar="PROGRAM", help="a .shard or .mlir file, or an emitted .py file")
    parser.add_argument("-n", dest="processes", type=positive, metavar="N", help="how many processes")
    parser.add_argument(
        "--devices",
        type=positive,
        metavar="N",
        help="of each process, on its CPU (default: 1, or without -n what JAX sees)",
    )
    parser.add_argument("--mpi", action="store_true", help="NumPy and MPI, one device a process, not JAX")
    parser.add_argument(
        "--inputs",
        metavar="PATH",
        help="the arguments, by name: a file or folder of arrays (default: random)",
    )
    parser.add_argument(
        "--outputs",
        metavar="PATH",
        help="where to save the results: NAME.safetensors, .npz, .zarr, .orbax or a folder",
    )
    parser.add_argument("--limit", type=seconds, metavar="SECONDS", help="how long all of it may take")
    parser.epilog = "What comes after -- a script finds in sys.argv."
    return parser


if __name__ == "__main__":
    sys.exit(main())

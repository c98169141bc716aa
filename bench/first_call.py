"""CPU seconds of the first call of `shardc.jit(f)`, and of `jax.jit(f)`.

    python -m bench.first_call [--every 6] [--times 2] [--write] [PROGRAM…]

Each call has a process of its own, on as many emulated CPU devices as the mesh has. The call is from arrays
of NumPy until the results are there: tracing, compiling by shardc where it is, compiling by XLA, running
once, and the imports that it causes. The process is that with its start, all imports and its end; that of
jax.jit imports nothing of shardc's. CPU seconds are those of all threads, the least of --times processes of
each kind, which take turns: what else runs on the machine makes them more. All modules have been compiled to
bytecode before, as an installed package's are; nothing else is kept between processes, but in the last
columns: there an earlier process has compiled the same program, and the user's cache folder has it. Programs
are those of the suites, every N-th with --every N.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from bench.page import publish

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/first_call.md"
COMPILERS = ("shardc", "jax")
OFF = "off"


class Seconds(Struct, frozen=True):
    """Of the call, and of its process."""

    call: float
    process: float


Row = tuple[Seconds, Seconds, Seconds]
"""Of shardc.jit, of jax.jit, and of shardc.jit where an earlier process compiled the same."""


def names(every: int) -> list[str]:
    """The programs to measure, as MODULE:NAME."""
    from bench.suites import SUITES, programs

    found = [f"{suite}:{name}" for suite in SUITES for name in programs(import_module(suite))]
    return found[::every]


def measure(name: str, times: int = 1) -> Row:
    """The least seconds of all three for one program, each measured so many times."""
    with TemporaryDirectory() as folder:
        _measured("shardc", name, folder)
        kinds = (*((compiler, OFF) for compiler in COMPILERS), ("shardc", folder))
        rows = [[_measured(compiler, name, cache) for compiler, cache in kinds] for _ in range(times)]
    ours, theirs, kept = (_least(column) for column in zip(*rows, strict=True))
    return ours, theirs, kept


def _least(measured: Sequence[Seconds]) -> Seconds:
    return Seconds(min(each.call for each in measured), min(each.process for each in measured))


def _measured(compiler: str, name: str, cache: str) -> Seconds:
    """The seconds of one; `cache` is what the environment says of the cache folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "SHARDC_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-W", "ignore", "-m", "bench.first_call", "--child", compiler, name]
    before = _of_children()
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return Seconds(float(done.stdout.split()[-1]), _of_children() - before)


def _of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def call(compiler: str, name: str) -> float:
    """Seconds of the first call, in this process."""
    suite, _, key = name.partition(":")
    program = import_module(suite).PROGRAMS[key]
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={max(8, program.ndev)}"
    import jax

    from bench.ruler import programs as ruler

    mesh = ruler.make_mesh(program)
    options = {"in_shardings": ruler.in_shardings(program, mesh)}
    if program.out_specs is not None:
        options["out_shardings"] = ruler.out_shardings(program, mesh)
    constraint = ruler.constraint(mesh)
    jit = import_module(compiler).jit  # of which jax.jit's process imports nothing of shardc's
    function = jit(lambda *args: program.fn(constraint, *args), **options)
    args = ruler.inputs(program)
    before = time.process_time()
    jax.block_until_ready(function(*args))
    return time.process_time() - before


def table(rows: Mapping[str, Row]) -> Iterator[str]:
    """The rows as Markdown, and what they say together."""
    ratios = {
        name: (*_over(ours, theirs), *_over(kept, theirs)) for name, (ours, theirs, kept) in rows.items()
    }
    process, call, again, call_again = map(statistics.median, zip(*ratios.values(), strict=True))
    most, worst = max((ratio[0], name) for name, ratio in ratios.items())
    yield (
        f"shardc.jit over jax.jit, CPU seconds: median {process:.2f} of {len(rows)} processes, "
        f"most {most:.2f} ({worst.partition(':')[2]}); median {call:.2f} of the calls alone. "
        f"Where an earlier process compiled the same: {again:.2f}, and {call_again:.2f}."
    )
    yield ""
    yield (
        "| program | jax.jit: process | call | shardc.jit: process | call | ratio: process | call "
        "| kept: process | call | ratio: process | call |"
    )
    yield "| --- |" + " ---: |" * 10
    for name, (ours, theirs, kept) in rows.items():
        numbers = (*_both(theirs), *_both(ours), *ratios[name][:2], *_both(kept), *ratios[name][2:])
        yield f"| {name.partition(':')[2]} | {' | '.join(f'{number:.2f}' for number in numbers)} |"


def _both(seconds: Seconds) -> tuple[float, float]:
    return seconds.process, seconds.call


def _over(ours: Seconds, theirs: Seconds) -> tuple[float, float]:
    return ours.process / theirs.process, ours.call / theirs.call


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="MODULE:NAME")
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"into {RESULT.relative_to(ROOT)}")
    parser.add_argument("--child", choices=COMPILERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(call(options.child, options.programs[0]))
        return
    rows: dict[str, Row] = {}
    measure("bench.ruler.programs:mlp_fwd_dp")  # so that all modules are compiled to bytecode
    for name in options.programs or names(options.every):
        rows[name] = measure(name, options.times)
        print(f"{name}: {rows[name][0].process / rows[name][1].process:.2f}", file=sys.stderr)
    publish("The first call", __doc__, table(rows), RESULT if options.write else None)


if __name__ == "__main__":
    main()

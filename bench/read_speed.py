"""How long shardc takes to read StableHLO text, against xDSL's own parser with the same dialects, in one run.

JAX lowers a transformer's training step with its layers written out; both parsers read that text in turn,
three times each, and the shortest times are compared. Memory is what each process needs beyond its imports.

    python -m bench.read_speed [LAYERS]      # 122 layers, the default, are some 50 000 operations
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bench.suites import lowered

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).parents[1]


def text_of(layers: int) -> str:
    """The program as JAX prints it."""
    from bench.ruler import programs

    return lowered(programs, programs.gpt_program(layers))


def stock(text: str) -> ModuleOp:
    """xDSL's parser and verifier; shardc's dialects want a constant's value as their own attribute, so it is
    wrapped, as a zero of its type.
    """
    import numpy as np
    from xdsl.dialects.builtin import TensorType
    from xdsl.parser import Parser

    from shardc.dialects.context import make_context
    from shardc.dialects.dense import dense_attr
    from shardc.dialects.types import type_of
    from shardc.graph import Dense

    class StockParser(Parser):
        def _parse_builtin_dense_attr(self):
            type = cast(TensorType, super()._parse_builtin_dense_attr().type)
            tensor = type_of(type)
            return dense_attr(Dense(np.zeros((), tensor.numpy), tensor.shape), type)

    module = StockParser(make_context(), text).parse_module()
    module.verify()
    return module


def ours(text: str) -> ModuleOp:
    """shardc's reader, which verifies as well."""
    from shardc.frontend.mlir import read

    return read(text, "program.mlir")


PARSERS = {"xDSL": stock, "shardc": ours}


def measure(name: str, path: str) -> tuple[float, int, int]:
    """Seconds, operations, and bytes of memory of one parse in a process of its own."""
    command = [sys.executable, "-m", "bench.read_speed", "--one", name, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    seconds, count, memory = done.stdout.split()
    return float(seconds), int(count), int(memory)


def one(name: str, path: str) -> None:
    """What `measure` asks for."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    PARSERS[name]("func.func @main() {\n  return\n}")  # imports
    before = peak()
    start = time.perf_counter()
    module = PARSERS[name](text)
    seconds = time.perf_counter() - start
    print(seconds, sum(1 for _ in module.walk()), peak() - before)


def peak() -> int:
    """The most memory this process has had, in bytes. (Linux's ru_maxrss has that of the parent in it.)"""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("layers", nargs="?", type=int, default=122)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(*options.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.mlir")
        with open(path, "w", encoding="utf-8") as file:
            size = file.write(text_of(options.layers))
        runs = {name: [] for name in PARSERS}
        for _ in range(options.repeat):
            for name in PARSERS:
                runs[name].append(measure(name, path))
    best = {name: min(found) for name, found in runs.items()}
    print(f"{best['shardc'][1]} operations, {size / 2**20:.1f} MiB of text")
    for name, (seconds, count, memory) in best.items():
        print(f"{name:8s} {seconds:7.2f} s  {seconds / count * 1e6:6.1f} us/op  {memory / 2**20:6.0f} MiB")
    print(f"ratio    {best['shardc'][0] / best['xDSL'][0]:7.3f}")


if __name__ == "__main__":
    main()

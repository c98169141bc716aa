"""CPU seconds of a second compile, after an edit of one line of a training step of 32 layers.

    python -m bench.edits [--model block] [--layers 32] [--rows FILE] [--best 3] [--write]

The step is that of bench/transformer.py with the schedule z3. Its layer 12 is edited, in the text that JAX
prints or in Python, and then traced again, which changes the way forward and backward. A cache folder is
filled by compiling the step as it was; each edit is compiled by the whole command, as people call it, in a
process of its own with a copy of that folder. CPU seconds are those of all its threads, user and system, the
least of --best runs. From them goes the start, the seconds of a process that only imports the modules that
the command had imported in the end, and reading, the seconds of parsing the text in a process that has
imported these. What the command found without reading the text has no seconds of reading. `calls` are those
of Python functions, in millions, in one more run: unlike seconds they are the same on every machine. The
first row is the first compile, with an empty folder. As a yardstick, XLA's CPU seconds for the step of 16
layers in the same run, as bench/compile_time.py measures them.
With --rows FILE each row is kept in it as JSON once it is measured, and one that is there is not measured
again, so that a run may be stopped and go on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jax

from bench.compile_time import child, run
from bench.page import publish
from bench.transformer import AS_WRITTEN, MODELS, Edit, How, Size, text

RESULT = Path(__file__).parents[1] / "bench/results/edits.md"
LAYER = 12
FIRST = "none: the first compile, with an empty cache folder"
YARDSTICK = "XLA, the step of 16 layers"

_TANH = re.compile(r"^ *(%\w+) = stablehlo\.tanh %\w+ : (tensor<\S+>).*\n", re.MULTILINE)
_NUMBER = re.compile(
    r"(?<= = stablehlo\.constant dense<)\d\.\d+(?:e[-+]\d+)?(?=> : tensor<f32>)", re.IGNORECASE
)
_TWO = re.compile(r"(?<= = stablehlo\.add )(%\w+), (%\w+)(?= : )")


def number(program: str, tanh: re.Match[str]) -> str:
    """Another number where the last one before the layer's tanh is."""
    *_, last = _NUMBER.finditer(program, 0, tanh.start())
    return program[: last.start()] + "7.500000e-01" + program[last.end() :]


def function(program: str, tanh: re.Match[str]) -> str:
    """Another function in place of the layer's tanh."""
    line = tanh[0].replace("stablehlo.tanh", "stablehlo.logistic")
    return program[: tanh.start()] + line + program[tanh.end() :]


def inserted(program: str, tanh: re.Match[str]) -> str:
    """An operation more, between the layer's tanh and all that reads it."""
    line = f"    %edited = stablehlo.negate {tanh[1]} : {tanh[2]}\n"
    rest = re.sub(rf"{tanh[1]}\b(?![#:])", "%edited", program[tanh.end() :])
    return program[: tanh.end()] + line + rest


def operands(program: str, tanh: re.Match[str]) -> str:
    """The operands of the next sum in another order."""
    return program[: tanh.end()] + _TWO.sub(r"\2, \1", program[tanh.end() :], count=1)


def comment(program: str, tanh: re.Match[str]) -> str:
    """A comment on a line of its own."""
    return f"{program[: tanh.start()]}    // what lies between -1 and 1\n{program[tanh.start() :]}"


IN_TEXT: dict[str, Callable[[str, re.Match[str]], str]] = {
    "a number": number,
    "another function for `tanh`": function,
    "a line more": inserted,
    "operands in another order": operands,
    "a comment": comment,
}
"""Edits in the text: what is made of it, and of the line of the layer's tanh."""

IN_PYTHON = {
    "the learning rate": Edit(rate=0.5),
    "half of what attention adds": Edit({LAYER: How(added=lambda x: 0.5 * x)}),
    "`silu` for `gelu`": Edit({LAYER: How(activation=jax.nn.silu)}),
}
"""Edits in Python."""


def edited(name: str, model: str, size: Size) -> str:
    """The step's text after an edit. The layer is found by its tanh, of which there is one in each."""
    program = text(model, "z3", size, IN_PYTHON.get(name, AS_WRITTEN))
    if name not in IN_TEXT:
        return program
    (*before,) = _TANH.finditer(program)
    assert len(before) == size.layers
    return IN_TEXT[name](program, before[LAYER])


class Measured:
    """A folder for one model: its step as it was, and the cache folder that this has filled."""

    def __init__(self, folder: str, model: str, layers: int, best: int) -> None:
        self.folder, self.model, self.layers, self.best = Path(folder), model, layers, best
        self.program, self.out, self.modules = (
            str(self.folder / name) for name in ("step.mlir", "out.py", "modules.json")
        )
        self.filled = False

    def row(self, name: str) -> dict[str, float]:
        """The row of an edit, or of the first compile: seconds of the whole, of the start and of reading, and
        millions of calls."""
        if name == FIRST:
            self._write(name)
            return self._least(None)
        if not self.filled:
            self._write(FIRST)
            self._compiled("before")
            self.filled = True
        self._write(name)
        return self._least("before")

    def _write(self, name: str) -> None:
        """Trace the step in a process of its own, as locations depend on what JAX has traced before."""
        child("edit", name, self.model, str(self.layers), self.program)

    def _least(self, copied: str | None) -> dict[str, float]:
        """The least seconds of several runs, each with a copy of a cache folder."""
        runs = [self._run("edited", copied) for _ in range(self.best)]
        calls, _ = self._run("counted", copied)
        start = min(run("imports", self.modules)[1] for _ in range(self.best))
        reading = min(run("read", self.program, self.modules)[0] for _ in range(self.best)) * runs[0][0]
        whole = min(seconds for _, seconds in runs)
        return {"calls": calls / 1e6, "whole": whole, "start": start, "reading": reading}

    def _run(self, command: str, copied: str | None) -> tuple[float, float]:
        """What a child prints, and its seconds, in a copy of a cache folder."""
        cache = self.folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        if copied:
            shutil.copytree(self.folder / copied, cache)
        os.environ["SHARDC_CACHE"] = str(cache)
        return run(command, self.program, self.out, self.modules)

    def _compiled(self, cache: str) -> None:
        """Compile what is written with this cache folder."""
        os.environ["SHARDC_CACHE"] = str(self.folder / cache)
        child("edited", self.program, self.out, self.modules)


def table(model: str, rows: dict[str, dict[str, float]]) -> Iterator[str]:
    """The rows of a model as Markdown."""
    yield f"| `{model}`: edit | calls | whole command | without start | without reading |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, row in rows.items():
        without = row["whole"] - row["start"]
        cells = (row["calls"], row["whole"], without, without - row["reading"])
        yield f"| {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("edits", nargs="*", metavar="EDIT", help="some of the rows, by their names")
    parser.add_argument("--model", choices=list(MODELS), nargs="*", default=[*MODELS])
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--best", type=int, default=3, help="of so many runs the least is taken")
    parser.add_argument(
        "--rows", type=Path, metavar="FILE", help="keep rows in it, and measure what it lacks"
    )
    parser.add_argument("--write", action="store_true", help=f"into {RESULT.name}")
    options = parser.parse_args()
    kept: dict[str, dict[str, float]] = {}
    if options.rows and options.rows.exists():
        kept = json.loads(options.rows.read_text(encoding="utf-8"))

    def known(key: str, row: Callable[[], dict[str, float]]) -> dict[str, float]:
        if key not in kept:
            kept[key] = row()
            if options.rows:
                options.rows.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            print(f"{key}: {kept[key]}", file=sys.stderr)
        return kept[key]

    lines: list[str] = []
    for model in options.model:
        with tempfile.TemporaryDirectory() as folder:
            measured = Measured(folder, model, options.layers, options.best)
            wanted = options.edits or [FIRST, *IN_TEXT, *IN_PYTHON]
            rows = {name: known(f"{model}: {name}", partial(measured.row, name)) for name in wanted}
        lines += [*table(model, rows), ""]
    xla = known(YARDSTICK, lambda: {"whole": child("xla", "step-16")[1]})["whole"]
    publish(
        "A second compile", __doc__, [*lines, f"{YARDSTICK}: {xla:.2f}."], RESULT if options.write else None
    )


if __name__ == "__main__":
    main()

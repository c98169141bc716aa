"""Programs that are compiled, run together by one start of several processes, and compared."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path

import numpy as np

from bench import suites
from shardc.compilation import emit
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.read import read
from shardc.interpret.arguments import arguments
from shardc.interpret.compare import TOLERANCE, distance
from shardc.interpret.run import run
from shardc.options import Options
from shardc.passes.pipeline import run_to

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.shard"))
PROGRAMS = sorted((ROOT / "tests/e2e/programs").glob("*.shard"))
Programs = Iterator[tuple[str, str, Callable[[], str]]]
"""Name, file, and what gives the text."""


def files(paths: list[Path]) -> Programs:
    for path in paths:
        yield path.stem, path.name, path.read_text


def measured() -> Programs:
    for name, text in suites.texts():
        yield name.replace("/", "_"), f"{name}.mlir", text


def compare(
    folder: Path, programs: Programs, target: str, sizes: range, start: Callable[[Path], None]
) -> None:
    """Compile the programs with as many devices as `sizes` has, start them, and compare the results."""
    expected = {
        name: results
        for name, file, text in programs
        if (results := _compiled(folder, name, file, text(), target, sizes)) is not None
    }
    start(folder)
    found = pickle.loads((folder / "results").read_bytes())
    wrong = [
        f"{name}, result {number}"
        for name, results in expected.items()
        for number, ((dtype, want), got) in enumerate(zip(results, found[name], strict=True))
        if distance(want, got) > TOLERANCE.get(dtype, 0)
    ]
    assert expected and not wrong


def _compiled(
    folder: Path, name: str, file: str, text: str, target: str, sizes: range
) -> list[tuple[str, np.ndarray]] | None:
    """Write the program and its inputs; the dtypes and values of the single-device program."""
    with collecting():
        module = read(text, Options(file=file))
        whole = snapshot(module.clone()).graph
        if max((prod(mesh.sizes.values()) for mesh in whole.meshes.values()), default=1) not in sizes:
            return None
        run_to(make_context(), module, "local")
        (folder / f"{name}.py").write_text(emit(snapshot(module).graph, target))
    inputs = arguments(whole, None)
    (folder / f"{name}.in").write_bytes(pickle.dumps(inputs))
    dtypes = [whole.type(value).dtype for value in whole.main.body.results]
    return list(zip(dtypes, run(whole, inputs), strict=True))

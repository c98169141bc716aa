"""An emitted program as a process sees it: what its tables say of its arguments and results."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from shardc.arrays import Placed, load
from shardc.arrays.checkpoint import open_checkpoint
from shardc.arrays.loading import Blocks
from shardc.arrays.placed import extent
from shardc.diagnostics import ShardcError
from shardc.graph.types import DTYPES, TensorType, is_integer
from shardc.layout import Mesh
from shardc.runtime import P, sharding_of
from shardc.runtime.trees import leaves

_KEY = re.compile(r'\["(?:[^"\\]|\\.)*"\]')
_FIRST = re.compile(rf"\.?\w+|{_KEY.pattern}")
"""What the names of arrays in trees consist of: layer, .up, .0 and ["up"]."""
_SHORT = {dtype: name for name, (_, dtype) in DTYPES.items()}


NAMED = 4
"""Arrays that a warning names."""


def has_main_local(path: str) -> bool:
    """Whether a file defines main_local and its tables; what else it is, is run as a script."""
    try:
        body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    except (OSError, ValueError, SyntaxError):
        return False
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    tables = {
        t.id for node in body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
    }
    return "main_local" in functions and {"PARAMS", "RESULTS"} <= tables


def load_program(path: str) -> ModuleType:
    """The module of a file. Its `if __name__ == "__main__"` does not run."""
    spec = importlib.util.spec_from_file_location("shardc_program", path)
    if spec is None or spec.loader is None:
        raise ShardcError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def placed(table: Mapping[str, Any], mesh: Mesh | None) -> dict[str, Placed]:
    """What PARAMS or RESULTS of a program say."""
    found: dict[str, Placed] = {}
    for name, (shape, dtype, spec, *_) in table.items():
        type = TensorType(tuple(shape), _SHORT[np.dtype(dtype)])
        found[name] = Placed(type, None if mesh is None else sharding_of(mesh, P(*spec), len(shape)))
    return found


def inputs_of(
    path: str | None,
    layouts: Mapping[str, Placed],
    devices: Iterable[int],
    say: Callable[[str], object] = lambda text: None,
) -> Blocks:
    """The blocks of some devices, from files or, without a path, random ones, the same in every run.

    What is layer.up here may be layer_up in a file, and what is layer["up"] either. `say` is told which
    arrays of the files are none of the program's.
    """
    if path is not None:
        checkpoint = open_checkpoint(path)
        stored = {
            name: next((n for n in _names_in_files(name) if n in checkpoint.arrays), name) for name in layouts
        }
        if left := sorted(checkpoint.arrays.keys() - stored.values()):
            names = ", ".join(left[:NAMED]) + (", …" if len(left) > NAMED else "")
            many = "an array" if len(left) == 1 else f"{len(left)} arrays"
            say(f"warning: {path} has {many} that the program does not take: {names}")
        blocks = load(checkpoint, {stored[name]: layout for name, layout in layouts.items()}, devices)
        return {name: blocks[stored[name]] for name in layouts}
    return {
        name: {device: _random(number, layout, device) for device in devices}
        for number, (name, layout) in enumerate(layouts.items())
    }


def saying(rank: int) -> Callable[[str], object]:
    """Where a process says what all of them could say: the first on stderr, the others nowhere."""
    return lambda text: None if rank else print(text, file=sys.stderr, flush=True)


def _random(number: int, layout: Placed, device: int) -> np.ndarray[Any, Any]:
    """A block that depends on its place, not on who holds it. Padding is zero."""
    bounds = layout.bounds[device if layout.sharding is not None else 0]
    rng = np.random.default_rng([number, *(start for start, _ in bounds)])
    block = np.zeros(layout.block_shape, layout.type.numpy)
    inside = tuple(slice(0, size) for size in extent(bounds))
    shape = block[inside].shape
    if is_integer(layout.type.dtype):
        block[inside] = rng.integers(4, size=shape)
    elif layout.type.numpy == np.bool_:
        block[inside] = rng.integers(2, size=shape)
    else:
        block[inside] = rng.standard_normal(shape)
    return block


def arguments_of(arrays: Mapping[str, Any]) -> list[Any]:
    """What main_local is called with: layer.up and layer.down make one tuple, layer["up"] is in a dict."""
    return list(_grouped(arrays).values())


def _grouped(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The tree of the arrays whose names begin alike, by how they begin."""
    groups: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        first = _FIRST.match(name)
        place = len(name) if first is None else first.end()
        groups.setdefault(name[:place], {})[name[place:]] = array
    return {first: items[""] if "" in items else _tree(items) for first, items in groups.items()}


def _tree(arrays: Mapping[str, Any]) -> tuple[Any, ...] | dict[str, Any]:
    found = _grouped(arrays)
    if not all(_KEY.fullmatch(first) for first in found):
        return tuple(found.values())
    return {ast.literal_eval(first[1:-1]): item for first, item in found.items()}


def _names_in_files(name: str) -> list[str]:
    """What an argument may be called in a file: layer["up"], layer.up, layer_up."""
    plain = _KEY.sub(lambda key: f".{ast.literal_eval(key[0][1:-1])}", name)
    return [name, plain, plain.replace(".", "_")]


def results_of(found: object, names: Iterable[str]) -> dict[str, Any]:
    """What main gave, by the names of RESULTS."""
    return dict(zip(names, leaves(found), strict=True))


def describe(layouts: Mapping[str, Placed], where: str) -> list[str]:
    """A line for every result."""
    return [f"{name}: {layout.type} on {where}" for name, layout in layouts.items()]

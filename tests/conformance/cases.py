"""What shardc says to each kind of case, in the form of the case's `expected`.

A function takes the case's input and gives the fields it can tell. Where the case expects an error, a
LayoutError that names a dimension is what it wants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from shardc.analysis.build import program
from shardc.graph.types import TensorType
from shardc.layout import LayoutError, Sharding
from shardc.layout.boxing import agreed, box
from shardc.layout.distribute import assemble, devices_of, distribute, global_shape
from shardc.layout.expand import expand_strides, expanded_shape, repeat_as_expand, strides
from shardc.layout.notations import onnx_text, sbp
from shardc.layout.notations.mindspore_layout import Layout
from shardc.layout.notations.mindspore_steps import steps
from shardc.layout.notations.onnx_placement import placement
from shardc.layout.slices import slices
from shardc.layout.uneven import balanced_split
from shardc.rules.signatures import program_signatures
from tests.conformance.process_local import process_local

Fields = Mapping[str, Any]


def read_cases(file: Path) -> list[dict[str, Any]]:
    """The cases of a file."""
    return json.loads(file.read_text(encoding="utf-8"))


def problems_of(case: Fields) -> list[str]:
    """What is wrong with shardc's answer to a case; nothing if it is right.

    An expected field that is null states nothing. Of an expected error, or where a field is expected to be
    one ("ERR …"), it counts that there is one.
    """
    function = KINDS.get(case["kind"])
    if function is None:
        return [f"there is no kind {case['kind']}"]
    expected = case["expected"] if isinstance(case["expected"], dict) else {"error": case["expected"]}
    try:
        got = function(case)
    except LayoutError as error:
        got = {"error": str(error)}
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    if bool(expected.get("error")) != bool(got.get("error")):
        return [f"expected error: {expected.get('error')}; got: {got.get('error')}"]
    stated = [name for name in expected if name != "error" and expected[name] is not None]
    if got.get("error"):
        stated = [name for name in stated if name in got]
    return [
        f"{name}: expected {_short(expected[name])}, got {_short(got.get(name))}"
        for name in stated
        if not same(expected[name], got.get(name))
    ]


def same(expected: Any, got: Any) -> bool:
    """Equal as JSON: tuples and arrays are lists, keys are text."""
    if isinstance(expected, str) and expected.startswith("ERR"):
        return isinstance(got, str) and got.startswith("ERR")
    return plain(expected) == plain(got)


def plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def mindspore_layout(case: Fields) -> Fields:
    """The steps of the derivation, and every rank's slice and values, ranks ascending."""
    layout = _layout(case["input"])
    tensor = _tensor(case["input"])
    sharding = layout.sharding()
    return {
        "tensor_map_int": layout.to_dict()["tensor_map"],
        "shard_number_per_rank": steps(layout).by_rank(),
        "slice_bounds_per_rank": slices(sharding, tensor.shape, "refuse"),
        "values_per_rank": list(distribute(tensor, sharding, "refuse").values()),
    }


def mindspore_stride(case: Fields) -> Fields:
    """The stride of every alias of the tensor map."""
    found = steps(_layout(case["input"]))
    return {"stride": dict(zip(found.used, found.strides, strict=True))}


def balanced(case: Fields) -> Fields:
    """The ranges of a balanced split."""
    return {"ranges": balanced_split(case["input"]["size"], case["input"]["parts"])}


def nd_sbp(case: Fields) -> Fields:
    """The slice of every rank of a hierarchy."""
    given = case["input"]
    return {"slice_per_rank": sbp.nd_slices(given["shape"], given["hierarchy"], given["sbp"])}


def expand(case: Fields) -> Fields:
    """expand by its strides: the element at an index is the one at the sum of index times stride."""
    shape, sizes = case["input"]["input_shape"], case["input"]["expand_size"]
    out, stride = expanded_shape(shape, sizes), expand_strides(shape, sizes)
    places = np.zeros(out, np.int64)
    for dim, step in enumerate(stride):
        places += step * np.arange(out[dim]).reshape([-1 if i == dim else 1 for i in range(len(out))])
    value = np.arange(np.prod(shape, dtype=int))[places]
    return {
        "out_shape": out,
        "input_stride": strides(shape),
        "output_stride": stride,
        "value": value,
        "sum": int(value.sum()),
    }


def repeat(case: Fields) -> Fields:
    """repeat as a reshape, an expand and a reshape."""
    shape = case["input"]["input_shape"]
    found = repeat_as_expand(shape, case["input"]["repeat_size"])
    x = np.arange(np.prod(shape, dtype=int)).reshape(found.reshape_in)
    value = np.broadcast_to(x, expanded_shape(found.reshape_in, found.expand_size))
    return {
        "reshape_in": found.reshape_in,
        "expand_size": found.expand_size,
        "reshape_out": found.reshape_out,
        "value": value.reshape(found.reshape_out),
    }


def expand_signatures(case: Fields) -> Fields:
    """The SBP signatures of expand, out of its factor rule."""
    shape, sizes = tuple(case["input"]["input_shape"]), case["input"]["expand_size"]
    out = expanded_shape(shape, sizes)
    dims = tuple(range(len(out) - len(shape), len(out)))
    result = TensorType(out, "f32")
    graph = program(
        [TensorType(shape, "f32")],
        lambda b, x: [b.one("stablehlo.broadcast_in_dim", x, result=result, broadcast_dimensions=dims)],
    )
    found = program_signatures(graph)
    return {"signatures_in_out": [[sbp.component_text(c) for c in (*s.operands, *s.results)] for s in found]}


def boxing(case: Fields) -> Fields:
    """The ranks' blocks after a chain of placements and SBPs."""
    given = _blocks(case["input"]["local_inputs"])
    rank = next(iter(given.values())).ndim
    first, *others = [_placed(step, rank) for step in case["input"]["chain"]]
    held = _started(given, first, np.shape(case["expected"]["logical"]))
    for source, target in pairwise([first, *others]):
        held = box(held, source, target, "balanced")
    last = others[-1] if others else first
    local = {rank: held[rank] for rank in devices_of(last)}
    return {"local": local, "logical": assemble(local, last, "balanced")}


def onnx_placement(case: Fields) -> Fields:
    """What every device holds under an ONNX specification."""
    tensor = _tensor(case["input"])
    parts = placement(onnx_text.from_fields(case["input"]["spec"]), tensor.shape)
    held = {d: [tensor[np.ix_(*part.indices())] for part in found] for d, found in parts.items()}
    return {str(d): blocks[0] if len(blocks) == 1 else blocks for d, blocks in held.items()}


KINDS: dict[str, Callable[[Fields], Fields]] = {
    "mindspore.layout": mindspore_layout,
    "mindspore.stride": mindspore_stride,
    "oneflow.balanced_split": balanced,
    "oneflow.boxing": boxing,
    "oneflow.expand": expand,
    "oneflow.nd_sbp": nd_sbp,
    "oneflow.repeat": repeat,
    "oneflow.signatures": expand_signatures,
    "onnx.placement": onnx_placement,
    "process_local": process_local,
}


def _layout(given: Fields) -> Layout:
    entries = [tuple(e) if isinstance(e, list) else e for e in given["tensor_map"]]
    return Layout(tuple(given["device_matrix"]), tuple(given["alias_name"]), given.get("rank_list"))(*entries)


def _tensor(given: Fields) -> np.ndarray:
    """A tensor given as lists, as `arange(8)`, or as arange of a `shape`."""
    tensor = given.get("tensor")
    if isinstance(tensor, list):
        return np.array(tensor)
    count = re.match(r"(?:np\.)?arange\((\d+)\)", tensor or "")
    shape = given.get("shape") or [int(count[1])] if count else given["shape"]
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def _blocks(local: Fields) -> dict[int, np.ndarray]:
    """The ranks' arrays. JSON has [] for no rows of four: such a block gets the dimensions of the others."""
    arrays = {int(rank): np.array(block) for rank, block in local.items()}
    shape = max((array.shape for array in arrays.values()), key=len)
    return {rank: a if a.ndim == len(shape) else a.reshape(0, *shape[1:]) for rank, a in arrays.items()}


def _started(
    given: dict[int, np.ndarray], sharding: Sharding, shape: tuple[int, ...]
) -> dict[int, np.ndarray]:
    """The blocks at the start of a chain whose logical tensor has `shape`.

    As in OneFlow, either each rank gives its block to x.to_global, which takes copies from the first rank; or
    all ranks give the whole of it to flow.tensor. The two are told apart by the shape.
    """
    whole = given[devices_of(sharding)[0]]
    if whole.shape == shape != global_shape(given, sharding, "balanced"):
        return distribute(whole, sharding, "balanced")
    return agreed(given, sharding)


def _placed(step: Fields, rank: int) -> Sharding:
    mesh = sbp.read_mesh(str(step["ranks"]))
    return sbp.read(f"({', '.join(step['sbp'])},)", mesh, rank)


def _short(value: Any) -> str:
    text = json.dumps(plain(value))
    return text if len(text) < 400 else text[:400] + " …"

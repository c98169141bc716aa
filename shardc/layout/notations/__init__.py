"""Other people's ways to write a sharding, a file each: a reader and a writer with the reason when it cannot.

All readers are `read(text, mesh=None, rank=None) -> Sharding`, all writers
`write(sharding, shape=None) -> str`. `rank` is needed where the text doesn't tell it; with a `shape`, the
writer also checks that the notation would make the same blocks of it. Where the devices are written apart
from the sharding, `read_mesh` and `write_mesh` do that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from shardc.layout.mesh import Mesh
from shardc.layout.notations import dtensor, hlo, jax, mindspore, onnx, sbp, sdy
from shardc.layout.sharding import Sharding
from shardc.layout.uneven import Policy

__all__ = ["NOTATIONS", "Notation", "meant"]


class Reader(Protocol):
    """Text to sharding."""

    def __call__(self, text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding: ...


class Writer(Protocol):
    """Sharding to text."""

    def __call__(self, sharding: Sharding, shape: Sequence[int] | None = None) -> str: ...


class Notation(Struct, frozen=True):
    """A notation; `policy` is what it does with dimensions that don't divide."""

    name: str
    title: str
    read: Reader
    write: Writer
    policy: Policy
    read_mesh: Callable[[str], Mesh] | None = None
    write_mesh: Callable[[Sharding], str] | None = None


def _mesh_of(sharding: Sharding) -> str:
    return sdy.write_mesh(sharding.mesh)


_ALL = (
    Notation("mindspore", "MindSpore Layout", mindspore.read, mindspore.write, "refuse"),
    Notation("jax", "JAX PartitionSpec", jax.read, jax.write, "refuse", jax.read_mesh, jax.write_mesh),
    Notation("sdy", "Shardy", sdy.read, sdy.write, "ceil", sdy.read_mesh, _mesh_of),
    Notation("hlo", "HLO sharding", hlo.read, hlo.write, "ceil"),
    Notation("sbp", "OneFlow SBP", sbp.read, sbp.write, "balanced", sbp.read_mesh, sbp.write_mesh),
    Notation(
        "dtensor",
        "PyTorch DTensor",
        dtensor.read,
        dtensor.write,
        "chunked",
        dtensor.read_mesh,
        dtensor.write_mesh,
    ),
    Notation("onnx", "ONNX ShardingSpecProto", onnx.read, onnx.write, "refuse"),
)

NOTATIONS = {notation.name: notation for notation in _ALL}

_BEGINS = {
    "mindspore": r"layout\s*=|[Ll]ayout\(|\{\W*(device_matrix|alias_name|tensor_map)",
    "jax": r"(PartitionSpec|NamedSharding)\b|P\((?!sum|max|min)",
    "sdy": r"<|#?sdy\b|\[\s*\{|@",
    "hlo": r"\{\s*(devices|replicated|maximal|manual|unreduced)\b",
    "sbp": r"S\(|B\b|P\b(?!\()|P\((sum|max|min)|split\b|broadcast\b|partial_",
    "dtensor": r"_?(Strided)?Shard\(|Replicate\b|_?Partial\b",
    "onnx": r"\{?\W*(device|sharded_dim|device_map|index_to_device_group_map|tensor_name)\b",
}
"""Notation -> a pattern of what its texts begin with, behind a parenthesis or the names of modules."""


def meant(text: str) -> list[Notation]:
    """The notations that whoever wrote a text, which may be wrong, had in mind: mostly one, or none."""
    return [
        notation
        for name, notation in NOTATIONS.items()
        if re.match(rf"\s*[(\[]?\s*([a-z]\w*\.)*({_BEGINS[name]})", text)
    ]

"""A model with the user's wishes -> a module: what the command and the API call."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from onnx import ModelProto

from shardc.diagnostics import ShardcError
from shardc.frontend.onnx.devices import Stated, chosen, mesh_of
from shardc.frontend.onnx.inputs import numbers_of
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.model import Model, checked, read_model
from shardc.frontend.onnx.ranks import ranks_of
from shardc.frontend.onnx.specs import read_mesh, read_sharding
from shardc.frontend.onnx.tensors import Annotations
from shardc.frontend.onnx.values import Array
from shardc.graph.types import TensorType
from shardc.layout import Mesh, Sharding


class Wishes(Struct, frozen=True, kw_only=True):
    """What a user says of a model.

    mesh: text, or None for the mesh of the model's own configuration. shardings: tensor name -> a sharding,
    or its text in any notation. dims: sizes of symbols, and numbers of inputs
    of one element. values: inputs that are fixed while compiling.
    configuration: which of the model's device configurations.
    """

    mesh: Mesh | str | None = None
    shardings: Mapping[str, Sharding | str] = {}
    dims: Mapping[str, int] = {}
    values: Mapping[str, Array] = {}
    configuration: str | None = None


def open_model(source: str | ModelProto) -> Model:
    """A model from its file, or as it is."""
    if isinstance(source, ModelProto):
        return Model(checked(source, "<model>"), "<model>")
    return read_model(source)


def lowered(model: Model, wishes: Wishes) -> Lowering:
    """The model lowered; its `module` has been built."""
    numbers = numbers_of(model.proto.graph, wishes.dims, model.file)
    dims = {name: size for name, size in wishes.dims.items() if name not in numbers}
    values = {**numbers, **wishes.values}
    mesh = read_mesh(wishes.mesh) if isinstance(wishes.mesh, str) else wishes.mesh
    stated = chosen(model, wishes.configuration)
    if stated is not None and stated.specs:
        mesh = mesh or mesh_of(stated, ranks_of(model, stated, dims, values), model.file)
    else:
        stated = None
    if mesh is None and wishes.shardings:
        own = [s for s in wishes.shardings.values() if isinstance(s, Sharding)]
        mesh = own[0].mesh if own else None
        if mesh is None:
            raise ShardcError("--shard needs a mesh", hint='such as --mesh "pod[data=2, model=4]"')

    def sharding(name: str, type: TensorType) -> Sharding | None:
        wish = wishes.shardings.get(name)
        return read_sharding(name, wish, mesh, type.rank) if isinstance(wish, str) else wish

    said = Annotations(mesh, set(wishes.shardings), sharding, stated)
    lowering = Lowering(model, dims, values, said)
    lowering.build()
    return lowering


__all__ = ["Stated", "Wishes", "lowered", "open_model"]

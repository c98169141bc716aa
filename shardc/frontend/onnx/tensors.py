"""What stands for each tensor of a model, and the annotations that the user or the model gives it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace
from onnx import NodeProto
from xdsl.ir import SSAValue

from shardc.diagnostics import ShardcError, did_you_mean
from shardc.frontend.onnx.builder import ModelBuilder
from shardc.frontend.onnx.devices import Stated, sharding_on
from shardc.frontend.onnx.errors import Invalid, Unsupported
from shardc.frontend.onnx.names import Names
from shardc.frontend.onnx.values import Array, Known, Listed, Opaque, Scope, Unknown, Value
from shardc.frontend.text.emitter import Emitter
from shardc.graph.types import TensorType
from shardc.layout import Mesh, Sharding
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.ops import sdy


class Annotations(Struct, frozen=True):
    """What was said of shardings. `wish` gives the user's for a tensor of `wished`, at its type."""

    mesh: Mesh | None = None
    wished: AbstractSet[str] = frozenset()
    wish: Callable[[str, TensorType], Sharding | None] = lambda name, type: None
    stated: Stated | None = None


class Specs(Struct, frozen=True):
    """Specifications by tensor where it is made or first read, and by node where it is read."""

    made: dict[str, ShardingSpec]
    used: dict[tuple[int, str], ShardingSpec]


def specs_of(stated: Stated | None) -> Specs:
    """Those of a configuration; none without one."""
    made: dict[str, ShardingSpec] = {}
    used: dict[tuple[int, str], ShardingSpec] = {}
    for node, name, spec in stated.specs if stated else ():
        plain = replace(spec, tensor_name="")
        if name in node.output:
            made[name] = plain
        else:
            used[id(node), name] = plain
    for (_, name), spec in used.items():
        made.setdefault(name, spec)
    return Specs(made, used)


class Tensors(Struct, dict=True):
    """By name: `types`; `spoken`, what was emitted for a tensor, the newest last; `arrays`, what is known."""

    file: str
    e: Emitter
    builder: ModelBuilder
    names: Names
    said: Annotations
    types: dict[str, TensorType] = {}
    spoken: dict[str, list[SSAValue]] = {}
    arrays: dict[str, Array] = {}

    def __post_init__(self) -> None:
        self.specs = specs_of(self.said.stated)
        self._named: set[str] = set()

    def speak(self, name: str, value: Known) -> None:
        """Remember what stands for a tensor of the model."""
        if isinstance(value, Value):
            self.types[name] = value.type
            if value.array is not None:
                self.arrays[name] = value.array
            if value.emitted is not None:
                self.spoken.setdefault(name, []).append(value.emitted.value)

    def sharding(self, name: str, type: TensorType) -> Sharding | None:
        """The user's, else the one that the model states where the tensor is made, or first read."""
        if name in self.said.wished:
            self._named.add(name)
            sharding = self.said.wish(name, type)
        else:
            sharding = self._stated(name, type, self.specs.made.get(name))
        if sharding is not None and sharding.rank != type.rank:
            raise ShardcError(
                f"{self.file}: the sharding of {name} is for {sharding.rank} dimensions; it is {type}"
            )
        return sharding

    def _stated(self, name: str, type: TensorType, spec: ShardingSpec | None) -> Sharding | None:
        if spec is None or self.said.mesh is None:
            return None
        return sharding_on(self.said.mesh, name, spec, type.shape, self.file)

    def annotated(self, name: str, value: Value) -> Value:
        """The value with its name, and with the annotation it has."""
        value.name = name
        sharding = self.sharding(name, value.type)
        if sharding is not None:
            plain = value.tensor()
            self.speak(name, Value(name, value.type, value.array, emitted=plain))
            constrained = self.e.op(sdy.sharding_constraint.name, plain, sharding=sharding)
            value = Value(name, value.type, value.array, emitted=constrained)
        if value.emitted is not None:
            self.builder.name([value.emitted.value], [self.names.fresh(name)])
        self.speak(name, value)
        return value

    def inputs(self, node: NodeProto, scope: Scope, lists: bool = False) -> list[Value | None] | None:
        """The values of a node's inputs; None if one of them could not be made. Sequences, which are refused
        unless the operator takes `lists`, are None among them.
        """
        found: list[Value | None] = []
        lost = False
        for name in node.input:
            value = scope.get(name) if name else None
            if name and value is None:
                raise Invalid(f"{node.op_type} reads {name}, which nothing made before")
            if isinstance(value, Opaque) or (isinstance(value, Listed) and not lists):
                raise Unsupported(f"{node.op_type} of {value.kind}")
            if isinstance(value, Unknown):
                lost = True
            else:
                found.append(self.used(node, value) if isinstance(value, Value) else None)
        return None if lost else found

    def used(self, node: NodeProto, value: Value) -> Value:
        """The value in the layout that the model states for it at this node."""
        spec = self.specs.used.get((id(node), value.name))
        if spec is None or spec == self.specs.made.get(value.name) or value.name in self.said.wished:
            return value
        sharding = self._stated(value.name, value.type, spec)
        if sharding is None:
            return value
        moved = self.e.op(sdy.sharding_constraint.name, value.tensor(), sharding=sharding)
        return Value(value.name, value.type, value.array, emitted=moved)

    def check(self) -> None:
        """ShardcError for wishes of no tensor."""
        unknown = [name for name in self.said.wished if name not in self._named]
        constant = [name for name in unknown if name in self.arrays]
        if constant:
            raise ShardcError(
                f"{self.file}: what is known while compiling cannot be split: {', '.join(constant)}",
                hint="leave the sharding out",
            )
        if unknown:
            hint = did_you_mean(unknown[0], list(self.types))
            raise ShardcError(
                f"{self.file}: no tensor of the program is called {', '.join(unknown)}", hint=hint
            )

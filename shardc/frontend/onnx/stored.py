"""Stored tensors and values known while compiling: literals where they are small, else arguments of main."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from onnx import TensorProto
from xdsl.ir import Block

from shardc.diagnostics import Location, ShardcError
from shardc.dialects.locations import locate
from shardc.dialects.types import attr_of_type
from shardc.frontend.onnx.dtypes import DTYPES, dtype_name
from shardc.frontend.onnx.errors import MISFITS, Dynamic, Invalid, Lost, Unsupported
from shardc.frontend.onnx.fold import MOST
from shardc.frontend.onnx.keys import Keys
from shardc.frontend.onnx.model import Model, array_of, external_place, tensor_type
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import literal
from shardc.frontend.onnx.tensors import Tensors
from shardc.frontend.onnx.values import Array, Opaque, Value
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import Tensor
from shardc.graph.types import DTYPES as KINDS
from shardc.graph.types import TensorType
from shardc.layout import Sharding

SMALL = 16
"""Elements of a literal. Larger stored tensors are arguments of main, larger computed ones operations."""


class Stored:
    """Makes values of stored tensors.

    `weights`: argument of main -> stored tensor, in the order of the arguments; `keys`: what emitted files
    call it. `arguments` are the shardings
    of main's arguments, to which a weight's is added.
    """

    def __init__(self, model: Model, tensors: Tensors, arguments: list[Sharding | None]) -> None:
        self.main: Block | None = None
        self.weights: dict[str, TensorProto] = {}
        self.keys: dict[str, str] = {}
        self._model = model
        self._keys = Keys(model.proto)
        self._tensors = tensors
        self._arguments = arguments
        self._constants: dict[str, list[tuple[TensorProto, Value]]] = {}
        self._literals: dict[tuple[Block, Value], Tensor] = {}

    def tidy(self) -> None:
        """Drop the weights that nothing uses: those of a branch that was given up."""
        assert self.main is not None
        used = {operand for op in self.main.walk() for operand in op.operands}
        count = len(self.main.args) - len(self.weights)
        for name, arg in list(zip(self.weights, self.main.args[count:], strict=True)):
            if arg not in used:
                del self._arguments[arg.index], self.weights[name]
                self.main.erase_arg(arg, safe_erase=False)

    def folded(self, node: Node, lower: Lower, arrays: Sequence[Array]) -> list[Value]:
        """A node's results, which are known while compiling."""
        at = Pos(self._tensors.e.loc.line, 1)

        def build(index: int) -> Tensor | None:
            with self._tensors.e.at(at):
                items = lower(node)
            item = items[index] if isinstance(items, Sequence) else items
            return item.tensor() if isinstance(item, Value) else item if isinstance(item, Tensor) else None

        pairs = zip(node.outputs, arrays, strict=False)
        return [self.known(out, array, partial(build, i)) for i, (out, array) in enumerate(pairs)]

    def known(self, name: str, array: Array, build: Callable[[], Tensor | None] | None = None) -> Value:
        """A value known while compiling: a literal where somebody uses it.

        A large one is what `build` gives, operations instead of a table, if it can.
        """
        dtype = next((k for k, (_, kind) in KINDS.items() if kind == array.dtype), None)
        if dtype is None:
            raise Unsupported(f"constant of {array.dtype}")
        value = Value(name, TensorType(tuple(array.shape), dtype), array)
        large = array.size > SMALL and bool((array != array.reshape(-1)[0]).any())
        value.make = lambda: self._literal(value, build if large else None)
        return value

    def _literal(self, value: Value, build: Callable[[], Tensor | None] | None) -> Tensor:
        """The constant in the block where the builder stands."""
        key = (self._tensors.builder.current_block, value)
        if key not in self._literals:
            self._literals[key] = self._built(value, build)
        return self._literals[key]

    def _built(self, value: Value, build: Callable[[], Tensor | None] | None) -> Tensor:
        assert value.array is not None
        if build is not None:
            try:
                made = build()
            except (Dynamic, Invalid, Lost, ShardcError, Unsupported, *MISFITS):
                made = None  # it cannot be computed by operations: the value itself will do
            if made is not None and made.type == value.type:
                self._tensors.builder.name([made.value], [self._tensors.names.fresh(value.name)])
                return made
        return literal(self._tensors.e, value.array)

    def stored(self, tensor: TensorProto) -> Value | Opaque:
        """A tensor that the model stores: a literal if it is small, else an argument of main."""
        try:
            type = tensor_type(tensor)
            size = type.size
            keep = size <= (MOST if type.dtype in ("i64", "i32", "bool") else SMALL)
            array = array_of(tensor, self._model.folder) if keep else None
            if tensor.data_location == TensorProto.EXTERNAL and self._model.folder is not None:
                external_place(tensor, self._model.folder)
        except ValueError as error:
            if tensor.data_type not in DTYPES:
                return Opaque(tensor.name, f"tensor of {dtype_name(tensor.data_type)}")
            raise ShardcError(f"{self._model.file}: stored tensor {tensor.name}: {error}") from None
        if array is not None and size <= SMALL and tensor.name not in self._tensors.said.wished:
            return self.known(tensor.name, array)
        value = Value(tensor.name, type, array)
        value.make = lambda: self._argument(value, tensor)
        return value

    def constant(self, tensor: TensorProto) -> Value:
        """The value of a Constant node, the same one where it is lowered again."""
        known = self._constants.setdefault(tensor.name, [])
        for other, value in known:
            if other == tensor:
                return value
        value = self.stored(tensor)
        if isinstance(value, Opaque):
            raise Unsupported(f"constant: {value.kind}")
        known.append((tensor, value))
        return value

    def _argument(self, value: Value, tensor: TensorProto) -> Tensor:
        """A further argument of main, for a stored tensor."""
        assert self.main is not None
        arg = self.main.insert_arg(attr_of_type(value.type), len(self.main.args))
        name = self._tensors.names.fresh(value.name)
        locate(arg, Location(self._model.file, 1, 1, name))
        arg.name_hint = name
        self._arguments.append(self._tensors.sharding(value.name, value.type))
        self.weights[name] = tensor
        self.keys[name] = self._keys.of(tensor)
        value.emitted = Tensor(arg, value.type)
        self._tensors.speak(value.name, value)
        return value.emitted

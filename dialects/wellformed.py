"""Checks of whole modules; every error has a location."""

# pyright: reportPrivateUsage=false
# op.operands makes an object each time, and a value's type is a call

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from shardc.diagnostics import ShardcError
from shardc.dialects.annotation_checks import check_annotations
from shardc.dialects.collective_checks import check_collective
from shardc.dialects.locations import location_of
from shardc.dialects.manual import check_manual
from shardc.dialects.nested import ops_of
from shardc.dialects.sdy import MeshOp
from shardc.dialects.shardings import mesh_of
from shardc.dialects.stablehlo.calls import CustomCallOp
from shardc.dialects.types import is_dynamic, type_of
from shardc.layout import LayoutError, Mesh
from shardc.ops import find
from shardc.ops.custom_calls import has_rule

_TENSORS = ("stablehlo.", "chlo.")
"""What the names of operations on tensors begin with."""

_DEVICES = "spmd."
"""What those of per-device code begin with."""


def verify(module: ModuleOp, dynamic: bool = False) -> None:
    """Raise ShardcError, with its location, for the first operation that is wrong.

    Of operations that share class, types, attributes and bodies, one is checked. `dynamic`: tensors of
    dynamic shape may pass through what has no factor rule: calls, loops, barriers, unknown operations.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    _Verifier(functions, _meshes(module), dynamic).operation(module)


class _Verifier(Struct):
    """Checks operations in order, each before what is in it."""

    functions: Mapping[str, FuncOp]
    meshes: Mapping[str, Mesh]
    dynamic: bool
    seen: set[tuple[object, ...]] = set()

    def operation(self, op: Operation) -> None:
        """Check an operation and what is in it."""
        _check_stated(op, self.meshes)
        key = _look(op)
        if key is not None and key in self.seen:
            return
        if not _is_right_call(op, self.functions):
            self._alone(op)
        for region in op.regions:
            for block in region.blocks:
                for inner in ops_of(block):
                    self.operation(inner)
        if key is not None:
            self.seen.add(key)

    def _alone(self, op: Operation) -> None:
        """Check an operation, and nothing in it."""
        try:
            _check_shapes(op, self.dynamic)
            _check_terminators(op)
            check_manual(op)
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise ShardcError(first_line(str(error)), location_of(op.location)) from None


def _meshes(module: ModuleOp) -> dict[str, Mesh]:
    """The meshes of a module; ShardcError for the first that cannot be."""
    meshes: dict[str, Mesh] = {}
    for op in module.ops:
        if isinstance(op, MeshOp):
            try:
                meshes[op.sym_name.data] = mesh_of(op.sym_name.data, op.mesh.data)
            except LayoutError as error:
                raise ShardcError(str(error), location_of(op.location)) from None
    return meshes


def _check_stated(op: Operation, meshes: Mapping[str, Mesh]) -> None:
    """What is said of shardings; ShardcError where it cannot be."""
    if not (op.attributes or op.name.startswith("sdy.") or isinstance(op, FuncOp)):
        return
    try:
        check_annotations(op, meshes)
        check_collective(op, meshes)
    except VerifyException as error:
        raise ShardcError(first_line(str(error)), location_of(op.location)) from None


def _look(op: Operation) -> tuple[object, ...] | None:
    """What decides whether the operation is right; None if what is around it does too."""
    around = op.name.startswith(_DEVICES)
    if not (around or op.name.startswith(_TENSORS)) or not op.results:
        return None
    held, used = op.properties, op._operands
    given, made = [id(value._type) for value in used], [id(result._type) for result in op.results]
    look = (type(op), *given, None, *made, *held, *map(id, held.values()))
    if around:  # of one block all are in per-device code, or none
        own = [(key, id(attr)) for key, attr in op.attributes.items() if not key.startswith("shardc.")]
        return None if op.regions else (*look, *own, id(op.parent))
    if not op.regions:
        return look
    bodies = [_body(region) for region in op.regions]
    return None if None in bodies else (*look, *bodies)


def _body(region: Region) -> tuple[object, ...] | None:
    """What decides whether a body is right; None if what is around it or notes on its operations do too."""
    if len(region.blocks) != 1:
        return None
    block = region.block
    numbers: dict[SSAValue, int] = {value: number for number, value in enumerate(block.args)}
    look: list[object] = [id(value.type) for value in block.args]
    for op in block.ops:
        operands = [numbers.get(value) for value in op._operands]
        if op.regions or op.attributes or None in operands or not op.name.startswith(_TENSORS):
            return None
        numbers.update((result, len(numbers)) for result in op.results)
        types, properties = [id(result._type) for result in op.results], op.properties
        look.append((type(op), *operands, None, *types, *properties, *map(id, properties.values())))
    return tuple(look)


def _is_right_call(op: Operation, functions: Mapping[str, FuncOp]) -> bool:
    """Whether it calls one of the functions as that is declared; xDSL looks through all for each call."""
    if not isinstance(op, CallOp) or any(map(is_dynamic, op.result_types)):
        return False
    if op.callee.nested_references:
        return False
    callee = functions.get(op.callee.root_reference.data)
    type = callee.function_type if callee is not None else None
    return type is not None and (*type.inputs,) == op.operand_types and (*type.outputs,) == op.result_types


_MOST_ELEMENTS = 2**63


def _check_shapes(op: Operation, dynamic: bool) -> None:
    """Raise VerifyException for tensors of sizes that are not known where they must be, or too large."""
    asks = not dynamic or _has_rule(op)
    arguments = (arg for region in op.regions for block in region.blocks for arg in block.args)
    for type in (*op.result_types, *(arg.type for arg in arguments)):
        if isinstance(type, UnrankedTensorType) or (is_dynamic(type) and asks):
            raise VerifyException(f"{type} has a dynamic shape; shardc needs all sizes")
        if type_of(type).size > _MOST_ELEMENTS:
            raise VerifyException(f"{type} has more than 2^63 elements")


def _has_rule(op: Operation) -> bool:
    if isinstance(op, CustomCallOp):
        return has_rule(op.call_target_name.data)
    definition = find(op.name)
    return definition is not None and definition.rule is not None


def _check_terminators(op: Operation) -> None:
    """Raise VerifyException for bodies that do not end as their operation's dialect has it."""
    dialect = op.name.partition(".")[0]
    if dialect not in ("func", "stablehlo", "sdy"):
        return
    for region in op.regions:
        if len(region.blocks) > 1:
            raise VerifyException(f"a body of {op.name} is one block, without jumps")
        if not region.blocks and isinstance(op, FuncOp) and not _is_declaration(op):
            raise VerifyException(f"function @{op.sym_name.data} has no body")
        for block in region.blocks:
            last = block.last_op
            if last is None or last.name != f"{dialect}.return":
                raise VerifyException(f"a body of {op.name} ends in {dialect}.return")


def _is_declaration(op: FuncOp) -> bool:
    return op.sym_visibility is not None and op.sym_visibility.data == "private"


def first_line(text: str) -> str:
    """A message without the context that xDSL adds to it."""
    return text.strip().split("\n")[0]

"""Operations in the likeness of old ones: of the same sharding and place, before them.

    %1 = stablehlo.exponential %0 {sdy.sharding = …} : tensor<62xf32>
->  %2 = stablehlo.exponential %x {sdy.sharding = …} : tensor<64xf32>      // remade of %x
    %1 = stablehlo.exponential %0 {sdy.sharding = …} : tensor<62xf32>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.convert import attribute_of
from shardc.dialects.derive import op_class
from shardc.dialects.types import attr_of_type
from shardc.graph import TensorType
from shardc.ops.definition import OpDef


def made_before(
    old: Operation, definition: OpDef, operands: Sequence[SSAValue], type: TensorType, **attrs: object
) -> SSAValue:
    """The result of another operation before an old one."""
    properties = {name: attribute_of(name, value) for name, value in attrs.items()}
    return _created(op_class(definition), old, operands, type, properties, old)


def remade(
    old: Operation, operands: Sequence[SSAValue], type: TensorType, before: Operation | None = None
) -> SSAValue:
    """The result of the same operation on other operands, of the old one's name; before it, or another."""
    made = _created(old.__class__, old, operands, type, old.properties, before or old)
    made.name_hint = old.results[0].name_hint
    return made


def _created(
    kind: type[Operation],
    old: Operation,
    operands: Sequence[SSAValue],
    type: TensorType,
    properties: Mapping[str, Attribute],
    before: Operation,
) -> SSAValue:
    made = kind.create(
        operands=operands,
        result_types=[attr_of_type(type)],
        properties=dict(properties),
        attributes=dict(old.attributes),
        location=old.location,
    )
    Rewriter.insert_op(made, InsertPoint.before(before))
    return made.results[0]

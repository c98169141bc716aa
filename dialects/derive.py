"""xDSL's class for an operation, from its definition.

    gather = OpDef(name="stablehlo.gather", syntax=Syntax(("operand", "start_indices"), attrs={…}), …)

has the class that one would write as

    @irdl_op_definition
    class GatherOp(HloOp):
        name = "stablehlo.gather"
        operand = operand_def(TensorType)
        …

Only operations that read, print or verify in a way that no `Syntax` says have a class of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    SameVariadicOperandSize,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, OpTrait, Pure

from shardc.dialects.attribute_kinds import KINDS
from shardc.dialects.base import HloOp
from shardc.dialects.formats import written
from shardc.dialects.per_device import SpmdOp
from shardc.dialects.sdy_collectives import CollectiveOp
from shardc.ops import OpDef, Trait, spmd
from shardc.ops.definition import Syntax

OpClass = type[IRDLOperation]


_SPMD = spmd.all_reduce.dialect


def _base(definition: OpDef) -> OpClass:
    """What an operation has in common with others."""
    if definition.has(Trait.GLOBAL_COLLECTIVE):
        return CollectiveOp
    return SpmdOp if definition.has(Trait.ALONG_AXES) else HloOp


@cache
def op_class(definition: OpDef) -> OpClass:
    """The class for a definition with a Syntax; KeyError for a kind of attribute that there is not."""
    syntax = definition.syntax or Syntax()
    name = "".join(word.capitalize() for word in re.split(r"\W|_", definition.short)) + "Op"
    members: dict[str, object] = {
        "__doc__": definition.doc,
        "__module__": __name__,
        "name": definition.name,
        "traits": traits_def(*_traits(definition)),
        **_values(syntax),
        **_attributes(syntax, properties=definition.dialect != _SPMD),
    }
    if syntax.same_sizes:
        members["irdl_options"] = (SameVariadicOperandSize(),)
    made = irdl_op_definition(cast(OpClass, type(name, (_base(definition),), members)))
    return made if syntax.format is None else written(syntax.format)(made)


def _traits(definition: OpDef) -> Iterator[OpTrait]:
    if definition.has(Trait.TERMINATOR):
        yield IsTerminator()
    elif not definition.has(Trait.EFFECT) and not definition.has(Trait.REGION):
        yield Pure()


def _values(syntax: Syntax) -> dict[str, object]:
    """Operands, results and regions."""
    type: Any = TensorType if syntax.tensors else AnyAttr()
    members: dict[str, object] = {}
    for names, one, many in (
        (syntax.operands, operand_def, var_operand_def),
        (syntax.results, result_def, var_result_def),
    ):
        for name in names:
            members[name.removeprefix("*")] = (many if name.startswith("*") else one)(type)
    for name in syntax.regions:
        define = var_region_def if name.startswith("*") else region_def
        members[name.removeprefix("*")] = define("single_block")
    return members


def _attributes(syntax: Syntax, properties: bool) -> dict[str, object]:
    """Properties, or attributes. One that is called as a member of every class is, is a member with `_`."""
    define: Any
    members: dict[str, object] = {}
    for name, kind in syntax.attrs.items():
        member = f"{name}_" if hasattr(IRDLOperation, name) or name == "name" else name
        constraint, optional = KINDS[kind.removesuffix("?")].constraint, kind.endswith("?")
        if properties:
            define = opt_prop_def if optional else prop_def
            members[member] = define(constraint, prop_name=name)
        else:
            define = opt_attr_def if optional else attr_def
            members[member] = define(constraint, attr_name=name)
    return members


def attribute(definition: OpDef | None, key: str, value: object) -> Attribute | None:
    """The attribute `key` of an operation, if its definition says how it is written."""
    kind = definition.syntax.attrs.get(key) if definition is not None and definition.syntax else None
    write = KINDS[kind.removesuffix("?")].write if kind else None
    return None if write is None else write(value)

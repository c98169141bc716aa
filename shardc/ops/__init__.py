"""One definition per operation, and what is asked of them by name.

`hlo.gather`, `chlo.erf`, `spmd.all_gather`, `sdy.reshard` are the definitions, one module of names per
dialect; the families of files beside them are where they are made. `registry` looks operations up by name.
"""

from shardc.ops import chlo, func, hlo, own, sdy, spmd
from shardc.ops.combiner import combiner, combiners, op_of
from shardc.ops.definition import OpDef, Spelling, Syntax, Trait
from shardc.ops.extending import define, register, register_call
from shardc.ops.registry import (
    definitions,
    find,
    has,
    infer,
    infers,
    is_tensor_op,
    meaning,
    names,
    near,
    rule_of,
    sent,
    verify,
)
from shardc.ops.untyped import ShapeError, UntypedOp

__all__ = [
    "OpDef",
    "ShapeError",
    "Spelling",
    "Syntax",
    "Trait",
    "UntypedOp",
    "chlo",
    "combiner",
    "combiners",
    "define",
    "definitions",
    "find",
    "func",
    "has",
    "hlo",
    "infer",
    "infers",
    "is_tensor_op",
    "meaning",
    "names",
    "near",
    "op_of",
    "own",
    "register",
    "register_call",
    "rule_of",
    "sdy",
    "sent",
    "spmd",
    "verify",
]

"""What is seen of a large global program before it is a graph, which it is made only for a proof.

    seen = outlined(module)                 # None: of a small program, or of one that proofs rewrite
    seen.too_large(local, few, most)        # the answer, if that much alone gives it

So a program of many equal layers is compiled without a graph of all of them. A proof compares as many
operations as there are in the text where it does not rewrite some to fewer (comparable.py), and the types are
those of the entry.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from shardc.dialects.nested import nested
from shardc.dialects.types import type_of
from shardc.graph import Graph
from shardc.graph.types import TensorType
from shardc.ops import Trait, has, hlo, sdy
from shardc.proof.effort import operations
from shardc.proof.kinds import kinds_with
from shardc.proof.short import Large, check_few, limit_with
from shardc.proof.verdict import Proof, Verdict

WORTH = 4000
"""Operations: the proof of fewer may well be little work."""

_INDEXING = {hlo.gather.name, hlo.scatter.name}
_ASKED = {hlo.custom_call.name, sdy.manual_computation.name}
"""What may be unknown to a proof, or all of a program."""


class Outlined(Struct, frozen=True):
    """How many operations a program has, whether there are absolute values among them, and which types its
    entry takes and gives."""

    operations: int
    absolute: bool
    args: tuple[TensorType, ...]
    results: tuple[TensorType, ...]

    def too_large(self, local: Graph, few: int | None, most: Callable[[int], int]) -> Proof | None:
        """That the programs are too large to be proved, where the work of `few` of many equal layers says so;
        `most` takes how many operations both have.
        """
        body = local.main.body
        if few is None or (local.types(body.args), local.types(body.results)) != (self.args, self.results):
            return None
        limit = limit_with(kinds_with(self.args), most(self.operations + operations(local)))
        try:
            check_few(few, self.operations, limit)
        except Large as error:
            return Proof(Verdict.NOT_PROVED, str(error), undrawn=True)
        return None


def outlined(module: ModuleOp) -> Outlined | None:
    """What is seen of a module; None if it is small, or not compared as it is."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    main = functions.get("main")
    inside = nested(functions.values())
    if main is None or len(inside) - len(functions) < WORTH:
        return None
    names = {op.name for op in inside}
    rewritten = hlo.concatenate.name in names and not names.isdisjoint(_INDEXING)
    if rewritten or not names.isdisjoint(_ASKED) or any(has(name, Trait.SHOWS) for name in names):
        return None
    args, results = main.function_type.inputs.data, main.function_type.outputs.data
    return Outlined(
        len(inside) - len(functions),
        hlo.abs_.name in names,
        tuple(map(type_of, args)),
        tuple(map(type_of, results)),
    )

"""Names of what a scan saves for its backward pass: the stack of the values of `h` is `saved_h`.

def layer(h, w):
    h = jnp.tanh(h @ w)      # line 5 of model.py
    return h, None

jax.grad(loss)               # of a scan over layers

->  %saved_h = … stablehlo.while … { … dynamic_update_index_in_dim(%saved_h, %h, %i) … }

A value on the way to one that has a name is called after that and JAX's operation, `saved_h_exp`; where no
line gives one, after the operation alone. What `jax.checkpoint` takes for the backward pass, behind a
barrier, is called as it was.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Container, Mapping

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardc.dialects.locations import locate, location_of
from shardc.dialects.nested import nested
from shardc.dialects.types import type_of
from shardc.frontend.python_names import statement_of
from shardc.ops import hlo

_MOST_STEPS = 1000
"""Of which more are taken only where functions call each other in a circle."""

_FORMS = frozenset((hlo.reshape.name, hlo.broadcast_in_dim.name))
_WORD = re.compile(r"[A-Za-z]\w*")


class _Seen(Struct, frozen=True):
    """A value in a function that is called, and the calls that lead there, the innermost last."""

    value: SSAValue
    calls: tuple[CallOp, ...] = ()


def name_saved(module: ModuleOp, backward: Container[Operation], named: Mapping[SSAValue, str]) -> None:
    """Give the stacks of scans of a forward pass that have no names those of what they hold, in place.

    `backward` are the operations of the backward pass, `named` the names that lines of Python give.
    """
    reader = _Reader(module, named)
    for op in nested([module]):
        if op.name == hlo.while_.name and op not in backward:
            _name(op, reader)
    for op in nested([module]):
        if op.name == hlo.optimization_barrier.name and op in backward:
            locate(op, location_of(op.location).named(None))
            for result, operand in zip(op.results, op.operands, strict=True):
                result.name_hint = result.name_hint or reader.name(reader.unformed(_Seen(operand)), op)


def _name(op: Operation, reader: _Reader) -> None:
    body = op.regions[1].block
    last = body.last_op
    assert last is not None, "a loop's body yields"
    for argument, given, result in zip(body.args, last.operands, op.results, strict=True):
        if _hint(argument) or _hint(result):
            continue
        written = reader.written(argument, given)
        name = None if written is None else reader.name(written, op)
        if name is not None:
            for value in (result, argument, op.regions[0].block.args[argument.index]):
                value.name_hint = f"saved_{name}"


class _Reader:
    """Follows values into the functions that a module calls, and out of them."""

    def __init__(self, module: ModuleOp, named: Mapping[SSAValue, str]) -> None:
        self._functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self._named = named
        self._calls: dict[str, list[CallOp]] = defaultdict(list)
        for op in nested([module]):
            if isinstance(op, CallOp):
                self._calls[op.callee.string_value()].append(op)

    def written(self, stack: SSAValue, given: SSAValue) -> _Seen | None:
        """What a turn writes into a carried stack, if `given` is that stack with a value in it."""
        seen = self.made(_Seen(given))
        op = seen.value.owner
        if not isinstance(op, Operation) or op.name != hlo.dynamic_update_slice.name:
            return None
        into = self.made(_Seen(op.operands[0], seen.calls))
        return self.unformed(_Seen(op.operands[1], seen.calls)) if into.value is stack else None

    def name(self, seen: _Seen, within: Operation) -> str | None:
        """The name of a value, else of the statement that makes it, with JAX's word for its operation.

        Not of a statement that does the operation `within` which the value is made.
        """
        value, owner = seen.value, seen.value.owner
        if value in self._named:
            return self._named[value]
        if not isinstance(owner, Operation):
            return self._of_argument(value, within)
        if _hint(value):
            return str(_hint(value)).removeprefix("saved_")
        if owner.name == hlo.dynamic_slice.name:  # a turn's part of what the scan takes
            return self.name(self.made(_Seen(owner.operands[0], seen.calls)), within)
        for op in (owner, *reversed(seen.calls)):
            statement = statement_of(op, within)
            if statement is not None and len(statement.targets) == 1 and statement.targets[0]:
                return f"{statement.targets[0]}_{_word(owner)}"
        return _word(owner)

    def _of_argument(self, value: SSAValue, within: Operation) -> str | None:
        """The name of what a loop carries, perhaps unchanged, or of a parameter."""
        assert isinstance(value, BlockArgument)
        loop = value.owner.parent_op()
        if loop is not None and loop.name == hlo.while_.name and not _hint(value):
            last = value.owner.last_op
            same = last is not None and last.operands[value.index] is value
            return self.name(self.made(_Seen(loop.operands[value.index])), within) if same else None
        path = location_of(value.location).name or _hint(value) or ""
        return "_".join(re.findall(r"[A-Za-z0-9_]+", path)) or None

    def unformed(self, seen: _Seen) -> _Seen:
        """The value of which one is another form, with the same elements: a row of the stack."""
        seen = self.made(seen)
        owner = seen.value.owner
        if not isinstance(owner, Operation) or owner.name not in _FORMS:
            return seen
        sizes = [math.prod(type_of(value.type).shape) for value in (seen.value, owner.operands[0])]
        return self.unformed(_Seen(owner.operands[0], seen.calls)) if sizes[0] == sizes[1] else seen

    def made(self, seen: _Seen) -> _Seen:
        """The same value where an operation makes it, a loop carries it, or several calls give it."""
        value, calls = seen.value, seen.calls
        for _ in range(_MOST_STEPS):
            owner = value.owner
            if isinstance(value, OpResult) and isinstance(owner, CallOp):
                function = self._functions.get(owner.callee.string_value())
                last = None if function is None or not function.body.blocks else function.body.block.last_op
                if last is None:
                    break
                value, calls = last.operands[value.index], (*calls, owner)
            elif isinstance(value, BlockArgument) and isinstance(function := value.owner.parent_op(), FuncOp):
                called = calls[-1:] or self._calls[function.sym_name.data]
                if len(called) != 1:
                    break
                value, calls = called[0].operands[value.index], calls[:-1]
            else:
                break
        return _Seen(value, calls)


def _hint(value: SSAValue) -> str | None:
    """The name of a value that stands beside it, unless it is JAX's own for what a loop carries."""
    hint = value.name_hint
    return None if hint is None or hint.startswith("iterArg") else hint


def _word(op: Operation) -> str:
    """JAX's name of an operation, which ends the path that its location has."""
    last = (location_of(op.location).name or "").rpartition("/")[2]
    return last if _WORD.fullmatch(last) else op.name.rpartition(".")[2]

"""shardc's passes for xDSL's own tools: `xdsl-opt --allow-unregistered-dialect -p shardc-propagate FILE`.

Only passes are published, under names that begin with `shardc-`. Dialects are not: xDSL's tools stop when
two packages publish one name, and others publish `stablehlo`. So a pass takes the module as it finds it
(operations of another package's stablehlo, or unregistered ones in generic form), reads its text with
shardc's dialects, and leaves shardc's operations in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException

from shardc.passes.graph_pass import GraphPass
from shardc.passes.pipeline import PASSES

PREFIX = "shardc-"


class _Foreign(GraphPass):
    """Runs a pass, which is the next base class, on a module of anybody's operations."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from shardc.diagnostics import ShardcError
        from shardc.dialects.context import make_context
        from shardc.frontend.mlir import read

        text = StringIO()
        Printer(text, print_generic_format=True, print_debuginfo=True).print_op(op)
        try:
            module = read(text.getvalue(), f"<before {self.name}>")
            PASSES[self.name.removeprefix(PREFIX)]().apply(self, make_context(), module)
        except ShardcError as error:
            raise PassFailedException(str(error)) from None
        op.body.detach_block(op.body.block).erase()
        op.attributes.update(module.attributes)
        module.body.move_blocks(op.body)


def _adapted(name: str) -> type[ModulePass]:
    """The pass `name` as xDSL's tools can run it, with its options."""
    base = PASSES[name]()
    return type(base.__name__, (_Foreign, base), {"name": PREFIX + name, "__doc__": base.__doc__})


def published() -> dict[str, Callable[[], type[ModulePass]]]:
    """Name -> a function that imports the pass."""
    return {PREFIX + name: partial(_adapted, name) for name in PASSES}


UNIVERSE = Universe(all_passes=published())

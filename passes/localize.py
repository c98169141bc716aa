"""localize: the global program with collectives -> the program of one device.

    func.func @main(%x: tensor<32x256xf32> {sdy.sharding = [data, model]}, …) -> … {
      %0 = stablehlo.dot_general %x, %w, … {sdy.sharding = [data, -] unreduced={model}} : …
      %1 = sdy.all_reduce {"model"} %0 out_sharding=[data, -] : tensor<32x64xf32>
      return %1 : tensor<32x64xf32>
    }

becomes

    func.func @main(%x: tensor<32x256xf32>, …) -> … {
      %r = sdy.manual_computation(%x, %w) in_shardings=… out_shardings=… manual_axes={"data", "model"}
          (%x_0: tensor<16x64xf32>, …) {
        %0 = stablehlo.dot_general %x_0, %w_0, … : … -> tensor<16x64xf32>
        %1 = "spmd.all_reduce"(%0) <{axes = ["model"], kind = "sum"}> : …
        sdy.return %1 : tensor<16x64xf32>
      } : …
      return %r : tensor<32x64xf32>
    }

Comes in: every value with one layout that fits every use. Goes out: the form that a @shard_map function has.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from msgspec.structs import replace
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardc.analysis.text import sharded_text, title
from shardc.check.communication import SAID
from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import attribute_of, python_of
from shardc.dialects.locations import locate, location_of
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.forms.creation import partial
from shardc.forms.localize import Localizer
from shardc.graph import LETTERS, Node, Region
from shardc.graph.marks import BACKWARD, CALL, FORM, GLOBAL, GROUP, LAYER, PARTIAL_KIND, PARTIAL_OVER, REASON
from shardc.layout import Sharding, text_of
from shardc.ops import Trait, has, is_tensor_op, sdy
from shardc.passes.graph_pass import GraphPass
from shardc.planning.meshes import mesh_of
from shardc.rewrite.recipes import RememberingLocalizer, hint, name_result

KEPT = (
    BACKWARD,
    CALL,
    GROUP,
    LAYER,
    REASON,
    LETTERS,
    PARTIAL_OVER,
    PARTIAL_KIND,
    SAID,
)
VALUES = "shardc.values"
"""Per result the number of a value in the snapshot of the module that came in, or -1."""


@dataclass(frozen=True)
class Localize(GraphPass):
    """Rewrite the entry's body into one manual computation over all axes.

    With `number_values` each operation says as VALUES which values of the global program its results are the
    blocks of.
    """

    name = "localize"
    number_values: bool = False

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        if not snap.graph.meshes:
            return False
        name = snap.graph.main.name
        functions = (f for f in shared.module.body.block.ops if isinstance(f, FuncOp))
        func = next(f for f in functions if f.sym_name.data == name)
        _Localize(snap, func, self.number_values).run()
        return True


class _Localize:
    def __init__(self, snap: Snapshot, func: FuncOp, number_values: bool) -> None:
        self.graph, self.func, self.number_values = snap.graph, func, number_values
        self.builder = IRBuilder(snap.module)
        self.mesh = mesh_of(snap.graph)
        make = Localizer if number_values else RememberingLocalizer
        self.localizer = make(snap.graph, self.mesh, self.at, self.done, self.entered)

    def run(self) -> None:
        """Build the new body before the old one, then drop the old one."""
        main, block = self.graph.main, self.func.body.block
        old = list(block.ops)
        ins = [self.localizer.layout(v) for v in main.body.args]
        outs = [
            s.layout() if s else self.localizer.layout(v)
            for s, v in zip(main.result_shardings, main.body.results, strict=True)
        ]
        with self.builder.inside(block, old[0]), self.builder.at(main.loc.named(None)):
            results = self.builder.manual_computation(
                list(block.args),
                self.body,
                local_types=[self.localizer.local(v) for v in main.body.args],
                in_shardings=[replace(layout, unreduced=()) for layout in ins],
                out_shardings=outs,
                results=self.graph.types(main.body.results),
                manual_axes=list(self.mesh.sizes),
            )
            self.builder.ret(results)
        for op in reversed(old):
            op.detach()
            op.erase()

    def body(self, builder: IRBuilder, *blocks: BlockArgument) -> Sequence[SSAValue]:
        """The per-device program; a partial argument is whole when it comes in."""
        args = self.graph.main.body.args
        env: dict[int, Any] = {}
        self.entered(self.graph.main.body, blocks)
        for value, block in zip(args, blocks, strict=True):
            with builder.at(self.graph.values[value].loc):
                env[value] = partial(builder, block, self.localizer.layout(value))
        return self.localizer.region(builder, self.graph.main.body, env)

    @contextmanager
    def at(self, node: Node) -> Generator[None]:
        """What is built for a node has its place, but not yet its name, and its notes."""
        notes = {key: node.attrs[key] for key in KEPT if key in node.attrs}
        if FORM in node.attrs:
            notes[REASON] = f"{title(node)} runs on blocks ({node.attrs[FORM]})"
        with self.builder.at(node.loc.named(None)), self.builder.tagged(notes):
            yield

    def entered(self, region: Region, blocks: Sequence[SSAValue]) -> None:
        """The arguments of a body have the names and places of those that they are the blocks of."""
        for value, block in zip(region.args, blocks, strict=True):
            if isinstance(block, BlockArgument):
                loc = self.graph.values[value].loc
                hint(block, loc.name)
                locate(block, loc)

    def done(self, node: Node, values: Sequence[SSAValue]) -> None:
        """The results take the node's names, and say over which axes they are partial from here on."""
        if node.name == sdy.manual_computation.name:
            return  # its own operations have told
        for result, value in zip(node.results, values, strict=True):
            if not isinstance(value, OpResult):
                continue
            if self.number_values:
                _number(value, result)
            if value.name_hint is None:
                name_result(value, location_of(value.op.location), self.graph.values[result].loc)
            layout = self.localizer.layout(result)
            self._mark_partial(node, layout, value.op)
            if not layout.is_replicated and not has(value.op.name, Trait.REGION):
                _note_global(value, sharded_text(self.graph.type(result), layout))

    def _mark_partial(self, node: Node, layout: Sharding, op: Operation) -> None:
        if not layout.unreduced or not is_tensor_op(op.name):
            return
        split = [a for v in node.operands for dim in self.localizer.layout(v).dims for a in dim.axes]
        new = tuple(
            text_of(axis, self.mesh) for axis in layout.unreduced if any(axis.overlaps(a) for a in split)
        )
        if new:
            op.attributes[PARTIAL_OVER] = attribute_of(PARTIAL_OVER, new)
            if layout.kind != "sum" and has(node.name, Trait.GLOBAL_COLLECTIVE):
                op.attributes[PARTIAL_KIND] = attribute_of(PARTIAL_KIND, layout.kind)


def _number(value: OpResult, number: int) -> None:
    """Note the number of the global value; an operation that several become is the first one's."""
    held = value.op.attributes.get(VALUES)
    numbers = list(cast("tuple[int, ...]", python_of(held))) if held else [-1] * len(value.op.results)
    if numbers[value.index] < 0:
        numbers[value.index] = number
    value.op.attributes[VALUES] = attribute_of(VALUES, tuple(numbers))


def _note_global(value: OpResult, text: str) -> None:
    """Note the global type of a value; of several results of an operation each has its own, "" for none."""
    held = value.op.attributes.get(GLOBAL)
    count = len(value.op.results)
    texts = list(cast("tuple[str, ...]", python_of(held))) if held and count > 1 else [""] * count
    texts[value.index] = text
    noted = text if len(texts) == 1 else tuple(texts)
    value.op.attributes[GLOBAL] = attribute_of(GLOBAL, noted)

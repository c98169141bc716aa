"""insert-reshards: shardings -> one layout per value, and explicit reshards where a use needs another.

    %h = stablehlo.dot_general %x, %w1, … : …               // [data, model]
    %y = stablehlo.dot_general %h, %w2, … {sdy.sharding = [data, -]} : …

becomes

    %h = stablehlo.dot_general %x, %w1, … {sdy.sharding = [data, model]} : …
    %0 = stablehlo.dot_general %h, %w2, … {sdy.sharding = [data, -] unreduced={model}} : …
    %y = sdy.reshard %0 <[data, -]> {shardc.reason = "partial sums over model, …"} : …

The planner (planning/) decides where each operation runs and so what its results look like; annotations, and
the shardings of arguments and results, stay. Every operation then has operands exactly as it needs them, and
`shardc.form` names its local form where that is not the plain one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.sdy import ReshardOp
from shardc.dialects.sharding_writer import write_shardings
from shardc.dialects.shardings import PARTIAL, attr_of, partial_of
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph.marks import AT_ONCE, CALL, FORM, LAYER, REASON
from shardc.layout import Sharding
from shardc.ops import sdy
from shardc.passes.graph_pass import GraphPass
from shardc.passes.require_runnable import check_types
from shardc.planning.machines import Machine
from shardc.planning.program import Counted, Plan, PlannedCopy, Planner
from shardc.rewrite.fit_borders import fit_borders
from shardc.rewrite.folding.equal_layers import equal_layers
from shardc.rewrite.unit_axes import leave_unit_axes


@dataclass(frozen=True)
class InsertReshards(GraphPass):
    """Plan the main function for a machine (from Python; else plan_program's) and write the plan into it.

    `told` is given the plan before anything is said of it. `split_results`: results that propagation leaves
    whole leave main split as an argument is, even where that is not cheaper. `counted`: what the plan, and
    those that it comes after, count on to be combined later (report/combined.py). `planned`: the module is a
    copy of this one, which is planned in its place, without warnings. `lean`: each change of layout is one
    reshard, so that it can take the way of least memory.
    """

    name = "insert-reshards"
    machine: Machine | None = None
    told: Callable[[Plan], None] | None = None
    split_results: bool = False
    counted: tuple[Counted, ...] = (Counted(),)
    planned: Planned | None = None
    lean: bool = False

    def rewrite(self, shared: SharedGraph) -> bool:
        planned = self.planned or Planned(shared, self.machine, self.split_results, self.lean)
        plan = planned.plan(self.counted)
        if plan is None:
            return False
        if self.told is not None:
            self.told(plan)
        if self.planned is None:
            plan.warn()
        snap = planned.on(shared.module)
        _write_layouts(snap, plan)
        _Inserter(snap, plan).insert()
        return True


def planned(
    op: ModuleOp, machine: Machine | None = None, counted: tuple[Counted, ...] = (Counted(),)
) -> tuple[Snapshot, Plan] | None:
    """The plan of the main function, which is not written yet; None if nothing names a mesh."""
    module = Planned(SharedGraph(op), machine)
    plan = module.plan(counted)
    return None if plan is None else (module.snap, plan)


class Planned:
    """A module that is planned several times; nothing is asked of a plan once the next one is made."""

    def __init__(
        self,
        shared: SharedGraph,
        machine: Machine | None = None,
        split_results: bool = False,
        lean: bool = False,
    ) -> None:
        if fit_borders(shared.module):
            shared.drop()
        if leave_unit_axes(shared.snapshot()):
            shared.drop()
        self.snap, self._planner = shared.snapshot(), None
        if self.snap.graph.meshes:
            check_types(self.snap.graph)
            alike = equal_layers(self.snap)
            graph = self.snap.graph
            self._planner = Planner(
                graph, machine=machine, split_results=split_results, alike=alike, lean=lean
            )

    def plan(self, counted: tuple[Counted, ...]) -> Plan | None:
        """The plan for what is counted on; None if nothing names a mesh."""
        return None if self._planner is None else self._planner.plan(counted)

    def on(self, module: ModuleOp) -> Snapshot:
        """The module, or a copy of it, as a graph, to which what was planned is written."""
        return self.snap if module is self.snap.module else self.snap.copied(module)


def _write_layouts(snap: Snapshot, plan: Plan) -> None:
    """Every value's layout, and every operation's form."""
    for node, form in plan.forms.items():
        snap.ops[node].attributes[FORM] = StringAttr(form)
    layouts: dict[int, Sharding | None] = {**plan.layouts}
    write_shardings(snap, layouts, {snap.graph.main.name: list(plan.results)})


class _Inserter:
    """Puts each reshard before the first operation that needs it."""

    def __init__(self, snap: Snapshot, plan: Plan) -> None:
        self.snap, self.plan = snap, plan
        self.order = {op: index for index, op in enumerate(snap.ops)}

    def insert(self) -> None:
        """All reshards of all values, in program order."""
        for copies in self.plan.copies():
            self._insert(copies)

    def _insert(self, copies: list[PlannedCopy]) -> None:
        """The copies of one value."""
        firsts, made = self._firsts(copies), self.snap.ssa[copies[0].value]
        have: dict[Sharding, SSAValue] = {}
        for copy in copies:
            have[copy.target] = self._reshard(copy, have.get(copy.source, made), firsts[copy.target])
            for node, index in copy.uses:
                self.snap.ops[node.id].operands[index] = have[copy.target]

    def _firsts(self, copies: list[PlannedCopy]) -> dict[Sharding, Operation]:
        """The first operation that needs each copy, for itself or for a copy of it."""
        parents = {copy.target: copy.source for copy in copies}
        firsts: dict[Sharding, Operation] = {}
        for copy in copies:
            for node, _ in copy.uses:
                place, target = _beside(self.snap.ops[node.id], self.snap.ssa[copy.value]), copy.target
                while target in parents:
                    known = firsts.get(target)
                    if known is None or self.order[place] < self.order[known]:
                        firsts[target] = place
                    target = parents[target]
        return firsts

    def _reshard(self, copy: PlannedCopy, operand: SSAValue, before: Operation) -> SSAValue:
        made = self.snap.ssa[copy.value]
        location = made.owner.location if isinstance(made.owner, Operation) else _argument(made).location
        op = ReshardOp.create(
            operands=[operand],
            result_types=[operand.type],
            properties={"sharding": attr_of(copy.target)},
            attributes={REASON: StringAttr(copy.reason)},
            location=location,
        )
        if copy.at_once is not None:
            op.attributes[AT_ONCE] = StringAttr(copy.at_once)
        partial = partial_of(copy.target)
        if partial is not None:
            op.attributes[PARTIAL] = partial
        call = _call(before, made)
        if call is not None:
            op.attributes[CALL] = call
        layer = _layer(before, made)
        if layer is not None:
            op.attributes[LAYER] = layer
        op.results[0].name_hint = made.name_hint
        Rewriter.insert_op(op, InsertPoint.before(before))
        return op.results[0]


def _call(before: Operation, made: SSAValue) -> Attribute | None:
    """The call that a reshard belongs to: that of the operation it stands before.

    Per-device code takes its operands as they are, so there it is the call that has both.
    """
    call = before.attributes.get(CALL)
    if before.name != sdy.manual_computation.name or not isinstance(call, StringAttr):
        return call
    other = made.owner.attributes.get(CALL) if isinstance(made.owner, Operation) else None
    paths = zip(
        call.data.split("/"), other.data.split("/") if isinstance(other, StringAttr) else (), strict=False
    )
    shared = "/".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], paths))
    return StringAttr(shared) if shared else None


def _layer(before: Operation, made: SSAValue) -> Attribute | None:
    """The layer that a reshard belongs to: that of the operation it stands before, else that of the value."""
    own = made.owner.attributes.get(LAYER) if isinstance(made.owner, Operation) else None
    return before.attributes.get(LAYER) or own


def _argument(value: SSAValue) -> BlockArgument:
    assert isinstance(value, BlockArgument)
    return value


def _beside(user: Operation, value: SSAValue) -> Operation:
    """The operation in the block of `value` that is `user` or holds it."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while user.parent is not block:
        parent = user.parent_op()
        assert parent is not None, "a use outside the region of its value"
        user = parent
    return user

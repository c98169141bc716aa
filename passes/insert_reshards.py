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

from dataclasses import dataclass
from itertools import takewhile

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.sdy import ReshardOp
from shardc.dialects.shardings import PARTIAL, attr_of, partial_of
from shardc.dialects.snapshot import Snapshot, snapshot, write_shardings
from shardc.explain.reasons import lost_splits, padding, reason
from shardc.layout import Sharding
from shardc.passes.fit_borders import fit_borders
from shardc.planning.improve import improve
from shardc.planning.meshes import mesh_of
from shardc.planning.problem import Problem
from shardc.planning.setup import setup

FORM = "shardc.form"
REASON = "shardc.reason"
CALL = "shardc.call"


@dataclass(frozen=True)
class InsertReshards(ModulePass):
    """Plan the main function and write the plan into it."""

    name = "insert-reshards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = planned(op)
        if found is None:
            return
        snap, problem = found
        lost_splits(problem)
        padding(problem)
        _write_layouts(snap, problem)
        _Inserter(snap, problem).insert()


def planned(op: ModuleOp) -> tuple[Snapshot, Problem] | None:
    """The plan of the main function, which is not written yet; None if nothing names a mesh."""
    fit_borders(op)
    snap = snapshot(op)
    if not snap.graph.meshes:
        return None
    problem = setup(snap.graph, snap.graph.main, mesh_of(snap.graph))
    improve(problem)
    return snap, problem


def _write_layouts(snap: Snapshot, problem: Problem) -> None:
    """Every value's layout, and every operation's form."""
    layouts: dict[int, Sharding | None] = {value: layout for value, (layout, _) in problem.arguments.items()}
    for variable in problem.variables:
        layouts.update(zip(variable.node.results, variable.choice.results, strict=True))
        if variable.choice.form != "plain":
            snap.ops[variable.node.id].attributes[FORM] = StringAttr(variable.choice.form)
    function = snap.graph.main
    end = next(v for v in problem.variables if v.node is function.body.nodes[-1])
    write_shardings(snap, layouts, {function.name: list(end.choice.operands)})


class _Inserter:
    """Puts each reshard before the first operation that needs it."""

    def __init__(self, snap: Snapshot, problem: Problem) -> None:
        self.snap, self.problem = snap, problem
        self.order = {op: index for index, op in enumerate(snap.ops)}

    def insert(self) -> None:
        """All reshards of all values, in program order."""
        for value in self.problem.values:
            needs = self.problem.needs(value)
            if needs:
                self._copies(value, needs)

    def _copies(self, value: int, needs: list[Sharding]) -> None:
        made = self.problem.copies(value, needs)
        parents = {target: source for source, target, _ in made}
        users: dict[Sharding, list[tuple[Operation, int]]] = {target: [] for target in parents}
        firsts: dict[Sharding, Operation] = {}
        for variable, index in self.problem.consumers[value]:
            target = variable.choice.operands[index]
            if target not in parents:
                continue
            user = self.snap.ops[variable.node.id]
            users[target].append((user, index))
            place = _beside(user, self.snap.ssa[value])
            while target in parents:
                known = firsts.get(target)
                if known is None or self.order[place] < self.order[known]:
                    firsts[target] = place
                target = parents[target]
        have: dict[Sharding, SSAValue] = {self.problem.given(value): self.snap.ssa[value]}
        for source, target, _ in made:
            have[target] = self._reshard(value, have[source], source, target, firsts[target])
            for user, index in users[target]:
                user.operands[index] = have[target]

    def _reshard(
        self, value: int, operand: SSAValue, source: Sharding, target: Sharding, before: Operation
    ) -> SSAValue:
        made = self.snap.ssa[value]
        location = made.owner.location if isinstance(made.owner, Operation) else _argument(made).location
        op = ReshardOp.create(
            operands=[operand],
            result_types=[operand.type],
            properties={"sharding": attr_of(target)},
            attributes={REASON: StringAttr(reason(self.problem, value, source, target))},
            location=location,
        )
        partial = partial_of(target)
        if partial is not None:
            op.attributes[PARTIAL] = partial
        call = _call(before, made)
        if call is not None:
            op.attributes[CALL] = call
        op.results[0].name_hint = made.name_hint
        Rewriter.insert_op(op, InsertPoint.before(before))
        return op.results[0]


def _call(before: Operation, made: SSAValue) -> Attribute | None:
    """The call that a reshard belongs to: that of the operation it stands before.

    Per-device code takes its operands as they are, so there it is the call that has both.
    """
    call = before.attributes.get(CALL)
    if before.name != "sdy.manual_computation" or not isinstance(call, StringAttr):
        return call
    other = made.owner.attributes.get(CALL) if isinstance(made.owner, Operation) else None
    paths = zip(call.data.split("/"), other.data.split("/") if isinstance(other, StringAttr) else ())
    shared = "/".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], paths))
    return StringAttr(shared) if shared else None


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

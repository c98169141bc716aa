"""Forward mode: beside each value its tangent.

A linear operation takes the tangent as it takes the value. Any other operation's tangent is the transpose of
its vjp: the formula is recorded for a cotangent that nobody knows, and that recording run backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from shardc.analysis.usage import usage
from shardc.gradients.backward import Backward
from shardc.gradients.cotangents import zeros
from shardc.gradients.forward import Forward, shardings
from shardc.gradients.program import Program, derivative_of
from shardc.gradients.recording import Recorder, Writer
from shardc.gradients.values import Values
from shardc.graph import Node, Region
from shardc.graph.marks import GROUP
from shardc.ops import OpDef, find, func, hlo, op_of, sdy
from shardc.ops.derivative import Missing, Step
from shardc.ops.derivatives.terms import Term

Tangents = dict[int, Any]


class Along:
    """Builds regions with tangents."""

    def __init__(self, program: Program, writer: Writer[Any]) -> None:
        self.program, self.writer = program, writer
        self.forward = Forward(program, writer, {})
        self.uses = usage(program.region)

    def region(self, region: Region, known: dict[int, Any], tangents: Tangents) -> None:
        """Build a region whose arguments are known, as are the tangents of those that have one."""
        for node in region.nodes[:-1]:
            special = _SPECIAL.get(node.name)
            moves = any(map(self._moves, node.results))
            if special is None or not moves:
                self.forward.node(node, known)
                if moves:
                    self.plain(node, known, tangents)
            else:
                special(self, node, known, tangents)

    def _moves(self, value: int) -> bool:
        """Whether a value depends on the arguments, and somebody reads it."""
        return value in self.program.active and value in self.uses.count

    def tangent(self, value: int, tangents: Tangents) -> Any:
        """The tangent of a value, zeros if it has none."""
        return tangents[value] if value in tangents else zeros(self.writer, self.program, value)

    # ---- operations without regions of their own

    def plain(self, node: Node, known: dict[int, Any], tangents: Tangents) -> None:
        """By the derivative in the definition."""
        definition = find(node.name)
        derivative = derivative_of(node)
        if definition is None or derivative is None:
            raise self.program.error(f"{node.name.partition('.')[2]} has no derivative", node)
        with self.writer.at(replace(node.loc, name=None)):
            if node.name == hlo.optimization_barrier.name:
                pairs = zip(node.results, node.operands, strict=True)
                tangents.update({r: tangents[o] for r, o in pairs if o in tangents})
            elif derivative.every or derivative.jointly:
                among = range(len(node.operands)) if derivative.every else derivative.jointly
                self._jointly(definition, node, among, known, tangents)
            elif derivative.singly and self._only(node, derivative.singly, tangents):
                self._singly(definition, node, derivative.singly, known, tangents)
            else:
                self._transposed(node, known, tangents)
        for result in node.results:
            name = self.program.graph.values[result].loc.name
            if name and result in tangents:
                self.writer.name([tangents[result]], [f"t_{name}"])

    def _only(self, node: Node, among: Sequence[int], tangents: Tangents) -> bool:
        return all(i in among for i, v in enumerate(node.operands) if v in tangents)

    def _jointly(
        self, op: OpDef, node: Node, among: Sequence[int], known: dict[int, Any], tangents: Tangents
    ) -> None:
        if not any(node.operands[i] in tangents for i in among):
            return
        operands = [
            self.tangent(v, tangents) if i in among else known[v] for i, v in enumerate(node.operands)
        ]
        tangents[node.results[0]] = self._built(op, node, operands)

    def _singly(
        self, op: OpDef, node: Node, among: Sequence[int], known: dict[int, Any], tangents: Tangents
    ) -> None:
        total: Any | None = None
        for i in among:
            if node.operands[i] in tangents:
                operands = [tangents[v] if at == i else known[v] for at, v in enumerate(node.operands)]
                term = self._built(op, node, operands)
                total = term if total is None else self.writer.one(hlo.add.name, total, term)
        if total is not None:
            tangents[node.results[0]] = total

    def _built(self, op: OpDef, node: Node, operands: Sequence[Any]) -> Any:
        attrs: dict[str, Any] = {k: v for k, v in node.attrs.items() if not k.startswith("shardc.")}
        return self.writer.one(op.name, *operands, result=self.program.graph.type(node.results[0]), **attrs)

    def _transposed(self, node: Node, known: dict[int, Any], tangents: Tangents) -> None:
        """The recorded vjp, backwards."""
        program, graph = self.program, self.program.graph
        recorder, stand = Recorder(graph), dict[int, int]()

        def value(v: int) -> Term:
            if v not in stand:
                stand[v] = recorder.fresh(graph.type(v))
            return Term(recorder, stand[v])

        results = [r for r in node.results if self._moves(r)]
        arguments = {r: recorder.fresh(graph.type(r)) for r in results}
        step = Step(
            op_of(graph, node),
            lambda i: value(node.operands[i]),
            lambda i: value(node.results[i]),
            [Forward(program, recorder, {}).body(region, {}) for region in node.regions],
            node.regions,
            str(node.attrs.get(GROUP, "")).partition("#")[0],
        )
        derivative = derivative_of(node)
        assert derivative is not None
        wanted = frozenset(i for i, v in enumerate(node.operands) if v in tangents)
        flows = derivative.flows
        wanted = wanted if flows is None else wanted & set(flows)
        cts = [Term(recorder, arguments[r]) if r in arguments else None for r in node.results]
        try:
            found = derivative.vjp(step, cts, wanted)
        except Missing as missing:
            raise program.error(str(missing), node) from None
        given = [(i, term.v) for i, term in sorted(found.items()) if term is not None]
        end = Node(-1, hlo.return_.name, tuple(v for _, v in given), (), {})
        for at, made in enumerate(recorder.nodes):
            made.id = -2 - at
        region = Region(tuple(arguments.values()), [*recorder.nodes, end])
        inner = Program(graph, region, inlined=True)
        inner.activate(region.args)
        inner.backward = program.backward
        here = {own: known[v] for v, own in stand.items()}
        forward = Forward(inner, self.writer, {})
        for made in region.nodes[:-1]:
            if not any(r in inner.active for r in made.results):
                forward.node(made, here)
        back = Backward(inner, self.writer, Values(inner, self.writer, region, here), inner.backward)
        back.seed(region.results, [tangents[node.operands[i]] for i, _ in given])
        back.region(region)
        for result, argument in arguments.items():
            tangent = back.cotangents.take(argument)
            if tangent is not None:
                tangents[result] = tangent

    # ---- operations with regions

    def body(self, region: Region, known: dict[int, Any], results: Sequence[int]) -> Any:
        """A region whose results, at some positions, are followed by their tangents."""
        program = self.program
        moving = [i for i, a in enumerate(region.args) if a in program.active]

        def build(_: Any, *args: Any) -> list[Any]:
            count = len(region.args)
            self.forward.name(region.args, args)
            inner = {**known, **dict(zip(region.args, args, strict=False))}
            own = {region.args[i]: t for i, t in zip(moving, args[count:], strict=True)}
            self.region(region, inner, own)
            after = [self.tangent(region.results[i], own) for i in results]
            return [*(inner[v] for v in region.results), *after]

        types = program.graph.types((*region.args, *(region.args[i] for i in moving)))
        return types, build

    def emit(
        self,
        node: Node,
        operands: Sequence[Any],
        regions: Sequence[Any],
        known: dict[int, Any],
        tangents: Tangents,
        results: Sequence[int],
        **attrs: Any,
    ) -> None:
        """Build an operation whose results are followed by the tangents of some."""
        more = self.program.graph.types(tuple(node.results[i] for i in results))
        made = self.forward.emit(node, operands, regions, known, more, **attrs)
        tangents.update(zip((node.results[i] for i in results), made, strict=True))


def _loop(run: Along, node: Node, known: dict[int, Any], tangents: Tangents) -> None:
    condition, body = node.regions
    moving = [i for i, a in enumerate(body.args) if a in run.program.active]
    starts = [run.tangent(node.operands[i], tangents) for i in moving]

    def test(_: Any, *args: Any) -> list[Any]:
        return run.forward.region(condition, dict(zip(condition.args, args, strict=False)))

    types, turn = run.body(body, {}, moving)
    operands = [*(known[v] for v in node.operands), *starts]
    run.emit(node, operands, [(types, test), (types, turn)], known, tangents, moving)


def _branches(run: Along, node: Node, known: dict[int, Any], tangents: Tangents) -> None:
    moving = [i for i, r in enumerate(node.results) if r in run.program.active]

    def branch(region: Region) -> Any:
        def build(_: Any) -> list[Any]:
            inner, own = dict(known), dict(tangents)
            run.region(region, inner, own)
            return [
                *(inner[v] for v in region.results),
                *(run.tangent(region.results[i], own) for i in moving),
            ]

        return (), build

    regions = [branch(region) for region in node.regions]
    run.emit(node, [known[v] for v in node.operands], regions, known, tangents, moving)


def _manual(run: Along, node: Node, known: dict[int, Any], tangents: Tangents) -> None:
    (body,) = node.regions
    program = run.program
    moving = [i for i, a in enumerate(body.args) if a in program.active]
    results = [i for i, r in enumerate(node.results) if r in program.active]
    ins, outs = shardings(node, "in_shardings"), shardings(node, "out_shardings")
    operands = [
        *(known[v] for v in node.operands),
        *(run.tangent(node.operands[i], tangents) for i in moving),
    ]
    mesh = (*ins, *outs)[0].mesh
    with program.inside(node), run.writer.on_mesh(mesh):
        run.emit(
            node,
            operands,
            [run.body(body, {}, results)],
            known,
            tangents,
            results,
            in_shardings=(*ins, *(ins[i] for i in moving)),
            out_shardings=(*outs, *(outs[i] for i in results)),
        )


def _call(run: Along, node: Node, known: dict[int, Any], tangents: Tangents) -> None:
    raise run.program.error(
        f"{node.attrs['callee']} has a derivative of its own for cotangents, and none for tangents",
        node,
        "vjp and grad use it",
    )


_SPECIAL: dict[str, Callable[[Along, Node, dict[int, Any], Tangents], None]] = {
    func.call.name: _call,
    hlo.case.name: _branches,
    hlo.if_.name: _branches,
    hlo.while_.name: _loop,
    sdy.manual_computation.name: _manual,
}

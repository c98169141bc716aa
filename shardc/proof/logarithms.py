"""m + log(s) as log(s exp(m)), so that the law of exp knows sums of exponentials beside their maxima.

    %l = stablehlo.log %s               %e = stablehlo.exponential %m
    %r = stablehlo.add %m, %l     ->    %u = stablehlo.multiply %s, %e
                                        %r = stablehlo.log %u

The logarithm of a sum of exponentials is m + log(sum(exp(x - m))) with any m. Two programs that have others,
(m, s) and (n, t), agree where s exp(m) is t exp(n). What is laid out anew between the logarithm and the sum
is laid out before the logarithm. Over the reals nothing changes: where s is below zero both are no number.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import Function, Graph, Node, Region, TensorType, Value, is_float, walk
from shardc.graph.program import Attrs
from shardc.ops import hlo
from shardc.proof.reduced import Reduced

_LAID_OUT = {d.name for d in (hlo.broadcast_in_dim, hlo.reshape, hlo.transpose, hlo.optimization_barrier)}


def with_logarithms(shapes: Reduced) -> Reduced:
    """Both programs so."""
    return replace(shapes, whole=_Rewriter.of(shapes.whole), local=_Rewriter.of(shapes.local))


class _Rewriter(Struct):
    """Copies a program; `nodes` counts."""

    new: Graph
    nodes: int
    made: list[Node] = []

    @classmethod
    def of(cls, graph: Graph) -> Graph:
        nodes = (node.id for function in graph.functions.values() for node in walk(function.body))
        rewriter = cls(Graph(dict(graph.meshes), {}, list(graph.values)), 1 + max(nodes, default=0))
        for name, function in graph.functions.items():
            body = rewriter.region(function.body)
            shardings, loc, public = function.result_shardings, function.loc, function.public
            rewriter.new.functions[name] = Function(name, body, shardings, loc, public)
        return rewriter.new

    def region(self, region: Region) -> Region:
        outer, self.made = self.made, []
        makers: dict[int, Node] = {}
        for node in region.nodes:
            inner = replace(node, regions=tuple(map(self.region, node.regions)))
            before = len(self.made)
            self.node(inner, makers)
            makers.update((value, new) for new in self.made[before:] for value in new.results)
        found, self.made = Region(region.args, self.made), outer
        return found

    def node(self, node: Node, makers: dict[int, Node]) -> None:
        sums = node.name in (hlo.add.name, hlo.subtract.name)
        logs = [_logarithm(value, makers) for value in node.operands] if sums else []
        if sum(log is not None for log in logs) != 1 or not is_float(self.new.type(node.results[0]).dtype):
            self.made.append(node)
            return
        place = 0 if logs[0] is not None else 1
        found, other = logs[place], node.operands[1 - place]
        assert found is not None
        log, sign = found
        signs = [1, -1 if node.name == hlo.subtract.name else 1]
        sign *= signs[place]  # sign log(s) + other = sign log(s exp(sign other))
        power = other if sign * signs[1 - place] > 0 else self.add(node, hlo.negate.name, other)
        inside = self.laid_out(node.operands[place], log, makers)
        product = self.add(node, hlo.multiply.name, inside, self.add(node, hlo.exponential.name, power))
        if sign < 0:
            product = self.add(node, hlo.log.name, product)
        name = hlo.negate.name if sign < 0 else hlo.log.name
        self.made.append(Node(node.id, name, (product,), node.results, {}, (), node.loc))

    def laid_out(self, value: int, log: Node, makers: dict[int, Node]) -> int:
        """What the logarithm is of, laid out as the value is."""
        maker = makers[value]
        if maker.id == log.id:
            return log.operands[0]
        operand = self.laid_out(maker.operands[0], log, makers)
        if maker.name == hlo.negate.name:
            return operand
        return self.add(maker, maker.name, operand, type=self.new.type(value), attrs=maker.attrs)

    def add(
        self,
        at: Node,
        name: str,
        *operands: int,
        type: TensorType | None = None,
        attrs: Attrs | None = None,
    ) -> int:
        result = len(self.new.values)
        self.new.values.append(Value(result, type or self.new.type(operands[0]), at.loc))
        self.made.append(Node(self.nodes, name, operands, (result,), attrs or {}, (), at.loc))
        self.nodes += 1
        return result


def _logarithm(value: int, makers: dict[int, Node]) -> tuple[Node, int] | None:
    """The logarithm that a value is, laid out anew perhaps, and 1, or -1 of its opposite."""
    maker, sign = makers.get(value), 1
    while maker is not None and (maker.name in _LAID_OUT or maker.name == hlo.negate.name):
        sign = -sign if maker.name == hlo.negate.name else sign
        maker = makers.get(maker.operands[0])
    return (maker, sign) if maker is not None and maker.name == hlo.log.name else None

"""Node tests sharded along one axis, as the rules of ONNX's formalism allow or forbid it.

A pair is a case and a label of its operation: the axes of all inputs that run together are split alike. What
one input alone may not do (split a broadcast axis, split k on one side only) is a pair that is forbidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto

from shardc.compilation import lower
from shardc.frontend.onnx.check import INVALID, findings
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.model import Model, array_of
from shardc.frontend.onnx.problems import DynamicModel
from shardc.frontend.onnx.read import Wishes
from shardc.frontend.onnx.read import lowered as read
from shardc.frontend.onnx.schema import attributes_of, schema_of
from shardc.frontend.onnx.write import proto_of
from shardc.interpret.run import run
from shardc.layout import LayoutError
from shardc.layout.notations.onnx_spec import ShardedDim, ShardingSpec, SimpleShard, spec_of_holders
from shardc.layout.onnx.contract import Tensor
from shardc.layout.onnx.operations import OPERATIONS, infer
from shardc.layout.onnx.verdicts import NotCovered, Unsupported
from shardc.options import Options
from tests.onnx_nodes import Case, cases, outcome_of


@dataclass(frozen=True)
class Pair:
    """A case with axes of its inputs that are split into `parts`: input number -> axis."""

    case: Case
    axes: tuple[tuple[int, int], ...]
    parts: int
    allowed: bool

    @property
    def name(self) -> str:
        return f"{self.case.name} {dict(self.axes)}"


def pairs() -> Iterator[Pair]:
    """All pairs of nodes of the formalism's groups that are right unsharded, and whose sizes divide."""
    for case in cases():
        yield from pairs_of(case)


def pairs_of(case: Case) -> Iterator[Pair]:
    """Those of one case."""
    nodes = case.model.graph.node
    if len(nodes) != 1 or nodes[0].domain or nodes[0].op_type not in OPERATIONS or not case.dense:
        return
    if outcome_of(case) != "right" or any(np.size(value) == 0 for value in case.inputs):
        return  # tensors without elements are not split
    shapes = [np.shape(value) for value in case.inputs]
    attributes = _attributes(case)
    for axes, size in sorted(_splits(shapes)):
        parts = next((p for p in (2, 3, 5, 7) if size % p == 0), None)
        if size < 2 or parts is None:
            continue
        specs = [
            Tensor(shape, _spec(dict(axes).get(i), parts), _numbers(case.inputs[i]))
            for i, shape in enumerate(shapes)
        ]
        try:
            infer(nodes[0].op_type, specs, attributes, parts)
        except (NotCovered, Unsupported):
            continue  # the document says nothing of it
        except LayoutError:
            yield Pair(case, axes, parts, False)
        else:
            yield Pair(case, axes, parts, True)


def _splits(shapes: list[tuple[int, ...]]) -> set[tuple[tuple[tuple[int, int], ...], int]]:
    """Axes that are split together, with their size: each alone, and with those that may run with it."""
    found: set[tuple[tuple[tuple[int, int], ...], int]] = set()
    for i, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            for more in ((), *_partners(shapes, i, axis)):
                found.add((tuple(sorted(((i, axis), *more))), size))
    return found


def _partners(shapes: list[tuple[int, ...]], i: int, axis: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Axes of the other inputs that may run with this one: aligned at the end, or a sum's other side."""
    size, behind = shapes[i][axis], axis - len(shapes[i])
    aligned = tuple(
        (j, len(shape) + behind)
        for j, shape in enumerate(shapes)
        if j != i and len(shape) >= -behind and shape[behind] == size
    )
    if aligned:
        yield aligned
    if i == 0 and len(shapes) > 1 and axis == len(shapes[0]) - 1 and len(shapes[1]) > 1:
        for other in (len(shapes[1]) - 2, len(shapes[1]) - 1):
            if shapes[1][other] == size:
                yield ((1, other),)


def _spec(axis: int | None, parts: int) -> ShardingSpec:
    if axis is None:
        return spec_of_holders((), [tuple(range(parts))])
    return ShardingSpec(tuple(range(parts)), (ShardedDim(axis, (SimpleShard(parts),)),))


def _attributes(case: Case) -> Mapping[str, Any]:
    node = case.model.graph.node[0]
    schema = schema_of(node, {o.domain: o.version for o in case.model.opset_import})
    return attributes_of(node, schema) if schema else {}


def _numbers(array: Any) -> tuple[int, ...] | None:
    """A list of integers, such as a reduction's axes."""
    if np.ndim(array) != 1 or array.dtype.kind not in "iu":
        return None
    return tuple(int(item) for item in array)


def model_of(pair: Pair) -> ModelProto:
    """The case's model with a device configuration that says the pair."""
    model = ModelProto()
    model.CopyFrom(pair.case.model)
    model.ir_version = max(model.ir_version, 11)
    configuration = model.configuration.add()
    configuration.name, configuration.num_devices = "pair", pair.parts
    part = model.graph.node[0].device_configurations.add()
    part.configuration_id = "pair"
    names = [info.name for info in model.graph.input]
    for index, name in enumerate(names):
        if name not in model.graph.node[0].input:
            continue
        part.sharding_spec.append(proto_of(_spec(dict(pair.axes).get(index), pair.parts), name))
    return model


def read_pair(pair: Pair) -> Lowering:
    """The pair's model lowered; inputs that its shapes depend on are fixed."""
    names = [info.name for info in pair.case.model.graph.input]
    values: dict[str, Any] = {}
    while True:
        try:
            return read(Model(model_of(pair), pair.name), Wishes(values=values))
        except DynamicModel as error:
            values |= {name: np.asarray(pair.case.inputs[names.index(name)]) for name in error.inputs}


def computed(pair: Pair) -> list[np.ndarray]:
    """The results, of all devices together."""
    lowering = read_pair(pair)
    infos = pair.case.model.graph.input
    named = zip((info.name for info in infos), pair.case.inputs, strict=False)
    given = [np.asarray(value) for name, value in named if name not in lowering.values]
    weights = [array_of(tensor, None) for tensor in lowering.weights.values()]
    return run(lower(lowering.module, Options()), [*given, *weights])


def refusals(pair: Pair) -> list[str]:
    """What --check says is invalid."""
    lowering = read_pair(pair)
    lower(lowering.module, Options(), "sharded")
    return [str(line) for line in findings(lowering) if line.verdict == INVALID]

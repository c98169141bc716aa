"""Checking and inference over a whole model.

A node runs in three steps: inputs are repartitioned to the specifications that the node states for them, the
operation is applied, and the output is redistributed to the specification that the node states for it. What a
node does not state is inferred: an input is as its producer left it, a model's input unsharded, an output as
the operation makes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from shardc.diagnostics import listed
from shardc.layout.mesh import LayoutError
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.layout.onnx.contract import Inference, Tensor
from shardc.layout.onnx.model import DeviceConfiguration, Model, Node, NodeConfiguration
from shardc.layout.onnx.operations import infer
from shardc.layout.onnx.symbols import Symbols
from shardc.layout.onnx.verdicts import Unsupported, verdict_of


class Move(Struct, frozen=True):
    """Tensor `name` goes from one specification to another; None is whole, wherever it is needed."""

    name: str
    source: ShardingSpec | None
    target: ShardingSpec | None


class NodeResult(Struct, frozen=True):
    """How a node runs: `verdict` is valid, or else what `reason` explains.

    `received` are the inputs that come from another pipeline stage, and its number.
    """

    node: Node
    verdict: str
    reason: str = ""
    repartition: tuple[Move, ...] = ()
    natural: Inference | None = None
    redistribute: tuple[Move, ...] = ()
    pipeline_stage: int | None = None
    received: tuple[tuple[str, int], ...] = ()


class _Known(Struct):
    """What is known of tensors so far; those that a refused node makes are in `unknown`, with its number."""

    tensors: dict[str, Tensor]
    symbols: Symbols = field(default_factory=Symbols)
    stages: dict[str, int] = {}
    unknown: set[str] = set()


def check_model(model: Model, configuration: str | None = None) -> list[NodeResult]:
    """A result per node, in order.

    A node that is refused leaves its outputs unknown, and what depends on them is unsupported. LayoutError if
    the model itself is none: a tensor that nothing makes, a configuration that it does not have.
    """
    chosen = model.configured(configuration)
    _check_configurations(model)
    tensors = {name: Tensor((len(value),), None, value) for name, value in model.constant.items()}
    tensors |= {name: Tensor(shape, None, model.constant.get(name)) for name, shape in model.input.items()}
    known = _Known(tensors)
    results: list[NodeResult] = []
    for node in model.node:
        _check_names(node, known)
        stated = node.configured(chosen.name if chosen else "")
        try:
            results.append(_checked(node, stated, known, model.opset, chosen))
        except LayoutError as error:
            known.unknown.update(node.output)
            results.append(NodeResult(node, verdict_of(error), str(error)))
    return results


def _checked(
    node: Node,
    stated: NodeConfiguration,
    known: _Known,
    opset: int | None,
    configuration: DeviceConfiguration | None,
) -> NodeResult:
    devices = configuration.num_devices if configuration else None
    for name in node.input:
        if name in known.unknown:
            raise Unsupported(f"input {name} comes from a node that was refused")
    for spec in stated.sharding_spec:
        if spec.tensor_name not in (*node.input, *node.output):
            raise LayoutError(
                f"a specification of {spec.tensor_name or 'nothing'}, which is none of its tensors"
            )
    given = [known.tensors[name] if name else None for name in node.input]
    wanted = [_stated(tensor, stated.spec_of(name)) for tensor, name in zip(given, node.input, strict=True)]
    natural = infer(node.op_type, wanted, node.attribute, devices, opset, known.symbols)
    made = Tensor(natural.shape, natural.spec)
    result = _stated(made, stated.spec_of(node.output[0]))
    if result is not None and result.spec is not None:
        result.spec.check(result.rank, devices)
    known.tensors[node.output[0]] = result or made
    known.unknown.update(node.output[1:])
    return NodeResult(
        node,
        "valid",
        repartition=_moves(node.input, given, wanted),
        natural=natural,
        redistribute=_moves(node.output[:1], [made], [result]),
        pipeline_stage=stated.pipeline_stage,
        received=_received(node, stated.pipeline_stage, known),
    )


def _stated(tensor: Tensor | None, spec: ShardingSpec | None) -> Tensor | None:
    """The tensor as a node wants it: with the specification that it states, if it does."""
    if tensor is None or spec is None:
        return tensor
    return replace(tensor, spec=replace(spec, tensor_name=""))


def _moves(
    names: Sequence[str], before: Sequence[Tensor | None], after: Sequence[Tensor | None]
) -> tuple[Move, ...]:
    """The tensors whose specifications differ, in what they say."""
    pairs = [(name, a, b) for name, a, b in zip(names, before, after, strict=True) if a and b]
    return tuple(Move(name, a.spec, b.spec) for name, a, b in pairs if _meaning(a) != _meaning(b))


def _meaning(tensor: Tensor) -> object:
    """What a specification says: how axes are split, in which order, and who holds each shard."""
    if tensor.spec is None:
        return None
    dims = zip(tensor.spec.axes(tensor.rank), tensor.spec.sharded_dim, strict=True)
    split = [(axis, dim.simple_sharding) for axis, dim in dims if dim.num_shards > 1]
    return split, [frozenset(group) for group in tensor.spec.holders()]


def _received(node: Node, stage: int | None, known: _Known) -> tuple[tuple[str, int], ...]:
    """The inputs from other stages. LayoutError if one is from a later stage."""
    if stage is None:
        return ()
    found = [(name, known.stages[name]) for name in dict.fromkeys(node.input) if name in known.stages]
    for name, earlier in found:
        if earlier > stage:
            raise LayoutError(f"stage {stage} needs {name} of stage {earlier}, which runs later")
    known.stages.update(dict.fromkeys(node.output, stage))
    return tuple((name, earlier) for name, earlier in found if earlier != stage)


def _check_configurations(model: Model) -> None:
    declared = {configuration.name for configuration in model.configuration}
    for node in model.node:
        for stated in node.device_configurations:
            if stated.configuration_id and stated.configuration_id not in declared:
                hint = listed(stated.configuration_id, declared, "the model has")
                raise LayoutError(
                    f"{node.op_type} is configured for {stated.configuration_id}, "
                    "which the model does not declare" + (f": {hint}" if hint else "")
                )


def _check_names(node: Node, known: _Known) -> None:
    if not node.output:
        raise LayoutError(f"a node {node.op_type} without an output")
    for name in node.input:
        if name and name not in known.tensors and name not in known.unknown:
            raise LayoutError(f"input {name} of {node.op_type} is made by no node before it, and is no input")

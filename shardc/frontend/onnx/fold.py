"""Values known while compiling: the chains of Shape, Gather, Concat and the like that end in a Reshape.

A node is folded where all its inputs are known, its result is small, and its operator is in FOLDED; ONNX's
own reference evaluator computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto

from shardc.frontend.onnx.values import Array

MOST = 1 << 16
"""Elements of a value that is kept while compiling."""

FOLDED = frozenset(
    """Abs Add And ArgMax ArgMin Cast CastLike Ceil Clip Compress Concat ConstantOfShape CumSum Div Equal
    Expand EyeLike Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual Identity Less
    LessOrEqual Max MelWeightMatrix Min Mod Mul Neg NonMaxSuppression NonZero Not OneHot Or Pow Range
    Reciprocal Relu ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Reshape Round ScatterElements
    ScatterND
    Sign Size Slice Split Sqrt Squeeze Sub Sum Tile TopK Transpose Trilu Unique Unsqueeze Where
    Xor""".split()
)


def folded(node: NodeProto, inputs: Sequence[Array | None], opsets: Mapping[str, int]) -> list[Array] | None:
    """The node's results; None if it is not one to fold, or too large."""
    if node.op_type not in FOLDED or node.domain or _too_large(node, inputs):
        return None
    from onnx.reference import ReferenceEvaluator

    graph = GraphProto(name="fold", node=[node])
    graph.input.extend(ValueInfoProto(name=name) for name in dict.fromkeys(n for n in node.input if n))
    graph.output.extend(ValueInfoProto(name=name) for name in node.output if name)
    imports = [OperatorSetIdProto(domain=domain, version=version) for domain, version in opsets.items()]
    model = ModelProto(ir_version=10, graph=graph, opset_import=imports)
    names = [name for name in node.input if name]
    feeds = dict(zip(names, (array for array in inputs if array is not None), strict=True))
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, feeds)  # pyright: ignore
    except Exception:
        return None  # a node that cannot be evaluated is lowered, and refused there with a reason
    arrays = [np.asarray(result) for result in results]
    if len(arrays) < len(node.output):
        return None
    return arrays if all(array.size <= MOST and array.dtype.kind in "biufV" for array in arrays) else None


def _too_large(node: NodeProto, inputs: Sequence[Array | None]) -> bool:
    """Whether a result may be larger than is kept, told before anything is allocated."""
    arrays = [array for array in inputs if array is not None]
    if any(array.size > MOST for array in arrays):
        return True
    estimate = _GROWING.get(node.op_type)
    if estimate is not None:
        return estimate(arrays) > MOST
    shapes = [array.shape for array in arrays]
    rank = max(map(len, shapes), default=0)
    sizes = [max((s[d - rank] for s in shapes if len(s) >= rank - d), default=1) for d in range(rank)]
    return prod(sizes) > MOST**2 if node.op_type.startswith("Gather") else prod(sizes) > 4 * MOST


def _product(array: Array) -> int:
    return prod(max(1, abs(int(item))) for item in array.reshape(-1))


def _steps(arrays: Sequence[Array]) -> int:
    first, last, step = (float(array.reshape(-1)[0]) for array in arrays[:3])
    if not step or not all(map(np.isfinite, (first, last, step))):
        return MOST + 1
    return int(abs((last - first) / step)) + 1


_GROWING: dict[str, Callable[[Sequence[Array]], int]] = {
    "ConstantOfShape": lambda arrays: _product(arrays[0]),
    "Expand": lambda arrays: _product(arrays[1]) * max(1, arrays[0].size),
    "Tile": lambda arrays: _product(arrays[1]) * max(1, arrays[0].size),
    "OneHot": lambda arrays: _product(arrays[1].reshape(-1)[:1]) * max(1, arrays[0].size),
    "Range": _steps,
    "MelWeightMatrix": lambda arrays: _product(arrays[0]) * _product(arrays[1]),
    "NonMaxSuppression": lambda arrays: arrays[0].size * max(1, arrays[1].size),
}

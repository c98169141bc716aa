"""batch_norm_inference, batch_norm_training and batch_norm_grad: each feature normalised over the others."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import COMPUTES, OpDef, Syntax, of
from shardc.ops.meanings import kernel, kernels
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import RuleBuilder, integer
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import linear_algebra

_X, _FEATURES = TensorType((8, 4), "f32"), TensorType((4,), "f32")
_ATTRS = {"epsilon": "float", "feature_index": "int"}


def _feature_type(op: UntypedOp, operand: TensorType) -> TensorType:
    """The type of a batch norm's per-feature operands, after checking those that are given."""
    feature = op.dimension("feature_index", operand.rank)
    type = operand.with_shape((operand.shape[feature],))
    for other in op.operands[1:]:
        if other not in (type, operand):
            raise op.error(f"needs {type} for each feature of {operand}, got {other}")
    return type


def _normalised(op: UntypedOp) -> Types:
    operand = op.arity(5)[0]
    _feature_type(op, operand)
    return (operand,)


def _with_statistics(op: UntypedOp) -> Types:
    operand = op.arity(3)[0]
    type = _feature_type(op, operand)
    return (operand, type, type)


def _gradients(op: UntypedOp) -> Types:
    operand = op.arity(5)[0]
    type = _feature_type(op, operand)
    return (operand, type, type)


def _inference_rule(op: Op) -> FactorRule:
    """Operand, then scale, offset, mean and variance over the feature dimension."""
    feature = integer(op, "feature_index", 0)
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        per_feature = dict.fromkeys(range(1, 5), 0) if dim == feature else {}
        builder.factor(size, {0: dim, **per_feature}, {0: dim})
    return builder.build()


batch_norm_inference = define(
    OpDef(
        name="stablehlo.batch_norm_inference",
        doc="Normalises each feature by given statistics.",
        infer=_normalised,
        rule=_inference_rule,
        meaning=kernel(linear_algebra.batch_norm_inference, *_ATTRS),
        work=COMPUTES,
        syntax=Syntax(("operand", "scale", "offset", "mean", "variance"), attrs=_ATTRS),
        example=of(
            "stablehlo.batch_norm_inference",
            [_X, *[_FEATURES] * 4],
            _X,
            epsilon=0.001,
            feature_index=1,
        ),
    )
)
batch_norm_training = define(
    OpDef(
        name="stablehlo.batch_norm_training",
        doc="Normalises each feature by the statistics of the batch.",
        infer=_with_statistics,
        meaning=kernels(linear_algebra.batch_norm_training, *_ATTRS),
        work=COMPUTES,
        syntax=Syntax(("operand", "scale", "offset"), ("output", "batch_mean", "batch_var"), attrs=_ATTRS),
        example=of(
            "stablehlo.batch_norm_training",
            [_X, _FEATURES, _FEATURES],
            _X,
            _FEATURES,
            _FEATURES,
            epsilon=0.001,
            feature_index=1,
        ),
    )
)
batch_norm_grad = define(
    OpDef(
        name="stablehlo.batch_norm_grad",
        doc="The gradients of batch_norm_training.",
        infer=_gradients,
        meaning=kernels(linear_algebra.batch_norm_grad, *_ATTRS),
        work=COMPUTES,
        syntax=Syntax(
            ("operand", "scale", "mean", "variance", "grad_output"),
            ("grad_operand", "grad_scale", "grad_offset"),
            attrs=_ATTRS,
        ),
        example=of(
            "stablehlo.batch_norm_grad",
            [_X, _FEATURES, _FEATURES, _FEATURES, _X],
            _X,
            _FEATURES,
            _FEATURES,
            epsilon=0.001,
            feature_index=1,
        ),
    )
)

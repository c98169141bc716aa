"""Custom calls: computations that a program only names, by their target."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.graph import Op, TensorType
from shardc.ops.custom_calls import call_rule
from shardc.ops.definition import OpDef
from shardc.ops.registry import define
from shardc.ops.result_types import stated
from shardc.semantics.arrays import Array, Body
from shardc.semantics.lapack import lapack, options_of

_MATRICES = TensorType((8, 4, 4), "f32")


def _meaning(op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return lapack(str(op.attrs["call_target_name"]), *arrays, **options_of(op.attrs))


custom_call = define(
    OpDef(
        name="stablehlo.custom_call",
        doc="`stablehlo.custom_call @target(%0) {has_side_effect = true} : (tensor<4xf32>) -> …`.",
        infer=stated,
        rule=call_rule,
        meaning=_meaning,
        example=Op(
            "stablehlo.custom_call",
            (_MATRICES,),
            (_MATRICES, TensorType((8,), "i32")),
            {"call_target_name": "lapack_spotrf_ffi", "mhlo.backend_config": (("uplo", ord("L")),)},
        ),
    )
)

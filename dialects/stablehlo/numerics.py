"""Linear algebra, Fourier transforms, normalisation and random bits."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from shardc.dialects.stablehlo.base import FUNCTIONAL, SAME_TYPE, Bool, HloOp, I64Array, Int, PureOp
from shardc.dialects.stablehlo.enums import FftTypeAttr, RngAlgorithmAttr, RngDistributionAttr, TransposeAttr
from shardc.dialects.stablehlo.type_syntax import SameOperandsAndResultType


@irdl_op_definition
class CholeskyOp(PureOp):
    """`stablehlo.cholesky %0, lower = true : tensor<4x4xf32>`: the triangular factor of each matrix."""

    name = "stablehlo.cholesky"
    a = operand_def(TensorType)
    result = result_def(TensorType)
    lower = opt_prop_def(Bool)
    assembly_format = f"$a `,` `lower` `=` $lower attr-dict {SAME_TYPE}"
    custom_directives = (SameOperandsAndResultType,)


@irdl_op_definition
class TriangularSolveOp(PureOp):
    """Solves a x = b, or x a = b, for triangular a."""

    name = "stablehlo.triangular_solve"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    result = result_def(TensorType)
    left_side = prop_def(Bool)
    lower = prop_def(Bool)
    unit_diagonal = prop_def(Bool)
    transpose_a = prop_def(TransposeAttr)


@irdl_op_definition
class FftOp(PureOp):
    """`stablehlo.fft %0, type = FFT, length = [4] : (…) -> …`: over the last dimensions."""

    name = "stablehlo.fft"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    fft_type = prop_def(FftTypeAttr)
    fft_length = prop_def(I64Array)
    assembly_format = f"$operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict {FUNCTIONAL}"


@irdl_op_definition
class BatchNormInferenceOp(PureOp):
    """Normalises each feature by given statistics."""

    name = "stablehlo.batch_norm_inference"
    operand = operand_def(TensorType)
    scale = operand_def(TensorType)
    offset = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    result = result_def(TensorType)
    epsilon = prop_def(FloatAttr)
    feature_index = prop_def(Int)


@irdl_op_definition
class RngOp(HloOp):
    """`stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (…) -> …`."""

    name = "stablehlo.rng"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    shape = operand_def(TensorType)
    result = result_def(TensorType)
    rng_distribution = prop_def(RngDistributionAttr)
    assembly_format = f"$a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict {FUNCTIONAL}"


@irdl_op_definition
class RngBitGeneratorOp(PureOp):
    """`%state, %bits = stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (…) -> (…)`."""

    name = "stablehlo.rng_bit_generator"
    initial_state = operand_def(TensorType)
    output_state = result_def(TensorType)
    output = result_def(TensorType)
    rng_algorithm = prop_def(RngAlgorithmAttr)
    assembly_format = f"$initial_state `,` `algorithm` `=` $rng_algorithm attr-dict {FUNCTIONAL}"


OPERATIONS = [CholeskyOp, TriangularSolveOp, FftOp, BatchNormInferenceOp, RngOp, RngBitGeneratorOp]

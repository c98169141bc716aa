"""Parts of MLIR's declarative assembly formats that many operations end with."""

SAME_TYPE = "`:` custom<SameOperandsAndResultType>(type(operands), type(results))"
"""One type where all operands and the result have it, `: tensor<4xf32>`; else a function type."""

FUNCTIONAL = "`:` functional-type(operands, results)"
"""A function type: `: (tensor<4xf32>) -> tensor<4xi32>`."""

"""Result types of operations: inference and checking of shapes and dtypes."""

from shardc.graph.infer.call import ShapeError
from shardc.graph.infer.table import INFER, infer, verify

__all__ = ["INFER", "ShapeError", "infer", "verify"]

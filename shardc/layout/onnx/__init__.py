"""ONNX's sharding formalism: the checker of specifications and the inference of missing ones.

A specification that makes no sense is a LayoutError. Two kinds of it are told apart: `Unsupported`, what the
document or this checker leaves out although it may make sense, and `NotCovered`, what the document does not
mention.
"""

from shardc.layout.onnx.contract import Inference, Reduction, Tensor
from shardc.layout.onnx.operations import infer
from shardc.layout.onnx.verdicts import NotCovered, Unsupported, verdict_of

__all__ = ["Inference", "NotCovered", "Reduction", "Tensor", "Unsupported", "infer", "verdict_of"]

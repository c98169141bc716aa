"""The reader of ONNX models: ModelProto -> StableHLO.

model.py reads a file and checks that its sizes are true; schema.py checks attributes against ONNX's own
schemas; lowering.py walks the nodes; operators/ has one small function per operator, and table.py names them.
"""

from __future__ import annotations

from importlib.util import find_spec

from shardc.diagnostics import ShardcError


def require() -> None:
    """ShardcError with how to install the package onnx, if it is missing."""
    if find_spec("onnx") is None:
        raise ShardcError("reading ONNX models needs the package onnx", hint="pip install 'shardc[onnx]'")

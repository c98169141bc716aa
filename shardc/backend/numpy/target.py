"""NumPy as a language to write: plain expressions where NumPy computes what XLA does, else calls of `ops`.

`ops` is shardc.semantics.ops: division of integers, float to integer, clamped gathers and the like.
"""

from __future__ import annotations

from shardc.backend.numpy.elision import written_over
from shardc.backend.numpy.kernels import kernel_call, kernel_of
from shardc.backend.python.elementwise import spelled
from shardc.backend.python.emission import Target
from shardc.backend.python.printers import ARRAYS, Printer, Printers
from shardc.ops import OpDef


def _spelled(definition: OpDef) -> Printer | None:
    text = definition.spelling.numpy
    if text is not None:
        return spelled(text, definition.spelling.strict or text.startswith("ops."))
    return None if kernel_of(definition) is None else kernel_call(definition)


NUMPY = Printers(_spelled, ARRAYS)
TARGET = Target("NumPy", "np", NUMPY, deletes=True, written_over=written_over)

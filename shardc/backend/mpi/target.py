"""NumPy with mpi4py as a language to write: NumPy's printers, whose `comm` is the Comm of `prelude`."""

from __future__ import annotations

from shardc.backend.numpy import PRINTERS
from shardc.backend.numpy.elision import written_over
from shardc.backend.numpy.target import NUMPY
from shardc.backend.python.emission import Target
from shardc.backend.python.printers import Printers

assert PRINTERS, "importing them attaches NumPy's printers"

MPI = Printers(shared=NUMPY)
TARGET = Target("NumPy with mpi4py", "np", MPI, deletes=True, written_over=written_over)

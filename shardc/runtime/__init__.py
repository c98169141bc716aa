"""What emitted NumPy programs import: a mesh, partition specs, and emulated devices. No xDSL, no JAX."""

from shardc.runtime.blocks import ReplicationError
from shardc.runtime.comm import Comm
from shardc.runtime.emulate import emulate
from shardc.runtime.mesh import Mesh, P
from shardc.runtime.scheduler import DivergenceError

__all__ = ["Comm", "DivergenceError", "Mesh", "P", "ReplicationError", "emulate"]

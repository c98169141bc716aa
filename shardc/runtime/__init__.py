"""What emitted NumPy programs import: a mesh, partition specs, and emulated devices. No xDSL, no JAX."""

from shardc.runtime.blocks import ReplicationError
from shardc.runtime.comm import Comm
from shardc.runtime.emulate import emulate
from shardc.runtime.mesh import Mesh, NamedSharding, P, sharding_of
from shardc.runtime.process_data import (
    DistributedArray,
    Shard,
    make_array_from_callback,
    make_array_from_process_local_data,
)
from shardc.runtime.process_shapes import (
    Uniformity,
    global_shape_of,
    global_shapes_of,
    local_shape_of,
    num_addressable_indices,
    uniformity,
)
from shardc.runtime.scheduler import DivergenceError

__all__ = [
    "Comm",
    "DistributedArray",
    "DivergenceError",
    "Mesh",
    "NamedSharding",
    "P",
    "ReplicationError",
    "Shard",
    "Uniformity",
    "emulate",
    "global_shape_of",
    "global_shapes_of",
    "local_shape_of",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "num_addressable_indices",
    "sharding_of",
    "uniformity",
]

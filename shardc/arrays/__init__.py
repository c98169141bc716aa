"""Arrays in files: of each array a process reads and writes its own blocks, and nothing else.

    layouts = {"w": Placed(TensorType((4096, 512), "f32"), sharding)}
    blocks = load("model.safetensors", layouts, devices=[2, 3])   # {"w": {2: block, 3: block}}
    save("checkpoint", blocks, layouts)                           # one process
    save("checkpoint", blocks, layouts, group=Group(rank, size, allgather))

Read: `.safetensors`, its index of several files, `.npy`, `.npz`, a folder of those, zarr and orbax's
where tensorstore is installed, and what `save` writes: one `.safetensors`, `.npz` or `.npy` file of whole
arrays, a folder of files of blocks, `.zarr` or `.orbax`. Nothing here communicates but `save`,
by the `allgather` that it is given.
"""

from shardc.arrays.checkpoint import Checkpoint, Stored, open_checkpoint
from shardc.arrays.loading import load
from shardc.arrays.placed import Placed
from shardc.arrays.resharding import reshard
from shardc.arrays.saving import ALONE, Group, save

__all__ = [
    "ALONE",
    "Checkpoint",
    "Group",
    "Placed",
    "Stored",
    "load",
    "open_checkpoint",
    "reshard",
    "save",
]

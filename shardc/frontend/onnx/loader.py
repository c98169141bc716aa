"""The function of an emitted file that loads the weights: each process reads the blocks that it needs.

Names of the model stand in the text as literals of ASCII; nothing of them is Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import indent

from onnx import TensorProto

from shardc.frontend.onnx.model import tensor_type
from shardc.graph.types import FOUR_BITS

_WEIGHTS = '''

# The weights: argument of main -> tensor of the model, its dtype and its shape.
WEIGHTS = {{
{table}
}}


def load_weights(model):
    """Argument -> array, from the model's file and its external data (mapped into memory, not read)."""
    return {{name: read(()) for name, read, _ in _weights(model)}}


def _weights(model):
    """(argument, function of an index -> that part of the tensor, shape) for every weight."""
    from pathlib import Path

    import onnx
    from onnx import numpy_helper

    proto = onnx.load(model, load_external_data=False)
    stored = {{}}
    parts = [("", proto.graph), *((f"{{f.domain}}:{{f.name}}/", f) for f in proto.functions)]
    for key, tensor in ((prefix + name, tensor) for prefix, part in parts for name, tensor in _tensors(part)):
        while key in stored:
            key += "'"
        stored[key] = tensor
    folder = Path(model).resolve().parent
    for name, (tensor, dtype, shape) in WEIGHTS.items():
        found = stored.get(tensor)
        if found is None:
            raise ValueError(f"the model has no tensor {{tensor}}; it is not the one that was compiled")
        if list(found.dims) != shape:
            raise ValueError(f"{{tensor}} has shape {{list(found.dims)}}, and was compiled as {{shape}}")
        if found.data_location == onnx.TensorProto.EXTERNAL:
            entries = {{entry.key: entry.value for entry in found.external_data}}
            path = folder / entries["location"]
            if path.resolve() != path or folder not in path.parents:
                raise ValueError(f"{{tensor}} is stored outside the folder of the model")
{mapped}        else:
            array = numpy_helper.to_array(found)
        yield name, array.__getitem__, tuple(shape)


def _tensors(graph):
    """(name, tensor) for all that a graph or function stores, its bodies included."""
    import onnx

    for tensor in getattr(graph, "initializer", ()):
        yield tensor.name, tensor
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _tensors(attribute.g)
            elif attribute.type == onnx.AttributeProto.TENSOR and node.op_type == "Constant":
                yield node.output[0], attribute.t
'''

_MAPPED = """\
array = np.memmap(path, np.dtype(dtype), "r", int(entries.get("offset", 0)), tuple(shape))
"""

_UNPACKED = f"""\
if dtype in ("int4", "uint4"):  # two in a byte: read whole
    array = numpy_helper.to_array(found, str(folder))
else:
    {_MAPPED.strip()}
"""

_ARRAYS = '''

def load_blocks(model):
    """{doc}"""
    from {package} import NamedSharding{more}

    devices = mesh()
    specs = {specs}
    return {{
        name: {make}(
            shape, NamedSharding(devices, specs.get(name, P())), lambda at, read=read: np.asarray(read(at))
        )
        for name, read, shape in _weights(model)
    }}
'''


_JAX = {
    "doc": "Argument -> jax.Array as `main` cuts it; every process reads the blocks of its own devices only.",
    "package": "jax.sharding",
    "more": "",
    "make": "jax.make_array_from_callback",
}

_NUMPY = {
    "doc": "Argument -> its blocks by device, as `main` cuts it; `main` takes it in the place of an array.",
    "package": "shardc.runtime",
    "more": ", make_array_from_callback",
    "make": "make_array_from_callback",
}

_MPI = '''

def load_blocks(model):
    """Argument -> the block that `main_local` takes; every process reads its own only. Zeros fill it up."""
    comm = communicator()
    blocks = {}
    last = list(PARAMS.values())[-len(WEIGHTS) :]
    for (name, read, shape), (_, dtype, spec) in zip(_weights(model), last, strict=True):
        index, size = place(comm, spec, shape)
        part = np.asarray(read(index))
        blocks[name] = np.zeros(size, dtype)
        blocks[name][tuple(map(slice, part.shape))] = part
    return blocks
'''

LOADERS: dict[str, Callable[[str], str]] = {
    "jax": lambda specs: _ARRAYS.format(specs=specs, **_JAX),
    "numpy": lambda specs: _ARRAYS.format(specs=specs, **_NUMPY),
    "mpi": lambda specs: _MPI,
}
"""Target -> the text of its load_blocks, from the lines of the weights' PartitionSpecs."""


def with_loader(
    source: str,
    weights: dict[str, TensorProto],
    keys: Mapping[str, str],
    target: str,
    specs: Sequence[str] = (),
) -> str:
    """The emitted text with the loader behind it; as it is where there are no weights.

    `keys` are what the file calls the weights. `specs` are the texts of the PartitionSpecs of all arguments
    of main, the weights' last; none without a mesh, where there is one block.
    """
    if not weights:
        return source
    table: list[str] = []
    mapped = _MAPPED
    for name, tensor in weights.items():
        type = tensor_type(tensor)
        mapped = _UNPACKED if type.dtype in FOUR_BITS else mapped
        table.append(f'    "{name}": ({_quoted(keys[name])}, "{type.numpy.name}", {list(type.shape)}),')
    loader = _WEIGHTS.format(table="\n".join(table), mapped=indent(mapped, " " * 12))
    if specs:
        last = zip(weights, specs[len(specs) - len(weights) :], strict=True)
        split = [f'        "{name}": {spec},' for name, spec in last if spec != "P()"]
        loader += LOADERS[target]("\n".join(["{", *split, "    }"]) if split else "{}")
    if "import numpy as np" not in source:
        source = _with_numpy(source)
    program, script, run = source.partition('\n\nif __name__ == "__main__":')
    return program.rstrip("\n") + "\n" + loader + script + run


def _quoted(text: str) -> str:
    """A Python literal of a text, in ASCII; in double quotes if it needs no escapes."""
    plain = text.isascii() and text.isprintable() and not set('"\\') & set(text)
    return f'"{text}"' if plain else ascii(text)


def _with_numpy(source: str) -> str:
    """NumPy's import before the first one of the text, behind its docstring."""
    lines = source.splitlines(keepends=True)
    at = next(
        (
            i
            for i, line in enumerate(lines)
            if line.startswith(("import ", "from ")) and "__future__" not in line
        ),
        0,
    )
    return "".join([*lines[:at], "import numpy as np\n", *lines[at:]])

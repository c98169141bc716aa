"""The function of an emitted file that loads the weights: each process reads the blocks that it needs.

Names and numbers of the model stand in the text as JSON, in a string; nothing of them is Python.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from onnx import TensorProto

from shardc.frontend.onnx.model import tensor_type

_NUMPY = '''

# The weights: argument of main -> tensor of the model, its dtype and its shape.
WEIGHTS = json.loads(
    {table}
)


def load_weights(model):
    """Argument -> array, from the model's file and its external data (mapped into memory, not read)."""
    return {{name: read(()) for name, read, _ in _weights(model)}}


def _weights(model):
    """(argument, function of an index -> that part of the tensor, shape) for every weight."""
    from pathlib import Path

    import onnx
    from onnx import numpy_helper

    proto = onnx.load(model, load_external_data=False)
    stored = {{tensor.name: tensor for tensor in _tensors(proto.graph)}}
    for function in proto.functions:
        for tensor in _tensors(function):
            stored[f"{{function.domain}}:{{function.name}}/{{tensor.name}}"] = tensor
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
            array = np.memmap(path, np.dtype(dtype), "r", int(entries.get("offset", 0)), tuple(shape))
        else:
            array = numpy_helper.to_array(found)
        yield name, array.__getitem__, tuple(shape)


def _tensors(graph):
    import onnx

    yield from getattr(graph, "initializer", ())
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _tensors(attribute.g)
            elif attribute.type == onnx.AttributeProto.TENSOR and node.op_type == "Constant":
                tensor = onnx.TensorProto()
                tensor.CopyFrom(attribute.t)
                tensor.name = node.output[0]
                yield tensor
'''

_JAX = '''

def load_blocks(model):
    """Argument -> jax.Array as `main` cuts it; every process reads the blocks of its own devices only."""
    from jax.sharding import NamedSharding

    devices = mesh()
    specs = {{
{specs}
    }}
    return {{
        name: jax.make_array_from_callback(
            shape, NamedSharding(devices, specs[name]), lambda at, read=read: np.asarray(read(at))
        )
        for name, read, shape in _weights(model)
    }}
'''


def with_loader(source: str, weights: dict[str, TensorProto], specs: Sequence[str] = ()) -> str:
    """The emitted text with the loader behind it; as it is where there are no weights.

    `specs` are the texts of the PartitionSpecs of all arguments of a JAX program, the weights' last.
    """
    if not weights:
        return source
    table: dict[str, tuple[str, str, list[int]]] = {}
    for name, tensor in weights.items():
        type = tensor_type(tensor)
        table[name] = (tensor.name, type.numpy.name, list(type.shape))
    text = repr(json.dumps(table, ensure_ascii=True))
    imports = "import json\n" if "import numpy as np" in source else "import json\n\nimport numpy as np\n"
    loader = _NUMPY.format(table=text)
    if specs:
        last = zip(weights, specs[len(specs) - len(weights) :], strict=True)
        loader += _JAX.format(specs="\n".join(f"        {json.dumps(name)}: {spec}," for name, spec in last))
    program, script, run = _with_import(source, imports).partition('\n\nif __name__ == "__main__":')
    return program.rstrip("\n") + "\n" + loader + script + run


def _with_import(source: str, imports: str) -> str:
    """The imports before the first one of the text, behind its docstring."""
    lines = source.splitlines(keepends=True)
    at = next(
        (
            i
            for i, line in enumerate(lines)
            if line.startswith(("import ", "from ")) and "__future__" not in line
        ),
        0,
    )
    return "".join([*lines[:at], imports, *lines[at:]])

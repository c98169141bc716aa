"""Models as protobuf text, as far as shardings need them: nodes, shapes, small constants, configurations.

configuration { name: "two" num_devices: 2 }
opset_import { version: 18 }
graph {
input { name: "x" shape: [4, "N"] }            or the whole type { tensor_type { … } }
initializer { name: "axes" int64_data: [1] }
node { op_type: "Relu" input: "x" output: "y"
device_configurations { configuration_id: "two" pipeline_stage: 1 sharding_spec { … } } }
}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from shardc.layout.mesh import LayoutError
from shardc.layout.notations.onnx_text import fields_of, from_fields, repeated
from shardc.layout.notations.values import Fields, parse
from shardc.layout.onnx.model import DeviceConfiguration, Model, Node, NodeConfiguration, Shape
from shardc.layout.onnx.symbols import Size


def read_model(text: str) -> Model:
    """The model that protobuf text describes, braces around it optional. LayoutError says what is wrong."""
    stripped = text.strip()
    value = parse(stripped if stripped.startswith("{") else "{" + stripped + "}")
    model = _Message(
        value, "a ModelProto", "graph configuration opset_import ir_version producer_name".split()
    )
    graph = _Message(model.one("graph", Fields(())), "a GraphProto", _GRAPH)
    opsets = [
        _Message(item, "an OperatorSetIdProto", ["domain", "version"]) for item in model.all("opset_import")
    ]
    constants = dict(map(_constant, graph.all("initializer")))
    return Model(
        tuple(map(_node, graph.all("node"))),
        dict(map(_input, graph.all("input"))),
        {name: value for name, value in constants.items() if value is not None},
        tuple(map(_configuration, model.all("configuration"))),
        next((opset.number("version") for opset in opsets if not opset.one("domain", "")), None),
    )


_GRAPH = "node name initializer input output value_info doc_string".split()
_NODE = "op_type input output name domain attribute doc_string device_configurations".split()
_ATTRIBUTE = "name type i f s ints floats strings".split()


class _Message:
    """The fields of a message; LayoutError for one that it has not."""

    def __init__(self, value: Any, title: str, known: Sequence[str]) -> None:
        self.title = title
        self.fields: dict[str, list[Any]] = {}
        for key, item in fields_of(value):
            if key not in known:
                raise LayoutError(f"{title} has no {key}; it has {', '.join(known)}")
            self.fields.setdefault(key, []).append(item)

    def all(self, name: str) -> list[Any]:
        return repeated(self.fields.get(name, []))

    def one(self, name: str, default: Any = None) -> Any:
        found = self.fields.get(name, [default])
        if len(found) > 1:
            raise LayoutError(f"{self.title} has one {name}, not {len(found)}")
        return found[0]

    def number(self, name: str) -> int:
        value = self.one(name)
        if not isinstance(value, int):
            raise LayoutError(f"{self.title} needs {name}, a number")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(str(item) for item in self.all(name))


def _configuration(value: Any) -> DeviceConfiguration:
    found = _Message(value, "a DeviceConfigurationProto", ["name", "num_devices", "device"])
    return DeviceConfiguration(str(found.one("name", "")), found.number("num_devices"), found.texts("device"))


def _node(value: Any) -> Node:
    found = _Message(value, "a NodeProto", _NODE)
    return Node(
        str(found.one("op_type", "")),
        found.texts("input"),
        found.texts("output"),
        dict(map(_attribute, found.all("attribute"))),
        tuple(map(_node_configuration, found.all("device_configurations"))),
        str(found.one("name", "")),
    )


def _node_configuration(value: Any) -> NodeConfiguration:
    fields = ["configuration_id", "sharding_spec", "pipeline_stage"]
    found = _Message(value, "a NodeDeviceConfigurationProto", fields)
    stage = found.number("pipeline_stage") if "pipeline_stage" in found.fields else None
    specs = tuple(map(from_fields, found.all("sharding_spec")))
    return NodeConfiguration(str(found.one("configuration_id", "")), specs, stage)


def _attribute(value: Any) -> tuple[str, Any]:
    found = _Message(value, "an AttributeProto", _ATTRIBUTE)
    for field in ("i", "f", "s"):
        if field in found.fields:
            return str(found.one("name")), found.one(field)
    lists = [field for field in ("ints", "floats", "strings") if field in found.fields]
    return str(found.one("name")), tuple(found.all(lists[0])) if lists else ()


def _constant(value: Any) -> tuple[str, tuple[int, ...] | None]:
    """The values of a list of integers; None of other constants."""
    found = _Message(value, "a TensorProto", "dims data_type int64_data float_data raw_data name".split())
    numbers = found.all("int64_data")
    known = numbers if len(found.all("dims")) <= 1 and all(isinstance(n, int) for n in numbers) else None
    return str(found.one("name", "")), None if known is None else tuple(cast("list[int]", known))


def _input(value: Any) -> tuple[str, Shape]:
    found = _Message(value, "a ValueInfoProto", ["name", "shape", "type", "doc_string"])
    if "type" not in found.fields:
        return str(found.one("name", "")), tuple(_size(item) for item in found.all("shape"))
    type = _Message(found.one("type"), "a TypeProto", ["tensor_type", "denotation"])
    tensor = _Message(type.one("tensor_type", Fields(())), "a tensor_type", ["elem_type", "shape"])
    dims = _Message(tensor.one("shape", Fields(())), "a shape", ["dim"])
    return str(found.one("name", "")), tuple(_size(item) for item in dims.all("dim"))


def _size(value: Any) -> Size:
    if isinstance(value, int | str):
        return value
    if isinstance(value, Fields):
        found = _Message(value, "a dim", ["dim_value", "dim_param", "denotation"])
        return _size(found.one("dim_value", found.one("dim_param", "?")))
    return str(getattr(value, "text", value))

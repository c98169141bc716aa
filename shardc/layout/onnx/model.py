"""A model's nodes with their device configurations, as plain data under the names of onnx.proto."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from shardc.layout.mesh import LayoutError
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.layout.onnx.symbols import Size

Shape = tuple[Size, ...]


class DeviceConfiguration(Struct, frozen=True):
    """A way to run a model: on so many devices, which may have names."""

    name: str
    num_devices: int
    device: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.num_devices < 1:
            raise LayoutError(f"configuration {self.name} has {self.num_devices} devices")
        if self.device and len(self.device) != self.num_devices:
            raise LayoutError(
                f"configuration {self.name} has {self.num_devices} devices, but names {len(self.device)}"
            )


class NodeConfiguration(Struct, frozen=True):
    """What a node says for one configuration: specifications of inputs and outputs, and its stage."""

    configuration_id: str = ""
    sharding_spec: tuple[ShardingSpec, ...] = ()
    pipeline_stage: int | None = None

    def spec_of(self, name: str) -> ShardingSpec | None:
        """The specification of the tensor of that name. LayoutError if there are two."""
        found = [spec for spec in self.sharding_spec if spec.tensor_name == name]
        if len(found) > 1:
            raise LayoutError(f"two specifications of {name}")
        return found[0] if found else None


class Node(Struct, frozen=True):
    """An operation; "" stands for an optional input that is left out."""

    op_type: str
    input: tuple[str, ...]
    output: tuple[str, ...]
    attribute: Mapping[str, Any] = {}
    device_configurations: tuple[NodeConfiguration, ...] = ()
    name: str = ""

    def configured(self, configuration: str) -> NodeConfiguration:
        """What the node says for a configuration: its own, or one without a name, or nothing."""
        for wanted in dict.fromkeys((configuration, "")):
            for found in self.device_configurations:
                if found.configuration_id == wanted:
                    return found
        return NodeConfiguration()


class Model(Struct, frozen=True):
    """Nodes in an order in which they can run, the shapes of inputs, and values of small constants."""

    node: tuple[Node, ...]
    input: Mapping[str, Shape]
    constant: Mapping[str, tuple[int, ...]] = {}
    configuration: tuple[DeviceConfiguration, ...] = ()
    opset: int | None = None

    def configured(self, name: str | None) -> DeviceConfiguration | None:
        """The configuration of that name; without one, the only one. LayoutError if that is none."""
        if name is None and len(self.configuration) < 2:
            return self.configuration[0] if self.configuration else None
        for found in self.configuration:
            if found.name == name:
                return found
        known = ", ".join(found.name for found in self.configuration) or "none"
        raise LayoutError(f"there is no configuration {name}; the model has {known}")

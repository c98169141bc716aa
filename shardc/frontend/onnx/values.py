"""Values of a model while it is lowered."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType

Array = NDArray[np.generic]


class Value(Struct, eq=False):
    """A tensor of the model. `array` is its value where that is known while compiling.

    `make` emits it where the builder stands; `emitted` is what all users share.
    """

    name: str
    type: TensorType
    array: Array | None = None
    make: Callable[[], Tensor] | None = None
    emitted: Tensor | None = None

    def tensor(self) -> Tensor:
        if self.emitted is not None:
            return self.emitted
        assert self.make is not None
        return self.make()


class Unknown(Struct, eq=False):
    """A tensor whose shape depends on data; what it is made of says why."""

    name: str


class Opaque(Struct, eq=False):
    """A value that is no dense tensor: a string, a sequence, an optional, a sparse tensor."""

    name: str
    kind: str


class Listed(Struct, eq=False):
    """A sequence: while compiling it is a list of tensors, and a program has none."""

    name: str
    items: tuple[Value, ...]
    kind: str = "sequence"


Known = Value | Unknown | Opaque | Listed

Scope = dict[str, Known]
"""Tensor name -> what is known of it, in one graph."""

"""The arrays of devices of which JAX's meshes are made, as code makes them.

    np.array(jax.devices()).reshape(2, 4)       as many as the sizes say
    np.array(jax.devices()[:4])                 devices 0 to 3; jax.devices()[4:8] are 4 to 7
    np.array(jax.devices())[[1, 0, 3, 2]]       in this order
    mesh_utils.create_device_mesh((2, 4))       in ascending order, as jax.make_mesh is read

Devices are their numbers. Nothing is evaluated but these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations.ranks import array_of, count_of, mesh_of_array, numbers_of
from shardc.layout.notations.values import Call, Item, Name, Slice, Value

Numbers = NDArray[np.int64]

FORM = "devices are np.array(jax.devices()).reshape(2, 4)"


def mesh_of_devices(value: Value, names: Sequence[Value], sizes: Value = None) -> Mesh:
    """The mesh of an array of devices, an axis per dimension; of these `sizes` if they are given.

    Its ranks are said where devices are not counted from 0. LayoutError if it is no such array.
    """
    array = _array(value) if sizes is None else _reshaped(_array(value), sizes)
    if array is None:
        raise LayoutError(f"{value} are as many devices as there are: say how many, as in jax.devices()[:8]")
    if len(names) != array.ndim:
        raise LayoutError(f"a mesh of {array.ndim} dimensions has {len(names)} names")
    return mesh_of_array(array, tuple(names))


def _array(value: Value) -> Numbers | None:
    """The numbers; None of all devices that there are, however many."""
    match value:
        case list() | tuple():
            return array_of(value)
        case Item(of=of, args=(place,)):
            return _taken(of, place)
        case Call(function=Call(function=Name(text="reshape"), args=(of,)), args=args):
            return _reshaped(_array(of), args[0] if len(args) == 1 else args)
        case Call(args=()) if value.last == "devices":
            return None
        case Call(args=(first, *_)) if value.last in ("array", "asarray"):
            return _array(first)
        case Call(args=(first, *_)) if value.last == "create_device_mesh":
            return _reshaped(None, first)
        case Call(args=(count,)) if value.last == "arange":
            return _reshaped(None, count)
        case Call(function=Name(text="T"), args=(of,)):
            array = _array(of)
            return None if array is None else array.T
        case Name(text=text):
            raise _unknown(text)
        case Call(function=Name(text=text)) if text.endswith(".reshape"):
            raise _unknown(text)
        case _:
            raise LayoutError(FORM)


def _taken(of: Value, place: Value) -> Numbers | None:
    """Devices of an array by a slice or a list of places."""
    array = _array(of)
    if isinstance(place, Slice):
        if array is not None:
            return array[place.start : place.stop]
        if place.start is None and place.stop is None:
            return None
        if place.stop is None or min(place.start or 0, place.stop) < 0:
            raise LayoutError(f"{of}[{place}] depends on how many devices there are: count from 0, to an end")
        numbers = numbers_of(place.start or 0, place.stop)
        return np.arange(numbers.start, numbers.stop)
    places = array_of(place)
    try:
        return places if array is None else array[places]
    except IndexError:
        raise LayoutError(f"{of} has no devices at all the places {place}") from None


def _reshaped(array: Numbers | None, sizes: Value) -> Numbers:
    """The devices in an array of these sizes; of all that there are the first."""
    shape: list[int] = []
    for size in sizes if isinstance(sizes, tuple | list) else (sizes,):
        if not isinstance(size, int) or isinstance(size, bool):
            raise LayoutError(f"{size} is no number that is known here: write the number")
        shape.append(size)
    if array is None:
        return np.arange(count_of(shape)).reshape(shape)
    try:
        return array.reshape(shape)
    except ValueError:
        raise LayoutError(f"{array.size} devices are no mesh of {' x '.join(map(str, shape))}") from None


def _unknown(text: str) -> LayoutError:
    name = text.partition(".")[0]
    return LayoutError(f"{name} stands for no devices here: write {name} = … before it; {FORM}")

"""What stands beside a sharding that sdy cannot express: kinds of partial results other than sums.

%y = sdy.reshard %x <@pod, [{}], replicated={"x"}> {shardc.partial = {max = ["x"]}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardc.dialects.arrays import is_array
from shardc.dialects.shardings import PARTIAL, SHARDING, attr_of, partial_of, partials_of, with_partial
from shardc.layout import Sharding

BESIDE = {
    "sharding": PARTIAL,
    "out_sharding": PARTIAL,
    "in_shardings": "shardc.partial_in",
    "out_shardings": "shardc.partial_out",
}
"""By the name of the attribute with a sharding, that of the one beside it."""

SIDECARS = frozenset(BESIDE.values())


def apply_sidecars(attrs: dict[str, object], attributes: Mapping[str, Attribute]) -> None:
    """Give shardings among `attrs` the kinds of partial result that stand beside them."""
    for name, sidecar in BESIDE.items():
        if sidecar not in attributes:
            continue
        partial = attributes[sidecar]
        value = attrs.get(name)
        if isinstance(value, Sharding):
            attrs[name] = with_partial(value, partial)
        elif isinstance(value, tuple) and is_array(partial):
            shardings = cast("tuple[Sharding, ...]", value)
            attrs[name] = tuple(with_partial(s, p) for s, p in zip(shardings, partial, strict=True))


def sidecar(key: str, value: object) -> dict[str, Attribute]:
    """What stands beside a sharding that sdy cannot express."""
    partial: Attribute | None = None
    if isinstance(value, Sharding):
        partial = partial_of(value)
    elif key in ("in_shardings", "out_shardings"):
        partial = partials_of(value)  # pyright: ignore[reportArgumentType]
    return {} if partial is None else {BESIDE[key]: partial}


def set_function_shardings(
    func: FuncOp,
    arguments: Sequence[Sharding | None] | None,
    results: Sequence[Sharding | None] | None,
) -> None:
    """Set the shardings of a function's arguments and results; None leaves all of them as they are."""
    for key, shardings in (("arg_attrs", arguments), ("res_attrs", results)):
        if shardings is None:
            continue
        old = func.properties.get(key)
        held = [cast(DictionaryAttr, attr).data for attr in (old if is_array(old) else ())]
        dicts: list[Mapping[str, Attribute]] = [*held] if held else [{} for _ in shardings]
        new = [_with_sharding(data, sharding) for data, sharding in zip(dicts, shardings, strict=True)]
        if any(new):
            func.properties[key] = ArrayAttr([DictionaryAttr(data) for data in new])
        else:
            func.properties.pop(key, None)


def _with_sharding(data: Mapping[str, Attribute], sharding: Sharding | None) -> dict[str, Attribute]:
    new = {key: attr for key, attr in data.items() if key not in (SHARDING, PARTIAL)}
    if sharding is not None:
        new[SHARDING] = attr_of(sharding)
        partial = partial_of(sharding)
        if partial is not None:
            new[PARTIAL] = partial
    return new

"""print("h", h), breakpoint(h), and jax.debug.print("h {}", h): statements that show values and give none."""

from __future__ import annotations

import re
from typing import Any

from shardc.frontend.text import syntax as s
from shardc.frontend.text.modules import path_of
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.trees import names_of, tensors_of
from shardc.frontend.text.values import Number, Tensor, Value, describe
from shardc.ops import spmd

_STOPS = {"print": False, "breakpoint": True}
_DEBUG = ("jax.debug", "debug")
_PLACE = re.compile(r"\{[^{}]*\}")
_DEVICE = "device"


def show(scope: Scope, statement: s.Show) -> None:
    """Build what a call that stands alone shows. ShardcError where it is another call, or shows nothing."""
    call, e = statement.call, scope.e
    module, _, name = (path_of(call.function) or "").rpartition(".")
    if name not in _STOPS or (module and module not in _DEBUG):
        hint = "a statement gives a name to a value: y = f(x); print(x) shows one"
        raise e.error("nothing uses what this call gives", hint, statement.pos)
    device, shown = 0, list(call.args)
    for keyword in call.keywords:
        if keyword.name == _DEVICE:
            device = _device(scope, keyword)
        elif module:
            shown.append(keyword.value)
        else:
            hint = f"{name}(x, device=3) shows what device 3 has"
            raise e.error(f"{name} has no parameter {keyword.name}", hint, keyword.pos)
    values = [(expr, scope.value(expr)) for expr in shown]
    pieces = _labelled(values, bool(module))
    if not pieces:
        raise e.error(f"{name} shows no tensor here", f"{name}(x, y) shows x and y", statement.pos)
    with e.at(statement.pos):
        for i, (label, tensor) in enumerate(pieces):
            attrs: dict[str, Any] = {"label": label, "device": device}
            if _STOPS[name] and i == len(pieces) - 1:
                attrs["stop"] = True
            e.ops(spmd.print_.name, tensor, results=[], **attrs)


def _device(scope: Scope, keyword: s.Keyword) -> int:
    """Whose block: the number of a device of the mesh."""
    number = scope.value(keyword.value)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise scope.e.error(f"a device is a number, not {describe(number)}", pos=keyword.pos)
    meshes = list(scope.program.meshes.values()) if scope.manual is None else [scope.manual[0]]
    largest = max((max(mesh.devices.reshape(-1).tolist(), default=0) for mesh in meshes), default=0)
    if number > largest:
        raise scope.e.error(f"there is no device {number}: they are 0 to {largest}", pos=keyword.pos)
    return number


def _labelled(values: list[tuple[s.Expr, Value]], formatted: bool) -> list[tuple[str, Tensor]]:
    """Each tensor under its label: the texts before it, else what it is called. Numbers are text."""
    pieces: list[tuple[str, Tensor]] = []
    said: list[str] = []
    places: list[str] = []
    for i, (expr, value) in enumerate(values):
        if i == 0 and formatted and isinstance(value, str):
            places = _PLACE.split(value)
            continue
        if isinstance(value, str | Number):
            said.append(str(value))
            continue
        words = [*said, places.pop(0)] if len(places) > 1 else said
        label = " ".join(word.strip() for word in words).rstrip(" :=")
        named = names_of(value, path_of(expr) or f"line {expr.pos.line}")
        tensors = tensors_of(value)
        labels = named if not label else [label] if len(tensors) == 1 else [f"{label} {n}" for n in named]
        pieces += zip(labels, tensors, strict=True)
        said = []
    return pieces

"""The parameters of built-in functions: which argument is whose, what each may be, and errors that say so."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache

from shardc.diagnostics import did_you_mean
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.promotion import DTYPES
from shardc.frontend.text.values import Dtype, FunctionName, Operand, Placed, RecordValue, Value, describe

MESH_AXES = "MeshAxes"
"""The kind of an argument that is an axis or a tuple of them, of per-device code; it is never evaluated."""

NAMED_AXES = "NamedAxes"
"""The same in any code."""


@cache
def signature(function: Callable[..., object]) -> inspect.Signature:
    """The signature in the language: without the emitter."""
    whole = inspect.signature(function)
    return whole.replace(parameters=list(whole.parameters.values())[1:])


def kind_of(parameter: inspect.Parameter) -> str:
    """What a parameter takes, as its annotation says."""
    return str(parameter.annotation)


def usage(name: str, function: Callable[..., object]) -> str:
    """softmax(x, axis=-1)"""
    texts: list[str] = []
    for parameter in signature(function).parameters.values():
        text = f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
        if parameter.default is not parameter.empty:
            default = parameter.default
            text += f'="{default}"' if isinstance(default, str) else f"={default}"
        texts.append(text)
    return f"{name}({', '.join(texts)})"


def bind(
    e: Emitter,
    name: str,
    function: Callable[..., object],
    args: Sequence[object],
    keywords: dict[str, object],
) -> inspect.BoundArguments:
    """Which argument is which parameter's. Raises ShardcError for too many, too few and unknown ones."""
    for keyword in keywords:
        check_keyword(e, name, function, keyword)
    try:
        return signature(function).bind(*args, **keywords)
    except TypeError as error:
        raise e.error(f"{name}: {error}", usage(name, function)) from None


def check_keyword(e: Emitter, name: str, function: Callable[..., object], keyword: str) -> None:
    """Raises ShardcError where the function has no parameter of that name."""
    known = signature(function).parameters
    if keyword not in known:
        hint = _ELSEWHERE.get(keyword) or did_you_mean(keyword, known, usage(name, function))
        raise e.error(f"{name} has no parameter {keyword}", hint)


_ELSEWHERE = {"axis_index_groups": "groups are axes: a mesh m[i=4] in groups of two is m[i0=2, i1=2]"}
"""What stands for a parameter of JAX's functions."""


def convert(e: Emitter, name: str, parameter: inspect.Parameter, value: Value) -> object:
    """An argument as the parameter's kind; an error that names both where it is not."""
    kind = kind_of(parameter)
    converted = _KINDS[kind][1](e, value)
    if converted is _WRONG:
        of_each = isinstance(value, RecordValue) and kind in ("Operand", "Tensor")
        hint = f"tree_map({name}, …) takes the tensors of a record one by one" if of_each else None
        if isinstance(value, tuple) and kind.startswith(("Tensor", "Operand")):
            hint = "stack(…) and concatenate(…) make one tensor of several"
        raise e.error(f"{name}: {parameter.name} is {_KINDS[kind][0]}, not {describe(value)}", hint)
    return converted


_WRONG = object()


def _operand(e: Emitter, value: Value) -> object:
    return value if isinstance(value, Operand) else _WRONG


def _tensor(e: Emitter, value: Value) -> object:
    return e.tensor(value) if isinstance(value, Operand) else _WRONG


def _operands(e: Emitter, value: Value) -> object:
    if not isinstance(value, tuple):
        return _WRONG
    operands: list[Operand] = [v for v in value if isinstance(v, Operand)]
    return tuple(operands) if len(operands) == len(value) else _WRONG


def _blocks(e: Emitter, value: Value) -> object:
    if not isinstance(value, tuple):
        return _operand(e, value)
    return _WRONG if any(_blocks(e, item) is _WRONG for item in value) else value


def _placed(e: Emitter, value: Value) -> object:
    return Placed(value, e.loc)


def _int(e: Emitter, value: Value) -> object:
    return value if isinstance(value, int) and not isinstance(value, bool) else _WRONG


def _ints(e: Emitter, value: Value) -> object:
    items = value if isinstance(value, tuple) else (value,)
    return items if all(isinstance(v, int) and not isinstance(v, bool) for v in items) else _WRONG


def _int_or_ints(e: Emitter, value: Value) -> object:
    return _ints(e, value) if isinstance(value, tuple) else _int(e, value)


def _bool(e: Emitter, value: Value) -> object:
    return value if isinstance(value, bool) else _WRONG


def _text(e: Emitter, value: Value) -> object:
    return value if isinstance(value, str) else _WRONG


def _number(e: Emitter, value: Value) -> object:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _WRONG


def _dtype(e: Emitter, value: Value) -> object:
    if isinstance(value, str):
        near = did_you_mean(value, DTYPES, "the dtypes are " + ", ".join(DTYPES))
        raise e.error(f'a dtype is named without quotes, not as the text "{value}"', near)
    return value if isinstance(value, Dtype) else _WRONG


def _function(e: Emitter, value: Value) -> object:
    return value if isinstance(value, FunctionName) else _WRONG


def _functions(e: Emitter, value: Value) -> object:
    if not isinstance(value, tuple) or not all(isinstance(v, FunctionName) for v in value):
        return _WRONG
    return value


def _value(e: Emitter, value: Value) -> object:
    return value


_Converter = Callable[[Emitter, Value], object]


def _optional(converter: _Converter) -> _Converter:
    return lambda e, value: None if value is None else converter(e, value)


_KINDS: dict[str, tuple[str, _Converter]] = {
    "Operand": ("a tensor or a number", _operand),
    "Operand | None": ("a tensor or a number", _optional(_operand)),
    "Tensor": ("a tensor", _tensor),
    "Tensor | None": ("a tensor", _optional(_tensor)),
    "tuple[Operand, ...]": ("a tuple of tensors", _operands),
    "int": ("a whole number known while compiling", _int),
    "int | None": ("a whole number known while compiling", _optional(_int)),
    "tuple[int, ...]": ("a tuple of whole numbers known while compiling", _ints),
    "tuple[int, ...] | None": ("a tuple of whole numbers known while compiling", _optional(_ints)),
    "int | tuple[int, ...]": ("a whole number or a tuple of them", _int_or_ints),
    "int | tuple[int, ...] | None": ("a whole number or a tuple of them", _optional(_int_or_ints)),
    "Dims": ("a dimension, a tuple of dimensions or None", _optional(_int_or_ints)),
    "bool": ("True or False", _bool),
    "str": ("a text in quotes", _text),
    "Scalar": ("a number known while compiling", _number),
    "Scalar | None": ("a number known while compiling", _optional(_number)),
    "Dtype": (f"a dtype ({', '.join(DTYPES)})", _dtype),
    "Dtype | None": (f"a dtype ({', '.join(DTYPES)})", _optional(_dtype)),
    "FunctionName": ("a function of the program or a lambda", _function),
    "tuple[FunctionName, ...]": ("a tuple of functions of the program", _functions),
    "BlockTree": ("a tensor or a tuple of them", _blocks),
    "Placed": ("a value", _placed),
    "Value": ("a value", _value),
}

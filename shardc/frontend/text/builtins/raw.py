"""op("stablehlo.gather", x, i, {attributes}): an operation that has no name of its own in the language."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shardc.frontend.text.emitter import Emitter, NewRegion
from shardc.frontend.text.trees import tensors_of
from shardc.frontend.text.values import Fields, FunctionName, Number, Operand, Tensor, Value
from shardc.graph.attrs import ConvDims, DotDims, GatherDims, ScatterDims
from shardc.graph.types import TensorType
from shardc.ops import find, hlo, is_tensor_op, near
from shardc.semantics.lapack import OPTIONS

_STRUCTURED: dict[tuple[str, str], type[Struct]] = {
    (hlo.dot_general.name, "dot_dimension_numbers"): DotDims,
    (hlo.gather.name, "dimension_numbers"): GatherDims,
    (hlo.scatter.name, "scatter_dimension_numbers"): ScatterDims,
    (hlo.convolution.name, "dimension_numbers"): ConvDims,
}

_OWN_FORM = (hlo.constant.name, hlo.while_.name, hlo.case.name, hlo.if_.name, hlo.return_.name)


def op(
    e: Emitter, name: str, *operands: Value, result: Value = None, body: Value = None
) -> Tensor | tuple[Tensor, ...]:
    """Build operation `name`.

    The last operand may be a record of attributes, named as StableHLO names them. `result` is a type, or a
    tuple of types, where the operands don't tell it; `body` is a function, or a tuple of them, for regions.
    """
    if not is_tensor_op(name) or name in _OWN_FORM:
        raise e.error(f'"{name}" is no operation that op(…) can build', "stablehlo.… and chlo.…")
    record = operands[-1] if operands and isinstance(operands[-1], Fields) else Fields(())
    tensors = _tensors(e, name, operands[:-1] if operands and operands[-1] is record else operands)
    attrs = dict(_attribute_of(e, name, key, value) for key, value in record.entries)
    functions = [f for f in (body if isinstance(body, tuple) else (body,)) if isinstance(f, FunctionName)]
    try:
        values = e.ops(
            name,
            *tensors,
            results=_types(e, result),
            regions=[_region(e, function) for function in functions],
            weak=False,
            **attrs,
        )
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        text = str(error)
        raise e.error(
            text if name in text else f"{name}: {text}", None if find(name) else near(name)
        ) from error
    return values[0] if len(values) == 1 else tuple(values)


def _region(e: Emitter, function: FunctionName) -> NewRegion:
    if function.parameters is None:
        raise e.error(f"the parameters of {function.name} have no types", "body= is a function with types")
    return function.parameters, lambda *args: tensors_of(function.apply(*args))


def _tensors(e: Emitter, name: str, operands: Sequence[Value]) -> list[Tensor]:
    """The operands; numbers get the common dtype of the others."""
    numbers: list[Operand] = []
    for operand in operands:
        if not isinstance(operand, Operand):
            raise e.error(f"the operands of {name} are tensors, and the attributes stand last")
        numbers.append(operand)
    given = [t for t in numbers if isinstance(t, Tensor)]
    dtype = e.common(*given)[0] if 0 < len(given) < len(numbers) else None
    return [t if isinstance(t, Tensor) else e.tensor(t, dtype) for t in numbers]


def _types(e: Emitter, result: Value) -> list[TensorType] | None:
    if result is None:
        return None
    types = [
        one for one in (result if isinstance(result, tuple) else (result,)) if isinstance(one, TensorType)
    ]
    if not types:
        raise e.error("result= is a type, like f32[4, 8], or a tuple of types")
    return types


def _attribute_of(e: Emitter, name: str, key: str, value: Value) -> tuple[str, object]:
    """An attribute and its name; options of a call are fields of its `backend_config`."""
    if name == hlo.custom_call.name and key == "backend_config" and isinstance(value, Fields):
        return OPTIONS, tuple((field, _attribute(e, name, field, one)) for field, one in value.entries)
    return key, _attribute(e, name, key, value)


def _attribute(e: Emitter, name: str, key: str, value: Value) -> object:
    if isinstance(value, Fields):
        structure = _STRUCTURED.get((name, key))
        if structure is None:
            raise e.error(f"attribute {key} of {name} has no fields")
        try:
            return structure(**{field: _attribute(e, name, field, one) for field, one in value.entries})
        except TypeError:
            names = ", ".join(structure.__struct_fields__)
            raise e.error(f"these are not the fields of {key}", f"it has {names}") from None
    if isinstance(value, tuple):
        return tuple(_attribute(e, name, key, item) for item in value)
    if isinstance(value, Number | str):
        return value
    raise e.error(f"attribute {key} of {name} is a number, a text, a tuple of them or a record")

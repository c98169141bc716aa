"""Control flow, calls, terminators and barriers."""

from __future__ import annotations

from shardc.graph.infer.call import Call, Rule, Types, types_text
from shardc.graph.types import TensorType
from shardc.layout import Sharding

_PREDICATE = TensorType((), "bool")


def _while(call: Call) -> Types:
    call.check_region(0, (_PREDICATE,))
    call.check_region(1, call.operands)
    return call.operands


def _branches(call: Call, selector: TensorType) -> Types:
    if call.one() != selector:
        raise call.error(f"chooses by {selector}, got {call.one()}")
    if not call.region_results:
        return _stated(call)
    for index in range(len(call.region_results)):
        call.check_region(index, call.region_results[0])
    return call.region_results[0]


def _case(call: Call) -> Types:
    return _branches(call, TensorType((), "i32"))


def _if(call: Call) -> Types:
    return _branches(call, _PREDICATE)


def _stated(call: Call) -> Types:
    """The types the program states, for operations whose own types nothing else tells."""
    if call.given is None:
        raise call.error("cannot infer its result types: state them (results=)")
    return call.given


def _terminator(call: Call) -> Types:
    return ()


def _identity(call: Call) -> Types:
    return call.operands


def _manual_computation(call: Call) -> Types:
    results = _stated(call)
    for what, types, key in (
        ("operands", call.operands, "in_shardings"),
        ("results", results, "out_shardings"),
    ):
        shardings = call.tuple_of(key, Sharding)
        if len(types) != len(shardings):
            raise call.error(
                f"has {len(types)} {what} ({types_text(types)}) and {len(shardings)} shardings for them"
            )
    return results


def _named_computation(call: Call) -> Types:
    results = call.region_results[0] if call.region_results else _stated(call)
    call.check_region(0, results)
    return results


CONTROL: dict[str, Rule] = {
    "stablehlo.while": _while,
    "stablehlo.case": _case,
    "stablehlo.if": _if,
    "stablehlo.optimization_barrier": _identity,
    "stablehlo.custom_call": _stated,
    "stablehlo.composite": _stated,
    "func.call": _stated,
    "sdy.named_computation": _named_computation,
    "stablehlo.return": _terminator,
    "func.return": _terminator,
    "sdy.return": _terminator,
    "sdy.manual_computation": _manual_computation,
}

"""Operations whose function of shardc.semantics.ops takes more than operands and attributes."""

from __future__ import annotations

from shardc.backend.numpy.kernels import dtype_text, extreme_kernel, kernel_call, keywords
from shardc.backend.numpy.target import NUMPY
from shardc.backend.python import fourier, idiom
from shardc.backend.python.expressions import call, integers, list_of, tuple_of
from shardc.backend.python.printers import Printed, Printer
from shardc.backend.python.regions import scalar_function
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.backend.python.terms import Several
from shardc.graph import Node
from shardc.ops import combiner, hlo

_KINDS = {"sum", "max", "min", "prod", "and", "or", "xor", "bitand", "bitor"}
_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")


def _kind(scope: Scope, node: Node) -> str | None:
    kind = combiner(node.regions[0], scope.graph)
    return kind if kind in _KINDS else None


def _by_region(name: str, *keys: str) -> Printer:
    """A reduction by a named combination, or by a function of (accumulated…, elements…) that gives a list."""

    def printer(scope: Scope, node: Node) -> Printed:
        given = keywords(node, *keys)
        kind = _kind(scope, node)
        arrays = [scope.expr(value) for value in node.operands]
        if kind is not None:
            return call(f"ops.{name}", *arrays, kind=f'"{kind}"', **given)
        count = len(node.results)
        combine = scalar_function(scope, node, 0, "combine", ("a", "b"), as_list=True)
        values, starts = list_of(arrays[:count]), list_of(arrays[count:])
        return Several(call(f"ops.{name}_with", values, starts, combine, **given))

    return printer


_reduce = _by_region("reduce", "dimensions")
reduce_window_call = _by_region("reduce_window", *_WINDOW)


def reduce_call(scope: Scope, node: Node) -> Printed:
    name = extreme_kernel(scope.graph, node)
    if name is None:
        return _reduce(scope, node)
    (axis,) = ints(node, "dimensions")
    return Several(call(f"ops.{name}", *map(scope.expr, node.operands), axis=str(axis)))


@NUMPY.prints(hlo.scatter)
def scatter(scope: Scope, node: Node) -> Printed:
    count = len(node.results)
    given = keywords(node, "scatter_dimension_numbers")
    kind = combiner(node.regions[0], scope.graph)
    arrays = [scope.expr(value) for value in node.operands]
    operands, updates = list_of(arrays[:count]), list_of(arrays[count + 1 :])
    if count == 1 and (kind == "set" or kind in _KINDS):
        return Several(call("ops.scatter", operands, arrays[1], updates, kind=f'"{kind}"', **given))
    combine = scalar_function(scope, node, 0, "combine", ("a", "b"), as_list=True)
    return Several(call("ops.scatter", operands, arrays[count], updates, combine, **given))


@NUMPY.prints(hlo.select_and_scatter)
def select_and_scatter(scope: Scope, node: Node) -> Printed:
    arrays = [scope.expr(value) for value in node.operands]
    functions = [
        scalar_function(scope, node, number, wish, ("a", "b"), as_list=True)
        for number, wish in enumerate(("choose", "combine"))
    ]
    geometry = keywords(node, "window_dimensions", "window_strides", "padding")
    return call("ops.select_and_scatter", *arrays, *functions, **geometry)


def sort_call(scope: Scope, node: Node) -> Printed:
    arrays = [scope.expr(value) for value in node.operands]
    dimension = str(node.attrs.get("dimension", scope.type(node.operands[0]).rank - 1))
    pairs = [f"x{i}" for i in range(len(node.regions[0].args))]
    less = scalar_function(scope, node, 0, "less_than", pairs, as_list=True)
    return Several(call("ops.sort", *arrays, dimension=dimension, less_than=less))


@NUMPY.prints(hlo.rng_bit_generator)
def rng_bit_generator(scope: Scope, node: Node) -> Printed:
    """The next state, and random bits."""
    type = scope.type(node.results[1])
    dtype = call("np.dtype", scope.target.dtype(type.dtype))
    given = keywords(node, "rng_algorithm")
    state = scope.expr(node.operands[0])
    return Several(call("ops.rng_bit_generator", state, shape=integers(type.shape), dtype=dtype, **given))


def convert_call(scope: Scope, node: Node) -> Printed:
    """Where NumPy converts to something else than XLA does."""
    return call("ops.convert", scope.expr(node.operands[0]), dtype=dtype_text(scope, node))


@NUMPY.prints(hlo.reduce_precision)
def reduce_precision(scope: Scope, node: Node) -> Printed:
    given = keywords(node, "exponent_bits", "mantissa_bits")
    return call("ops.reduce_precision", scope.expr(node.operands[0]), **given)


@NUMPY.prints(hlo.map_)
def map_(scope: Scope, node: Node) -> Printed:
    params = [f"x{i}" for i in range(len(node.operands))]
    function = scalar_function(scope, node, 0, "apply", params)
    return call(function, *(scope.expr(value) for value in node.operands))


_dynamic_update_slice = kernel_call(hlo.dynamic_update_slice)


@NUMPY.prints(hlo.dynamic_update_slice)
def dynamic_update_slice(scope: Scope, node: Node) -> Printed:
    """What is overwritten has a line of its own, zeros too."""
    scope.variable(node.operands[0])
    return _dynamic_update_slice(scope, node)


@NUMPY.prints(hlo.optimization_barrier, idiom.same)
def identity(scope: Scope, node: Node) -> Printed:
    if len(node.operands) == 1:
        return scope.term(node.operands[0])
    return Several(tuple_of([scope.expr(value) for value in node.operands]))


NUMPY.prints(hlo.fft)(fourier.fft)

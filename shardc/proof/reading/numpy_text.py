"""read_back(text, whole): the program that an emitted NumPy text runs.

The text's functions run once, at full size, on arrays that hold no data (recorded.py), with stand-ins for
what it imports; what they do becomes one program with per-device code, as --emit local prints.
"""

from __future__ import annotations

import ast
import base64
import builtins
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from shardc.graph import ConvDims, DotDims, GatherDims, Graph, ScatterDims, is_builtin, walk
from shardc.graph.trees import Interface, arguments_of, flattened
from shardc.graph.types import NUMPY
from shardc.layout import LayoutError
from shardc.ops import ShapeError, hlo
from shardc.proof.reading.control import as_calls, calls
from shardc.proof.reading.device_names import emulation
from shardc.proof.reading.functions import called_often, read_once
from shardc.proof.reading.kernel_names import KernelNames
from shardc.proof.reading.numpy_names import DType, NumpyNames
from shardc.proof.reading.recorded import Recorded, Recorder
from shardc.proof.reading.records import records_of
from shardc.proof.values import Beyond, Refused, Unfit
from shardc.runtime.mesh import Mesh, P

Names = dict[str, Any]

_BUILTINS = {"range": range, "complex": complex, "float": float, "ord": ord, "tuple": tuple}


def read_back(text: str, whole: Graph) -> Graph:
    """The program of a text whose `main` takes and gives the arrays of the global program.

    Raises Beyond where the text does what cannot be read, Refused where it does what NumPy refuses, Unfit
    where its shapes do not fit.
    """

    def names(recorder: Recorder, _: object) -> dict[str, Any]:
        results = whole.types(whole.main.body.results)
        return {"Mesh": Mesh, "P": P, "emulate": emulation(recorder, results), **records_of(body)}

    body = ast.parse(text).body
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    return read_functions(functions, names, whole, whole.main.interface)


def read_functions(
    found: Sequence[ast.FunctionDef],
    names: Callable[[Recorder, Names], Names],
    whole: Graph,
    interface: Interface | None,
) -> Graph:
    """The program of a text's functions, one of which is `main`. names: what stands for the rest of the text,
    from the names that there are when it runs. interface: how `main` takes and gives its arrays.

    Raises as `read_back` does.
    """
    has_loops = any(isinstance(node, ast.For | ast.While) for each in found for node in ast.walk(each))
    functions = list(map(as_calls, found))
    module = ast.fix_missing_locations(ast.Module([*functions], []))
    recorder = Recorder(_has_roots(whole))
    namespace: Names = {
        "__builtins__": _BUILTINS,
        "np": NumpyNames(recorder),
        "ops": KernelNames(recorder),
        "ml_dtypes": SimpleNamespace(
            **{numpy: DType(recorder, name) for name, numpy in NUMPY.items() if not is_builtin(name)}
        ),
        "base64": base64,
        **{record.__name__: record for record in (ConvDims, DotDims, GatherDims, ScatterDims)},
        **calls(recorder),
    }
    namespace.update(names(recorder, namespace))

    def main(_: object, *values: int) -> list[int]:
        given = arguments_of(interface, [Recorded(recorder, value) for value in values])
        return [array.value for array in flattened(namespace["main"](*given))]

    try:
        exec(compile(module, "emitted text", "exec"), namespace)
        for name in called_often(functions):
            namespace[name] = read_once(recorder, namespace[name])
        recorder.builder.function("main", whole.types(whole.main.body.args), main)
    except LayoutError as error:
        raise Refused(str(error)) from error
    except ShapeError as error:
        raise Unfit(str(error)) from error
    except NameError as error:
        if error.name and hasattr(builtins, error.name):  # else a local one that has no value yet
            raise Beyond(f"the name {error.name} in an emitted text") from error
        if (
            isinstance(error, UnboundLocalError) and has_loops
        ):  # of which only what is carried is known after it
            raise Beyond("a variable that only a loop sets, and such texts") from error
        raise Refused(str(error)) from error
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise Beyond(f"what the emitted text does is not known ({error}), and such texts") from error
    return recorder.builder.graph


def _has_roots(whole: Graph) -> bool:
    nodes = (node for function in whole.functions.values() for node in walk(function.body))
    return any(node.name == hlo.rsqrt.name for node in nodes)

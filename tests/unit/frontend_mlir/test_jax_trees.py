"""The trees of a JAX function, as the emitted program has them."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shardc
from shardc.dialects.snapshot import snapshot
from shardc.frontend.jax import lower, staged, text_of
from shardc.frontend.jax_said import CLASSES
from shardc.frontend.read import read
from shardc.graph.trees import Branch, arguments_of, flattened
from shardc.options import Options

jax = pytest.importorskip("jax")


class Moments(NamedTuple):
    mu: Any
    nu: Any


class Other(NamedTuple):
    mu: Any
    nu: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    moments: Any
    count: Any


def array(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def doubled(tree: Any) -> Any:
    return jax.tree.map(lambda x: x * 2, tree)


def interface_of(text: str) -> Any:
    return snapshot(read(text, Options(file="<f>", language="mlir"))).graph.main.interface


def interface(function: Any, *arguments: Any) -> Any:
    return interface_of(lower(function, *arguments))


LEAF = Branch((None, None), "", ("b", "w"))


def test_dicts_tuples_and_records():
    params = {"layers": [{"b": array(2), "w": array(3)}], "out": array(2)}
    state = State(Moments(params, {"it's": array(1)}), array())
    found = interface(lambda params, state, x: ({"loss": x}, state), params, state, array(2))
    of_params = Branch((Branch((LEAF,)), None), "", ("layers", "out"))
    moments = Branch((of_params, Branch((None,), "", ("it's",))), "Moments", ("mu", "nu"))
    of_state = Branch((moments, None), "State", ("moments", "count"))
    assert found.parameters == (("params", of_params), ("state", of_state), ("x", None))
    assert found.results == Branch((Branch((None,), "", ("loss",)), of_state))


def test_parts_without_tensors():
    found = interface(lambda opt: opt, {"o": ((array(2), None), (), {"w": array(1), "z": None})})
    parts = Branch((Branch((None, Branch(()))), Branch(()), Branch((None,), "", ("w",))))
    assert found.parameters == (("opt", Branch((parts,), "", ("o",))),)


def test_an_argument_that_is_a_tuple_is_one_parameter():
    def f(pair: Any, state: Any, *rest: Any, k: Any = (2.0,)) -> Any:
        (moments, empty), (w,) = state, rest[1]
        return pair[0] + k[0] * w, (moments._replace(mu=moments.mu + rest[0]), empty)

    state = (Moments(array(2), array(2)), ())
    arguments = (array(2), array(2)), state, array(2), [array(2)]
    program = shardc.from_jax(f, *arguments, prove=True)
    assert "\ndef main(pair, state, rest_0, rest_1):\n" in program.source
    assert "\n            (),\n" in program.source
    assert program.proof is not None and program.proof.startswith("proved"), program.proof
    first, second = program.main(*arguments)
    np.testing.assert_array_equal(first, array(2) * 3)
    again = program.main((first, first), second, array(2), arguments[3])
    np.testing.assert_array_equal(again[1][0].mu, array(2) * 3)
    assert again[1][1] == ()

    text = text_of(staged(f).trace(*arguments, k=(array(),)))
    found = snapshot(read(text, Options(file="<f>", language="mlir"))).graph.main.interface
    moments = Branch((None, None), "Moments", ("mu", "nu"))
    assert found is not None and found.parameters == (
        ("pair", Branch((None, None))),
        ("state", Branch((moments, Branch(())))),
        ("rest.0", None),
        ("rest.1", Branch((None,))),
        ("k", Branch((None,))),
    )


def test_the_items_of_a_tuple_are_parameters():
    found = interface(lambda *args: args[1], array(2), {"w": array(1)}, (), (array(1), array(3)))
    pair = Branch((None, None))
    assert found.parameters == (("args.0", None), ("args.1", Branch((None,), "", ("w",))), ("args.3", pair))
    program = shardc.from_jax(lambda *args: args[1], array(2), {"w": array(1)}, array(3))
    assert "\ndef main(args_0, args_1, args_2):\n" in program.source


@pytest.mark.parametrize(
    "tree",
    [OrderedDict(b=array(2), a=array(3)), {1: array(2), 10**5: array(3)}, {1: array(1), 900: array(2)}],
)
def test_what_is_no_tree_stays_one_parameter_for_each_tensor(tree: Any):
    found = interface(lambda p, q: {"q": q}, tree, {"k": array(1)})
    assert [tree for _, tree in found.parameters] == [None, None, Branch((None,), "", ("k",))]
    program = shardc.from_jax(lambda p, q: (p, q), tree, {"k": array(1)}, target="numpy")
    first, second = program.main(*jax.tree.leaves(tree), {"k": array(1)})[0:2]
    for one, other in zip((first, second), jax.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(one, other)


def test_records_of_one_name_and_other_parts_are_two_classes():
    def f(a: Any, b: Any) -> Any:
        return a, b

    found = interface(f, {"m": Moments(array(1), array(1))}, {"m": Moments(array(1), {"x": array(2)})})
    names = [tree.items[0].record for _, tree in found.parameters]
    assert names == ["Moments", "Moments1"]
    source = shardc.from_jax(f, {"m": Moments(array(1), 1.0)}, {"m": Moments(array(1), {"x": 1.0})}).source
    assert "    nu: jax.Array\n" in source and "    nu: dict[str, jax.Array]\n" in source


def test_records_are_called_as_their_classes_are():
    one, other = Moments(array(1), array(2)), Other(array(1), array(2))
    found = interface(lambda opt, more: {"m": opt}, {"o": [one, other]}, one)
    ((_, opt), (_, more)) = found.parameters
    (of_list,) = opt.items
    assert [item.record for item in of_list.items] == ["Moments", "Other"]
    assert more.record == "Moments"
    assert found.results.items[0] == opt


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_classes_of_any_name(target: str):
    names = ["NamedTuple", "Mesh", "P", "main", "jax", "class", 'a"]b\n c', "x", "Ünï"]
    classes = [namedtuple(f"C{i}", ["a", f"b{i}"]) for i in range(len(names))]  # noqa: PYI024
    for name, cls in zip(names, classes, strict=True):
        cls.__name__ = name
    arguments = [cls(array(2), array(3)) for cls in classes]
    program = shardc.from_jax(lambda *args: doubled(args), *arguments, target=target)
    assert "\nclass NamedTuple_(NamedTuple):\n" in program.source
    for one, other in zip(flattened(program.main(*arguments)), jax.tree.leaves(arguments), strict=True):
        np.testing.assert_array_equal(one, other * 2)


def test_where_no_class_is_said_a_record_is_called_after_its_place():
    traced = staged(lambda opt: opt).trace(
        {"o": [Moments(array(1), array(2)), Moments(array(1), [array(2)])]}
    )
    text = text_of(traced)
    assert CLASSES in text
    found = interface_of(text.replace(CLASSES, "shardc.unknown"))
    (of_list,) = found.parameters[0][1].items
    assert [item.record for item in of_list.items] == ["O", "O1"]


def test_what_has_no_tensors_is_no_argument_of_that_form():
    source = shardc.from_jax(
        lambda state: ((), state[1], state[2] * 2), ((), (array(3), None), array(2))
    ).source
    assert "return (), state[1], state[2] * 2.0" in source


def test_functions_of_tensors_have_none():
    assert interface(lambda x, y: (x, y), array(1), array(2)) is None
    assert interface(lambda x: [x], array(1)) is None


@pytest.mark.parametrize(("target", "process_data"), [("mpi", False), ("jax", True)])
@pytest.mark.parametrize("devices", [None, 2])
@pytest.mark.parametrize("empty", [False, True])
def test_programs_of_processes_take_trees(target: str, process_data: bool, devices: int | None, empty: bool):
    """Those without arrays in a part are taken apart: nothing in the names of arrays tells that part."""
    mesh = devices and jax.make_mesh((devices,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    way = mesh and jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    parts = {"z": (array(2), None, array(2))} if empty else {}
    text = lower(lambda p, x: {"y": p["w"] + x}, {"w": array(2), **parts}, array(2), in_shardings=(None, way))
    program = shardc.compile(text, target=target, process_data=process_data, prove=True)
    flat = "p_w, p_z_0, p_z_2, x" if empty else "p, x"
    taken = "p, x" if target == "jax" and devices is None else flat
    assert f"def main({taken}):" in program.source
    assert program.proof is not None and program.proof.startswith("proved"), program.proof


keys = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=4)
trees = st.recursive(
    st.sampled_from([(2,), (), (3, 2)]),
    lambda inner: (
        st.dictionaries(keys, inner, min_size=1, max_size=3)
        | st.lists(inner, min_size=1, max_size=3)
        | st.builds(Moments, inner, inner)
        | st.just(None)
    ),
    max_leaves=5,
)


def is_shape(part: Any) -> bool:
    return type(part) is tuple


@given(trees)
@settings(max_examples=6, deadline=None)
@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_any_tree(target: str, shapes: Any):
    tree = jax.tree.map(lambda shape: array(*shape), shapes, is_leaf=is_shape)
    leaves = jax.tree.leaves(tree)
    if not leaves:
        return
    program = shardc.from_jax(doubled, tree, target=target, prove=True)
    assert program.proof is not None and program.proof.startswith("proved"), program.proof
    given = arguments_of(program.interface, leaves)
    made = program.main(*given)
    for one, other in zip(
        flattened(made) if target == "numpy" else jax.tree.leaves(made), leaves, strict=True
    ):
        np.testing.assert_array_equal(one, other * 2)

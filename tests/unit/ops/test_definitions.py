"""Every operation's definition has all its parts, and the parts agree with each other."""

import re

import numpy as np
import pytest

from shardc.backend.jax.target import JAX
from shardc.interpret import devices
from shardc.interpret.collectives import EXCHANGES
from shardc.ops import definitions, hlo, own, rule_of, verify
from shardc.ops.definition import Trait

ALL = {definition.name: definition for definition in definitions()}
EXAMPLES = {name: definition.example for name, definition in ALL.items() if definition.example}

NOT_RUN = {
    "chlo.asin_acos_kernel": "only Shardy's rule is known",
    "chlo.ragged_dot": "is read and written, and refused",
    "sdy.data_flow_edge": "says how its operand's uses are sharded, and computes nothing",
    "sdy.func_data_flow_edge": "says how the values of calls are sharded, and computes nothing",
    "sdy.mesh": "declares a mesh",
    "stablehlo.after_all": "orders effects, and what is compiled has none",
    "stablehlo.create_token": "orders effects, and what is compiled has none",
    "stablehlo.cross-replica-sum": "only Shardy's rule is known",
    "stablehlo.dot": "is its dot_general in a Graph",
    "stablehlo.get_tuple_element": "is read and written, and refused",
    "stablehlo.infeed": "speaks to a host that is not here",
    "stablehlo.outfeed": "speaks to a host that is not here",
    "stablehlo.recv": "speaks to a host that is not here",
    "stablehlo.rng": "is refused: no two devices would agree on its numbers",
    "stablehlo.send": "speaks to a host that is not here",
    "stablehlo.tuple": "is read and written, and refused",
}
SCATTERS = [lambda a, b: [a >= b], lambda a, b: [a + b]]
BODIES = {
    hlo.map_.name: [lambda a, b: [a + b]],
    hlo.select_and_scatter.name: SCATTERS,
    own.unpool.name: SCATTERS,
}


def array(type):
    return np.full(type.shape, 1 if type.numpy.kind in "iub" else 0.5, type.numpy)


@pytest.mark.parametrize("name", ALL)
def test_it_says_what_it_is(name):
    assert ALL[name].doc.endswith((".", "`", "…"))


@pytest.mark.parametrize("name", [name for name, definition in ALL.items() if definition.rule])
def test_what_has_a_rule_has_an_example_of_it(name):
    example = EXAMPLES[name]
    rule = rule_of(example)
    assert rule is not None
    ranks = [type.rank for type in (*example.operands, *example.results)]
    assert [len(dims) for dims in rule.tensors] == ranks


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_of_its_operation_and_has_the_types_that_follow(name):
    assert EXAMPLES[name].name == name
    if ALL[name].infer is not None:
        verify(EXAMPLES[name])


@pytest.mark.parametrize("name", ALL)
def test_it_has_a_meaning_or_the_interpreter_runs_it_or_nobody_can(name):
    definition = ALL[name]
    if definition.has(Trait.GLOBAL_COLLECTIVE):  # explicit ones are run as they are written
        assert definition.meaning is not None
        return
    assert (definition.meaning is not None) != bool(
        name in EXCHANGES or name in devices._CONTROL or name in NOT_RUN or definition.has(Trait.TERMINATOR)
    )


@pytest.mark.parametrize("name", [name for name in EXAMPLES if ALL[name].meaning])
def test_running_the_example_gives_what_its_types_say(name):
    op = EXAMPLES[name]
    computes = ALL[name].meaning
    assert computes is not None
    with np.errstate(all="ignore"):
        results = computes(op, [array(type) for type in op.operands], *BODIES.get(name, ()))
    assert [(a.shape, a.dtype) for a in results] == [(t.shape, t.numpy) for t in op.results]


@pytest.mark.parametrize("name", [name for name in EXAMPLES if ALL[name].has(Trait.ELEMENTWISE)])
def test_elementwise_operations_can_be_written(name):
    assert JAX.find(name) is not None or name in NOT_RUN


@pytest.mark.parametrize("name", [name for name in EXAMPLES if ALL[name].syntax])
def test_the_syntax_has_the_operands_attributes_and_results_of_the_example(name):
    syntax, op = ALL[name].syntax, EXAMPLES[name]
    assert syntax is not None
    required = {key for key, kind in syntax.attrs.items() if not kind.endswith("?")}
    assert required <= op.attrs.keys() <= syntax.attrs.keys()
    for names, types in ((syntax.operands, op.operands), (syntax.results, op.results)):
        assert any(n.startswith("*") for n in names) or len(names) == len(types)


@pytest.mark.parametrize(
    "syntax",
    [d.syntax for d in ALL.values() if d.syntax and d.syntax.format],
    ids=lambda syntax: syntax.format,
)
def test_the_format_speaks_of_nothing_else(syntax):
    tensors = {n.lstrip("*") for n in (*syntax.operands, *syntax.results)}
    spoken = set(re.findall(r"\$(\w+)", syntax.format or ""))
    assert spoken <= tensors | syntax.attrs.keys()
    assert not spoken or "attr-dict" in str(syntax.format)


@pytest.mark.parametrize("name", EXAMPLES)
def test_work_is_counted(name):
    op, work = EXAMPLES[name], ALL[name].work
    assert work.operations(op) >= (op.results[0].size if ALL[name].has(Trait.PRODUCT) else 0)
    if work.moved is not None:
        every = [type.nbytes for type in op.operands], [type.nbytes for type in op.results]
        pairs = [
            pair
            for of, all_of in zip(work.moved(op), every, strict=True)
            for pair in zip(of, all_of, strict=True)
        ]
        assert all(0 <= bytes <= all for bytes, all in pairs) and any(bytes < all for bytes, all in pairs)


def test_operations_are_counted_by_their_definition():
    dot = EXAMPLES[hlo.dot_general.name]
    assert hlo.dot_general.work.operations(dot) == 2 * 2 * 8 * 4 * 6
    images = EXAMPLES[hlo.convolution.name]
    assert hlo.convolution.work.operations(images) == 2 * (8 * 16 * 16 * 6) * (3 * 3 * 4)
    assert hlo.reshape.work.operations(EXAMPLES[hlo.reshape.name]) == 0
    assert hlo.reduce.work.operations(EXAMPLES[hlo.reduce.name]) == 32

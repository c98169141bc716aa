"""Which texts are refused: those that jaxlib's Shardy refuses, and others only where the pages say so."""

from __future__ import annotations

import pytest
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

from shardc.diagnostics import ShardcError
from shardc.frontend.mlir import read


def refused_by_shardy(text: str) -> str:
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        try:
            ir.Module.parse(text).operation.verify()
        except ir.MLIRError as error:
            return str(error) or "refused"
    return ""


def refused(text: str) -> str:
    try:
        read(text, "text.mlir", dynamic=True)
    except ShardcError as error:
        return str(error)
    return ""


def assert_alike(text: str) -> None:
    theirs, ours = refused_by_shardy(text), refused(text)
    assert bool(theirs) == bool(ours), f"{text}\njaxlib: {theirs}\nshardc: {ours}"
    assert not ours or ours.startswith("text.mlir:")


PLACES = (
    "func.func @f(%0: TYPE {sdy.sharding = #sdy.sharding<WORDS>}) -> TYPE {\n  return %0 : TYPE\n}",
    "func.func @f(%0: TYPE) -> (TYPE {sdy.sharding = #sdy.sharding<WORDS>}) {\n  return %0 : TYPE\n}",
    """func.func @f(%0: TYPE) -> TYPE {
  %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<WORDS>]>} : TYPE
  return %1 : TYPE
}""",
    *(
        f"func.func @f(%0: TYPE) -> TYPE {{\n  %1 = sdy.{name} %0 <WORDS> : TYPE\n  return %1 : TYPE\n}}"
        for name in ("sharding_constraint", "reshard")
    ),
    """func.func @f(%0: TYPE) -> TYPE {
  %1 = sdy.manual_computation(%0) in_shardings=[<WORDS>] out_shardings=[<WORDS>] manual_axes={} (%2: TYPE) {
    sdy.return %2 : TYPE
  } : (TYPE) -> TYPE
  return %1 : TYPE
}""",
    """func.func @f(%0: TYPE) -> TYPE {
  %1 = sdy.named_computation<"g">(%0) in_shardings=[<WORDS>] out_shardings=[<WORDS>] (%2: TYPE) {
    sdy.return %2 : TYPE
  } : (TYPE) -> TYPE
  return %1 : TYPE
}""",
)
MESHES = """sdy.mesh @m = <["c"=2, "a"=2, "b"=8]>
sdy.mesh @one = <[], device_ids=[0]>
sdy.mesh @none = <[]>
"""
SHARDINGS = (
    *('[{"a"}, {}]', '[{"a", ?}p1, {"b"}p12]', '[{"b":(1)2}, {"b":(2)4}]', '[{"b":(2)2, "b":(1)2}, {}]'),
    *("[{}]", "[{}p1, {}]", '[{}, {"z"}]', '[{}, {"a", "a"}]', '[{"a"}, {"a"}]', '[{?, "a"}, {}]'),
    *('[{"a" ?}, {}]', '[{"a"}p-1, {}]', '[{"a"}p, {}]', "[{a}, {}]", '[{"b":(2)1}, {}]'),
    *('[{"b":(0)2}, {}]', '[{"b":(-1)2}, {}]', '[{"b":(1)8}, {}]', '[{"b":(3)2}, {}]', '[{"b":(4)4}, {}]'),
    *('[{"b":(1)2, "b":(2)2}, {}]', '[{"b":(1)4}, {"b":(2)4}]', '[{"b":(1)2}, {"b"}]'),
    *(f'[{{}}, {{}}], {word}={{"z"}}' for word in ("replicated", "unreduced", "foo")),
    *(f'[{{}}, {{"a"}}], {word}={{"a"}}' for word in ("replicated", "unreduced")),
    *(f'[{{}}, {{}}], {word}={{"a", "c"}}' for word in ("replicated", "unreduced")),
    *(f'[{{}}, {{}}], {word}={{"c", "a"}}' for word in ("replicated", "unreduced")),
    *('[{}, {}], replicated={"a", "a"}', '[{}, {}], replicated={"a"}, unreduced={"a"}'),
    *('[{}, {}], replicated={"a"}, unreduced={"b"}', '[{}, {}], replicated={"a"}, replicated={"b"}'),
    *('[{}, {}], replicated={"b":(1)2, "b":(2)2}', '[{}, {}], replicated={"b":(4)2, "b":(1)2}'),
)


@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize("sharding", SHARDINGS)
def test_shardings(sharding: str, place: int) -> None:
    text = PLACES[place].replace("WORDS", f"@m, {sharding}").replace("TYPE", "tensor<8x8xf32>")
    assert_alike(MESHES + text)


@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize(
    "words",
    [
        *(
            "@other, [{}, {}]",
            "@f, [{}, {}]",
            "@one, [{}, {}]",
            "@one, [{?}, {?}]",
            '@one, [], replicated={"a"}',
        ),
        *("@none, [{}, {?}]", "@none, []", 'mesh<["a"=2]>, [{"a"}, {}]', 'mesh<["a"=2]>, [{"b"}, {}]'),
    ],
)
def test_meshes_of_shardings(words: str, place: int) -> None:
    assert_alike(MESHES + PLACES[place].replace("WORDS", words).replace("TYPE", "tensor<8x8xf32>"))


@pytest.mark.parametrize(
    ("words", "type"),
    [
        *(
            (words, "!stablehlo.token")
            for words in ("[]", "[{}]", '[], replicated={"a"}', '[], unreduced={"a"}')
        ),
        *((words, "tensor<?x8xf32>") for words in ('[{"a"}, {}]', "[{}p1, {}]", "[{}]")),
        *((words, "tensor<f32>") for words in ("[]", "[{}]")),
        ("[]", "tensor<*xf32>"),
    ],
)
def test_types_of_arguments(words: str, type: str) -> None:
    assert_alike(MESHES + PLACES[0].replace("WORDS", f"@m, {words}").replace("TYPE", type))


IDS = ", device_ids="


@pytest.mark.parametrize(
    "mesh",
    [
        *('["a"=2, "a"=2]', '["a"=0]', '["a"=-1]', '["a"=1]', '["a"=2.0]', '["a"=2,]', "[a=2]", "[2]"),
        *(f'["a"=2]{IDS}{ids}' for ids in ("[0, 1]", "[1, 0]", "[1, 1]", "[1, 2]", "[-1, 0]", "[1]", "[]")),
        *(f"[]{IDS}{ids}" for ids in ("[5]", "[-5]", "[0, 1]")),
        *("[]", f'["a"=1]{IDS}[0]', f'["a"=1]{IDS}[5]'),
    ],
)
def test_meshes(mesh: str) -> None:
    assert_alike(
        f"sdy.mesh @m = <{mesh}>\nfunc.func @f(%0: tensor<f32>) -> tensor<f32> {{\n"
        "  return %0 : tensor<f32>\n}"
    )


RULES = (
    "([i, k], [k, j])->([i, j]) {i=8, j=4, k=2}, custom",
    "([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k} blocked_propagation={i}, custom",
    "([il, k], [k, j])->([il, j]) {i=2, j=4, k=2, l=4} permutation={i}, custom",
)


@pytest.mark.parametrize("rule", RULES)
def test_rules(rule: str) -> None:
    assert_alike(f"""func.func @f(%0: tensor<8x2xf32>, %1: tensor<2x4xf32>) -> tensor<8x4xf32> {{
  %2 = stablehlo.custom_call @g(%0, %1) {{sdy.sharding_rule = #sdy.op_sharding_rule<{rule}>}}
      : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}}""")


ADD = "%1 = stablehlo.add %0, %0 {{{}}} : T\n  return %1 : T"
BODIES = (
    ADD.format('sdy.sharding = #sdy.sharding<@m, [{"a"}]>'),
    ADD.format('sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>, <@m, [{"a"}]>]>'),
    ADD.format("sdy.sharding = #sdy.sharding_per_value<[]>"),
    ADD.format('sdy.sharding = "a"'),
    ADD.format('sdy.sharding_rule = "([i], [i])->([i])"'),
    "return {sdy.sharding = #sdy.sharding_per_value<[<@m, []>, <@m, []>]>} %0 : T",
    "stablehlo.custom_call @g(%0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value"
    "<[<@m, []>]>} : (T) -> ()\n  return %0 : T",
    'return {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>]>} %0 : T',
    '%1 = "sdy.constant"() {value = dense<1.0> : tensor<4xf32>} : () -> T\n  return %1 : T',
    '%1 = "sdy.reshard"(%0) {sharding = #sdy.sharding<@m, [{}]>} : (T) -> tensor<4xf32>\n  return %0 : T',
    '%1 = "sdy.sharding_constraint"(%0) : (T) -> T\n  return %0 : T',
    *(
        f"%1 = sdy.propagation_barrier %0 allowed_direction={way} : T\n  return %1 : T"
        for way in ("NONE", "FORWARD", "BACKWARD", "BOTH", "UP")
    ),
    "sdy.sharding_group %0 group_id=-1 : T\n  return %0 : T",
    "sdy.sharding_group %0 group_id=99999999999999999999 : T\n  return %0 : T",
)


@pytest.mark.parametrize("body", BODIES)
def test_operations(body: str) -> None:
    text = f'sdy.mesh @m = <["a"=2]>\nfunc.func @f(%0: T) -> T {{\n  {body}\n}}'
    assert_alike(text.replace("T", "tensor<8xf32>"))


@pytest.mark.parametrize(
    "attrs",
    [
        'sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}]>]>',
        'sdy.sharding = "a"',
    ],
)
def test_arguments_and_functions(attrs: str) -> None:
    mesh = 'sdy.mesh @m = <["a"=2]>\n'
    body = "{\n  return %0 : tensor<8xf32>\n}"
    assert_alike(f"{mesh}func.func @f(%0: tensor<8xf32> {{{attrs}}}) -> tensor<8xf32> {body}")
    assert_alike(f"{mesh}func.func @f(%0: tensor<8xf32>) -> tensor<8xf32> attributes {{{attrs}}} {body}")

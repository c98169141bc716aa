"""Programs made from the grammar, right and wrong, never end in anything but a module or a ShardcError."""

from __future__ import annotations

import re
from importlib.resources import files

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardc.diagnostics import ShardcError, collecting
from shardc.frontend.text import parse, print_ast, read
from shardc.frontend.text.builtins.table import BUILTINS
from tests.sampling import examples

FUZZ = settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

NAMES = st.sampled_from(
    ["x", "y", "w", "i", "b", "n", "B", "D", "data", "model", "f", "g", "None", "nope", "size"]
)
NUMBERS = st.sampled_from(
    ["0", "1", "2", "3", "-1", "4", "0.5", "1e30", "8", str(10**18), "7_0", "True", "inf"]
)
OPERATORS = st.sampled_from("+ - * / // % ** @ & | ^ << >> == < >=".split())
DTYPES = st.sampled_from(["f32", "bf16", "i32", "i8", "u8", "bool", "f64", "c64", "float"])
FUNCTIONS = st.sampled_from([*BUILTINS, "f", "g", "nope", "x"])
KEYWORDS = st.sampled_from(["axis", "keepdims", "shape", "dtype", "k", "tiled", "nope"])
TEXTS = st.sampled_from(
    ['"ij,jk->ik"', '"i->"', '"..."', '"SAME"', '"stablehlo.add"', '"stablehlo.reshape"', '""']
)


def expressions() -> st.SearchStrategy[str]:
    """Expressions of the grammar; most of them mean nothing."""
    leaves = st.one_of(NAMES, NAMES, NUMBERS, TEXTS, DTYPES, st.just("..."))
    return st.recursive(leaves, _larger, max_leaves=12)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arguments = st.lists(
        st.one_of(inner, st.tuples(KEYWORDS, inner).map("=".join)), min_size=1, max_size=3
    ).map(", ".join)
    subscript = st.one_of(
        inner, st.tuples(inner, inner).map(":".join), st.sampled_from([":", "::2", "::-1", "None"])
    )
    return st.one_of(
        st.tuples(inner, OPERATORS, inner).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        st.tuples(st.sampled_from("-+~"), inner).map("".join),
        st.tuples(FUNCTIONS, arguments).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, st.lists(subscript, min_size=1, max_size=3)).map(
            lambda t: f"({t[0]})[{', '.join(t[1])}]"
        ),
        st.lists(inner, max_size=3).map(lambda items: f"({', '.join(items)})"),
        st.tuples(inner, st.sampled_from([".T", ".shape", ".sum()", ".nope"])).map("".join),
        st.tuples(TEXTS, inner, inner).map(lambda t: f"op({t[0]}, {t[1]}, {{dimensions={t[2]}}})"),
    )


SPLITS = st.sampled_from(
    [
        "",
        "",
        "",
        "@data",
        "@model",
        "@(data, model)",
        "@?",
        "@data?",
        "@data?:p1",
        "@model:(1)2",
        "@model:(2)2",
        "@nope",
    ]
)
SIZES = st.sampled_from(["1", "2", "3", "4", "8", "B", "D", "B * 2", "B // 0", "16", "0", str(10**18)])
SUFFIXES = st.sampled_from(
    [
        "",
        "",
        "",
        " replicated",
        " replicated(model)",
        " partial(sum: model)",
        " partial(max: data)",
        " on pod",
        " on nope",
    ]
)


@st.composite
def types(draw: st.DrawFn) -> str:
    """A written type."""
    dims = draw(st.lists(st.tuples(SIZES, SPLITS).map("".join), max_size=3))
    return f"{draw(DTYPES)}[{', '.join(dims)}]{draw(SUFFIXES)}"


@st.composite
def statements(draw: st.DrawFn, indent: str = "    ") -> str:
    """A statement, a loop with one statement in it at most."""
    name, value = draw(NAMES), draw(expressions())
    match draw(st.integers(0, 5 if len(indent) < 8 else 3)):
        case 0 | 1:
            return f"{indent}{name} = {value}\n"
        case 2:
            return f"{indent}{name}: {draw(types())} = {value}\n"
        case 3:
            return f"{indent}{name}, {draw(NAMES)} = {value}\n"
        case 4:
            header = f"{indent}for {name} in {draw(expressions())} carrying {draw(NAMES)}:\n"
        case _:
            header = f"{indent}for {name} in range({draw(NUMBERS)}) carrying {draw(NAMES)}:\n"
    return header + draw(statements(indent + "    "))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program with two functions."""
    text = draw(st.sampled_from(["mesh pod[data=2, model=4]\n", "", "mesh pod[data=3]\nmesh rod[model=4]\n"]))
    text += draw(st.sampled_from(["size B = 4, D = 8\n", "size B = 2 * 3\n", ""]))
    for name in ("f", "g"):
        text += draw(st.sampled_from(["", "", "@shard_map\n", "@shard_map(axes=(data,))\n"]))
        parameters = ", ".join(
            f"{p}: {draw(types())}" for p in draw(st.lists(NAMES, max_size=3, unique=True))
        )
        result = draw(st.one_of(st.just(""), types().map(" -> {}".format)))
        text += f"def {name}({parameters}){result}:\n" + "".join(draw(st.lists(statements(), max_size=3)))
        text += f"    return {draw(expressions())}\n"
    return text


def survives(text: str) -> None:
    """Reading ends in a module that verifies, or in an error at a place of the text."""
    with collecting():
        try:
            read(text, "fuzz.shard").verify()
        except ShardcError as error:
            loc = error.diagnostic.loc
            assert 1 <= loc.line <= text.count("\n") + 1
            assert loc.col >= 1
            assert str(error)


@FUZZ
@given(programs())
def test_programs(text: str) -> None:
    survives(text)


@FUZZ
@given(expressions())
def test_expressions(expression: str) -> None:
    """Expressions over values that exist, so that more of them mean something."""
    survives(
        "mesh pod[data=2, model=4]\nsize B = 4, D = 8\n@shard_map\n"
        "def f(x: f32[4, 8], y: f32[8], w: f32[8, 8], i: i32[4, 2], b: bool[4, 8], n: i32[]) -> f32[4, 8]:\n"
        f"    return x + {expression}\n"
    )


EXAMPLES = re.findall(
    r"```shard\n(.*?)```",
    files("shardc.grammar").joinpath("README.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


@FUZZ
@given(st.data())
def test_damaged_programs(data: st.DataObject) -> None:
    """A right program with a piece cut out, doubled or replaced."""
    text = data.draw(st.sampled_from(EXAMPLES))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    middle = data.draw(
        st.sampled_from(
            ["", text[start:end] * 2, "(", ")", "]", ":", "\n", "  ", "\t", "@", '"', "é", "\0", "#"]
        )
    )
    survives(text[:start] + middle + text[end:])


@FUZZ
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    survives(text)


def test_the_tree_of_every_example_prints() -> None:
    for example in EXAMPLES:
        assert print_ast(parse(example, "f.shard")) == print_ast(parse(example, "f.shard"))

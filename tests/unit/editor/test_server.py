"""An editor session over the protocol: whole, wrong, half-written and imported programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.editor.client import Client

PROGRAM = """\
mesh pod[data=2, model=4]

size B = 32

def layer(x: f32[B, 64], a: f32[64, 64@model], b: f32[64@model, 64]):
    \"\"\"Two products.\"\"\"
    h = tanh(x @ a)
    return h @ b

def main(x: f32[B@data, 64], a: f32[64, 64@model], b: f32[64@model, 64]) -> f32[B@data, 64]:
    y = layer(x, a, b)
    return softmax(y)
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    made = Client(tmp_path_factory.mktemp("programs"))
    yield made
    made.close()


def messages(found: list[dict[str, object]]) -> list[str]:
    """Line, column, end, severity and message of diagnostics."""
    made: list[str] = []
    for one in found:
        start, end = one["range"]["start"], one["range"]["end"]  # pyright: ignore
        kind = {1: "error", 2: "warning"}[one["severity"]]  # pyright: ignore
        made.append(
            f"{start['line'] + 1}:{start['character'] + 1}-{end['character'] + 1} {kind} {one['message']}"
        )
    return made


def test_a_right_program(client: Client) -> None:
    client.open("right.shard", PROGRAM)
    assert client.diagnostics("right.shard", 1) == []
    layout = client.hover("right.shard", 7, 5)
    assert layout is not None and layout.startswith(
        "```text\nh: f32[32, 64] (right.shard:7), split [data?, model?], planned as [data, model]\n"
        "  data on dimension 0: from x (right.shard:10)"
    )
    assert layout.endswith("8 KiB in all")
    sent = client.hover("right.shard", 8, 12)
    assert sent is not None and sent.endswith(
        "This line sends 6 KiB per device:\n\n- all-reduce (sum) over model of f32[16, 64]: sends 6 KiB; "
        "y is a partial sum over model, needed whole by reduce in line 12"
    )
    assert client.hover("right.shard", 11, 9) == (
        "```shard\ndef layer(x: f32[B, 64], a: f32[64, 64@model], b: f32[64@model, 64]):\n```\n\n"
        "Two products."
    )
    assert client.hover("right.shard", 3, 6) == "```shard\nsize B = 32\n```\n\nB is 32"
    assert client.hover("right.shard", 12, 13) == (
        "```shard\nsoftmax(x, axis=-1)\n```\n\nexp(x - max x) / sum of it."
    )
    assert client.hover("right.shard", 2, 1) is None and client.hover("right.shard", 900, 7) is None
    assert client.definition("right.shard", 11, 10) == ("right.shard", 5, 5)
    assert client.definition("right.shard", 8, 12) == ("right.shard", 7, 5)
    assert client.definition("right.shard", 7, 14) == ("right.shard", 5, 11)
    assert client.definition("right.shard", 10, 18) == ("right.shard", 3, 6)
    assert client.definition("right.shard", 10, 20) == ("right.shard", 1, 10)
    assert client.definition("right.shard", 5, 43) == ("right.shard", 1, 18)
    assert client.definition("right.shard", 12, 13) is None


def test_half_written_texts(client: Client) -> None:
    """Every beginning of a program: the server lives, and completes what is being written."""
    client.open("half.shard", "")
    assert client.diagnostics("half.shard", 1) == []
    for version, end in enumerate(range(1, len(PROGRAM), 23), 2):
        client.change("half.shard", PROGRAM[:end], version)
        last = PROGRAM[:end].split("\n")
        client.words("half.shard", len(last), len(last[-1]) + 1)
        client.hover("half.shard", len(last), len(last[-1]))
    client.change("half.shard", PROGRAM[: PROGRAM.index("    return softmax")] + "    s = y @ ", 1000)
    (said,) = messages(client.diagnostics("half.shard", 1000))
    assert said.startswith("12:12-13 error expected an expression, found the end of the line\nnote:")
    words = client.words("half.shard", 12, 13)
    assert words["softmax"] == "softmax(x, axis=-1)" and words["B"] == "size B = 32"
    assert {"x", "a", "b", "y", "layer", "f32"} <= words.keys() and "h" not in words
    text = PROGRAM.replace("64@model, 64])", "64@, 64])", 1)
    client.change("half.shard", text, 1001)
    column = text.split("\n")[4].index("@,") + 2
    assert list(client.words("half.shard", 5, column)) == ["data", "model"]
    client.change("half.shard", PROGRAM.replace("f32[B, 64], a", ", a", 1), 1002)
    assert {"f32", "bf16", "i32"} <= client.words("half.shard", 5, 14).keys()


def test_all_errors_at_once(client: Client) -> None:
    text = (
        "mesh pod[data=2, model=4]\n"
        "size C = 1.5\n"
        "def half(x: f32[4]):\n"
        "    y = x + relu(\n"
        "    z = bar(x)\n"
        "    return y\n"
        "def layer(x: f32[8], a: f32[64@modl]):\n"
        "    return x\n"
        "def main(x: f32[8, 64], a: f32[64, 64]):\n"
        "    q = rsqt(x)\n"
        "    u = x @ x\n"
        "    v = u + q\n"
        "    return layer(x, a) + unknown\n"
    )
    client.open("wrong.shard", text)
    assert messages(client.diagnostics("wrong.shard", 1)) == [
        "2:10-13 error a size is a whole number from 0\n"
        "note: const names any value known while compiling: const EPS = 1e-5",
        '4:17-18 error this "(" is not closed',
        "5:9-12 error unknown function bar\nnote: did you mean var?",
        "7:32-36 error mesh pod has no axis modl\nnote: did you mean model?",
        "10:9-13 error unknown function rsqt\nnote: did you mean rsqrt?",
        "11:11-12 error f32[8, 64] @ f32[8, 64]: the contracted dimensions have sizes 64 and 8",
    ]
    client.change("wrong.shard", text.replace("rsqt", "rsqrt"), 2)
    assert len(client.diagnostics("wrong.shard", 2)) == 5


def test_warnings_and_errors_of_passes(client: Client) -> None:
    client.open("uneven.shard", "mesh ring[r=4]\ndef main(x: f32[10@r, 3]):\n    return mean(x, axis=0)\n")
    found = messages(client.diagnostics("uneven.shard", 1))
    assert len(found) == 1
    assert found[0].startswith("2:17-19 warning r (4 devices) does not divide dimension 0 of f32[10, 3]")
    wrong = (
        "mesh grid[i=4, j=2]\n@shard_map\ndef product(a: f32[8@i, 16@j], b: f32[16@j, 32]) -> f32[8@i, 32]:\n"
        "    return a @ b\n"
    )
    client.open("varies.shard", wrong)
    found = messages(client.diagnostics("varies.shard", 1))
    assert [one.partition(",")[0] for one in found] == ["4:12-13 error the result"]
    assert "note: psum over j first" in found[0]


def test_imports(client: Client) -> None:
    (client.root / "layers.shard").write_text("def norm(x, g):\n    return x * g\n", encoding="utf-8")
    main = (
        'import "layers.shard"\nfrom "layers.shard" import norm as unit\n'
        "def main(x: f32[8], g: f32[8]):\n    y = layers.norm(x, g)\n    return unit(y, g)\n"
    )
    client.open("main.shard", main)
    assert client.diagnostics("main.shard", 1) == []
    assert client.definition("main.shard", 1, 10) == ("layers.shard", 1, 1)
    assert client.definition("main.shard", 4, 17) == ("layers.shard", 1, 5)
    assert client.definition("main.shard", 5, 13) == ("layers.shard", 1, 5)
    assert client.words("main.shard", 4, 16) == {"norm": "layers.shard"}
    # the text that is open counts, not the file
    client.open("layers.shard", "def norm(x, g):\n    return x * gg\n")
    assert messages(client.diagnostics("layers.shard", 1)) == []  # it is a library: nothing calls it here
    found = client.diagnostics("main.shard", 1)
    assert messages(found)[0].startswith("1:8-22 error layers.shard:2:16: unknown name gg")
    assert found[0]["relatedInformation"][0]["location"]["uri"].endswith("layers.shard")
    client.change("layers.shard", "def norm(x, g):\n    return x - g\n", 2)
    assert client.diagnostics("main.shard", 1) == []
    client.notify("textDocument/didClose", textDocument={"uri": client.uri("layers.shard")})
    client.change("main.shard", main.replace("layers.shard", "layer.shard"), 2)
    assert "note: did you mean layers.shard?" in messages(client.diagnostics("main.shard", 2))[0]


def test_records(client: Client) -> None:
    text = (
        "record Layer:\n    'Two products.'\n    up: f32[8, 16]\n    down: f32[16, 8]\n"
        "record Model:\n    first: Layer\n    rest: Layer[3]\n"
        "def main(x: f32[4, 8], model: Model):\n    h = x @ model.first.up\n"
        "    for layer in model.rest carrying h:\n        h = h @ layer.down @ layer.up\n    return h\n"
    )
    client.open("records.shard", text)
    assert client.diagnostics("records.shard", 1) == []
    assert client.words("records.shard", 9, 25) == {"up": "up: f32[8, 16]", "down": "down: f32[16, 8]"}
    assert client.definition("records.shard", 9, 25) == ("records.shard", 3, 5)
    assert client.definition("records.shard", 8, 31) == ("records.shard", 5, 8)
    weights = client.hover("records.shard", 8, 24)
    assert weights is not None and all(f"model_{name}: " in weights for name in ("first_up", "rest_down"))
    layer = client.hover("records.shard", 10, 9)
    assert layer is not None and "layer_up: f32[8, 16]" in layer
    hover = client.hover("records.shard", 11, 9)
    assert hover is not None and "h: f32[4, 16]" in hover


def test_records_of_other_files(client: Client) -> None:
    layers = (
        "record Dense:\n    'A product.'\n    w: f32[8, 8]\n    b: f32[8]\n"
        "record Two:\n    first: Dense\n    rest: Dense[3]\n"
    )
    client.open("dense.shard", layers + "def f(x: f32[8]):\n    return x\n")
    main = (
        'from "dense.shard" import Two as Pair\nimport "dense.shard" as nn\n'
        "def main(x: f32[8], two: Pair, one: nn.Dense):\n"
        "    y = x @ one.w\n    return y @ two.first.w\n"
    )
    client.open("main.shard", main)
    assert client.diagnostics("main.shard", 1) == []
    assert client.words("main.shard", 4, 17) == {"w": "w: f32[8, 8]", "b": "b: f32[8]"}
    assert client.words("main.shard", 5, 20) == {"first": "first: Dense", "rest": "rest: Dense[3]"}
    assert client.words("main.shard", 5, 26) == {"w": "w: f32[8, 8]", "b": "b: f32[8]"}
    assert client.definition("main.shard", 4, 17) == ("dense.shard", 3, 5)
    assert client.definition("main.shard", 5, 21) == ("dense.shard", 6, 5)
    field = client.hover("main.shard", 4, 17)
    assert field is not None and "w: f32[8, 8]" in field
    loops = main.replace(
        "    return", "    for i, layer in enumerate(two.rest) carrying y:\n        y = layer.\n    return"
    )
    client.change("main.shard", loops, 2)
    assert client.words("main.shard", 6, 19) == {"w": "w: f32[8, 8]", "b": "b: f32[8]"}
    made = main.replace("    return", "    own = nn.Dense(one.w, x)\n    y = own.\n    return")
    client.change("main.shard", made, 3)
    assert client.words("main.shard", 6, 13) == {"w": "w: f32[8, 8]", "b": "b: f32[8]"}
    client.change("main.shard", main, 4)
    record = client.hover("main.shard", 3, 41)
    assert record is not None and "A product." in record


def test_unicode_tabs_and_line_ends(client: Client) -> None:
    """Columns of the protocol count UTF-16."""
    text = 'def main(x: f32[4]):\r\n    assert 2 > 1, "😀ü\u2028"  # 😀\r\n    return x + yy\r\n'
    client.open("unicode.shard", text)
    assert messages(client.diagnostics("unicode.shard", 1)) == ["3:16-18 error unknown name yy"]
    client.change("unicode.shard", 'def main(x: f32[4]):\n    y = einsum("😀", zz)\n    return x\n', 2)
    assert [one.split()[0] for one in messages(client.diagnostics("unicode.shard", 2))] == ["2:22-24"]
    client.change("unicode.shard", "def main(x: f32[4]):\n\ty = relu(x)\n\treturn yy\n", 3)
    assert messages(client.diagnostics("unicode.shard", 3)) == [
        "2:1-2 error this line has a tab\nnote: indent and align with spaces",
        "3:9-11 error unknown name yy\nnote: did you mean y?",
    ]


def test_formatting(client: Client) -> None:
    untidy = "size B=3\r\ndef main(x:f32[B]):\r\n  y = x\r\n  return y*2"
    client.open("untidy.shard", untidy)
    assert client.formatted("untidy.shard", untidy) == (
        "size B = 3\r\n\r\ndef main(x: f32[B]):\r\n    y = x\r\n    return y * 2\r\n"
    )
    client.change("untidy.shard", "size B=", 2)
    assert client.formatted("untidy.shard", "size B=") == "size B="


def test_a_newer_version_is_what_counts(client: Client) -> None:
    """Many changes at once: what is published last is of the last one."""
    client.open("many.shard", PROGRAM)
    for version in range(2, 30):
        client.change("many.shard", PROGRAM.replace("softmax(y)", f"softmax(y{version})"), version)
    found = messages(client.diagnostics("many.shard", 29))
    assert [one.partition("\n")[0] for one in found] == ["12:20-23 error unknown name y29"]


def test_unknown_texts(client: Client) -> None:
    assert client.hover("nowhere.shard", 1, 1) is None
    assert client.words("nowhere.shard", 1, 1) == {}
    assert client.definition("nowhere.shard", 1, 1) is None

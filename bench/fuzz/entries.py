"""What is mutated, and the command that reads it.

An entry makes from a random number generator the bytes of one file and the words of one command; `{}` in
those stands for the file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from msgspec import Struct
from onnx import TensorProto, helper, numpy_helper

from bench.fuzz.mutate import mutant, mutant_of_bytes
from shardc.cli import layout, opt
from shardc.cli import shardc as compiler
from shardc.cli.opt import ALL_PASSES
from shardc.proof import check

ROOT = Path(__file__).parents[2]
LONGEST = 6000
"""Characters of a text that is mutated."""

Main = Callable[[Sequence[str]], int]


class Trial(Struct, frozen=True):
    """One mutant: the file's ending and content, the command and its words."""

    suffix: str
    data: bytes
    main: Main
    words: tuple[str, ...]


@cache
def _texts(*patterns: str) -> tuple[str, ...]:
    """The texts of this repository whose paths match, and are short; parts of split files are texts."""
    found: dict[str, None] = {}
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            for part in re.split(r"^// -----\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
                if part.strip() and len(part) <= LONGEST:
                    found[part] = None
    return tuple(found)


def _programs() -> tuple[str, ...]:
    return _texts("tests/e2e/programs/*.shard", "tests/lit/**/*.shard", "examples/*/*.shard")


def _modules() -> tuple[str, ...]:
    return _texts("tests/lit/**/*.mlir")


_ENDS = (
    ("--emit", "numpy"),
    ("--emit", "jax"),
    ("--emit", "shard"),
    ("--cost", "--tries", "0"),
    ("--explain",),
)


def _program(random: Random) -> Trial:
    texts = _programs()
    data = mutant(random, random.choice(texts), texts)
    return Trial(".shard", data, compiler.main, ("{}", *random.choice(_ENDS)))


def _module(random: Random) -> Trial:
    texts = _modules()
    data = mutant(random, random.choice(texts), texts)
    return Trial(".mlir", data, compiler.main, ("{}", *random.choice(_ENDS)))


def _pipeline(random: Random) -> Trial:
    """One to four passes in any order on a module, which is a mutant every second time."""
    texts, names = _modules(), sorted(ALL_PASSES)
    text = random.choice(texts)
    data = mutant(random, text, texts) if random.random() < 0.5 else text.encode()
    passes = ",".join(random.choice(names) for _ in range(random.randrange(1, 5)))
    if random.random() < 0.3:
        passes = mutant(random, passes, names).decode("utf-8", "replace")
    return Trial(".mlir", data, opt.main, ("{}", "-p", passes.replace("\0", "")))


LAYOUTS: tuple[tuple[str, ...], ...] = (
    ("mindspore", "--device-matrix", "2,1,2,2,1", "--alias", "a,b,c,d,e", "--tensor-map", "b,d,e,c,a"),
    ("mindspore", "--strategy", "2,1,2,2,1", "--devices", "8"),
    ("jax", "--mesh", "x=2,y=4", "--spec", "P('x', None, ('y',))", "--to", "all"),
    (
        "jax",
        "--mesh",
        "x=4,y=2",
        "--device-order",
        "0,1,4,5,6,2,3,7",
        "--spec",
        "P('x', 'y')",
        "--processes",
        "4",
    ),
    ("sdy", "--mesh", "x=2,y=4", "--spec", '<@mesh, [{"x"}, {"y":(1)2}]>', "--to", "all"),
    ("onnx", "--spec", "{device: [0, 0, 1], sharded_dim: [{axis: 0, num_shards: 3}]}"),
    ("hlo", "--spec", "{devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}"),
    ("sbp", "--mesh", "[[0, 1, 2, 3], [4, 5, 6, 7]]", "--spec", "(P, S(0))", "--to", "all"),
    ("dtensor", "--mesh", "x=2,y=4", "--spec", "[Shard(0), Partial()]", "--to", "all"),
    ("signatures", "expand", "--sizes", "2,4,3,4,2"),
    ("signatures", "repeat", "--sizes", "2,1"),
)
"""Commands of shardc-layout, to which a shape is added."""

_SHAPES = ("8,8", "1,2,1,2,2", "4,3", "()", "8", "0,4", "7,5,3")


def _layout(random: Random) -> Trial:
    words = [*random.choice(LAYOUTS), "--shape", random.choice(_SHAPES)]
    place = random.randrange(1, len(words))
    values = [word for command in LAYOUTS for word in command]
    words[place] = mutant(random, words[place], values).decode("utf-8", "replace").replace("\0", "")
    return Trial(".txt", b"", layout.main, tuple(words))


def _machine(random: Random) -> Trial:
    texts = _texts("shardc/planning/machines/*.toml")
    data = mutant(random, random.choice(texts), texts)
    program = str(ROOT / "examples" / "matmul_basic" / "matmul_basic.shard")
    return Trial(".toml", data, compiler.main, (program, "--cost", "--tries", "0", "--machine", "{}"))


@cache
def _archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, x=np.ones((128, 256), np.float32), w=np.ones((256, 512), np.float32))
    return file.getvalue()[:4096] + file.getvalue()[-1024:]


def _arrays(random: Random) -> Trial:
    program = str(ROOT / "examples" / "matmul_basic" / "matmul_basic.shard")
    return Trial(
        ".npz", mutant_of_bytes(random, _archive()), compiler.main, (program, "--run", "--inputs", "{}")
    )


@cache
def _model() -> bytes:
    """A small ONNX model: two products, a loop-free shape computation, a softmax."""
    weights = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w"], ["g"], transB=1, alpha=0.5),
        helper.make_node("Reshape", ["g", "shape"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2, 16])],
        [
            numpy_helper.from_array(weights, "w"),
            numpy_helper.from_array(np.array([2, 2, -1], np.int64), "shape"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=11)
    return made.SerializeToString()


def _onnx(random: Random) -> Trial:
    words = ("{}", "--mesh", "pod[data=2, model=2]", "--shard", "x=P('data')", *random.choice(_ENDS[:4]))
    return Trial(".onnx", mutant_of_bytes(random, _model()), compiler.main, words)


def _certificate(random: Random) -> Trial:
    """A certificate that is a mutant, or a sound one with a mutant of a program."""
    files = [_PROVED / name for name in ("whole.mlir", "local.mlir", "proof.json")]
    place = random.randrange(len(files)) if random.random() < 0.3 else 2
    text = files[place].read_text(encoding="utf-8")
    words = [str(file) for file in files]
    words[place] = "{}"
    return Trial(files[place].suffix, mutant(random, text, [text]), check.main, tuple(words))


_PROVED = Path(__file__).parent / "proved"
"""What `shardc --prove` wrote for examples/matmul_basic, and both programs."""

ENTRIES: dict[str, Callable[[Random], Trial]] = {
    "program": _program,
    "module": _module,
    "pipeline": _pipeline,
    "layout": _layout,
    "machine": _machine,
    "arrays": _arrays,
    "onnx": _onnx,
    "certificate": _certificate,
}
"""Entry point -> what makes a trial of it."""

SHARES = {
    "program": 32,
    "module": 32,
    "pipeline": 14,
    "layout": 8,
    "machine": 3,
    "arrays": 3,
    "onnx": 4,
    "certificate": 4,
}
"""Of a hundred trials, how many go to each."""


def sound() -> list[Trial]:
    """Trials of inputs as they are, which together import everything."""
    words = [(compiler.main, ("{}", *end)) for end in _ENDS] + [
        (opt.main, ("{}", "-p", ",".join(ALL_PASSES)))
    ]
    trials = [Trial(".mlir", _modules()[0].encode(), main, command) for main, command in words]
    trials += [Trial(".shard", _programs()[0].encode(), compiler.main, ("{}", *end)) for end in _ENDS]
    machine = ROOT / "shardc" / "planning" / "machines" / "laptop.toml"
    trials += [Trial(".toml", machine.read_bytes(), compiler.main, _machine(Random(0)).words)]
    trials += [Trial(".npz", _archive(), compiler.main, _arrays(Random(0)).words)]
    trials += [Trial(".onnx", _model(), compiler.main, _onnx(Random(0)).words)]
    proved = (str(_PROVED / "whole.mlir"), str(_PROVED / "local.mlir"), "{}")
    trials += [Trial(".json", (_PROVED / "proof.json").read_bytes(), check.main, proved)]
    return trials + [Trial(".txt", b"", layout.main, (*words, "--shape", "8,8")) for words in LAYOUTS]


def trial(seed: int) -> tuple[str, Trial]:
    """The entry and the trial of one seed; the same for equal seeds of one state of the repository."""
    random = Random(seed)
    entry = random.choices(list(SHARES), list(SHARES.values()))[0]
    return entry, ENTRIES[entry](random)

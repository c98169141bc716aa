"""What each device runs as XLA's partitioner divides a program: StableHLO text, kept from run to run.

Compiling takes XLA most of the time, and the text is the same whatever machine it is then priced on. Texts
are under bench/results/xla, which git does not have; a file's name has a digest of all that it comes from.

XLA's own conversion to StableHLO writes groups of devices as axes of a mesh and leaves out in which order the
devices are on it: `mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'a'}` becomes axis `a` of a mesh of 4 by 2,
which are other groups over other links. Groups are taken from the text of the HLO, by the channel's number.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from hashlib import sha256
from importlib import import_module
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.suites import lowered
from shardc.layout import Axis, Mesh
from shardc.layout.groups import group_of, position_over

KEPT = Path(__file__).parent / "results" / "xla"
DUMPED = Path(tempfile.gettempdir()) / f"shardc-xla-{os.getpid()}"
FLAGS = (
    f"--xla_force_host_platform_device_count=16 --xla_dump_to={DUMPED} "
    "--xla_dump_hlo_pass_re=spmd-partitioning --xla_dump_hlo_as_proto"
)
"""What XLA_FLAGS must have before JAX starts."""

VERSION = 1
"""Of what is kept: of this module's own changes to XLA's text."""

LACKING = {
    re.compile(r"= mhlo\.copy (\S+)(?: \{.*\})? :"): r"= stablehlo.optimization_barrier \1 :",
    re.compile(r"= mhlo\.topk\("): "= chlo.top_k(",
    re.compile(r"= mhlo\.erf (\S+)(?: \{.*\})? : (.*)"): r"= chlo.erf \1 : \2 -> \2",
}
"""Operations of HLO that StableHLO lacks, and those that are the same: a copy is, but for the memory, and its
attributes say how that is laid out."""

Groups = tuple[tuple[int, ...], ...]

_CHANNEL = re.compile(r"channel_id=(\d+), replica_groups=(.*?), (?:use_global|dimensions|to_apply|metadata)")
_LISTED = re.compile(r"\{\{.*\}\}")
_IOTA = re.compile(r"(\[[\d,]+\])<=(\[[\d,]+\](?:T\([\d,]+\))?)")
_AXES = re.compile(r"mesh\[(?P<mesh>.*?)\](?:, device_ids=\((?P<ids>.*?)\))? \{(?P<over>.*)\}")
_ORDER = re.compile(r"\[([\d,]+)\](?:T\(([\d,]+)\))?")
_AXIS = re.compile(r"'(\w+)'(?::\((\d+)\)(\d+))?")
_SIZE = re.compile(r"'(\w+)'=(\d+)")
_TENSOR = r"tensor<(?:[^<>]|<[^<>]*>)*>"
_TUPLE = re.compile(
    r"(?P<tuple>%\w+) = (?P<call>stablehlo\.custom_call .*) -> "
    rf"tuple<(?P<types>{_TENSOR}(?:, {_TENSOR})*)>"
)
_ELEMENT = re.compile(
    r" *(?P<element>%\w+) = stablehlo\.get_tuple_element (?P<tuple>%\w+)\[(?P<number>\d+)\]"
    r"(?: \{.*\})? : .*\n"
)
_NAME = re.compile(r"%\w+")
_DEFINED = re.compile(r" *(%\w+)(?::\d+)? = ")
_CONVERTED = re.compile(
    r"(?P<before>channel_handle<handle = (?P<channel>\d+),.*?replica_groups = )"
    r"(?:dense<[^>]*> : tensor<[\dx]*xi64>|(?P<axes>#stablehlo\.replica_group_mesh_axes<[^\]]*\]>))"
)


def text(suite: ModuleType, program: Any) -> str:
    """The text of a program of a suite, compiled if it is not kept. JAX must have started with FLAGS."""
    jax = import_module("jax")
    made_of = "\n".join(
        (jax.__version__, FLAGS.replace(str(DUMPED), ""), str(VERSION), lowered(suite, program))
    )
    file = KEPT / f"{program.name}-{sha256(made_of.encode()).hexdigest()[:16]}.mlir"
    if not file.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        whole = file.with_suffix(f".{os.getpid()}")
        whole.write_text(_compiled(suite, program), "utf-8")
        whole.replace(file)
    found = file.read_text("utf-8")
    return readable(found)


def readable(converted: str) -> str:
    """StableHLO without what LACKING has, and without tuples: a call that gives one gives its elements."""
    for lacking, same in LACKING.items():
        converted = lacking.sub(same, converted)
    return "".join(map(_without_tuples, re.split(r"(?=func\.func )", converted)))


def _without_tuples(function: str) -> str:
    """Line by line, for bodies side by side give one name to several values."""
    counts: dict[str, int] = {}
    elements: dict[str, str] = {}
    lines: list[str] = []
    for line in function.splitlines(keepends=True):
        element, tuples = _ELEMENT.fullmatch(line), _TUPLE.search(line)
        if element and element["tuple"] in counts:
            elements[element["element"]] = f"{element['tuple']}#{element['number']}"
            continue
        if defined := _DEFINED.match(line):
            elements.pop(defined[1], None)
            counts.pop(defined[1], None)
        if tuples:
            count = counts[tuples["tuple"]] = tuples["types"].count("tensor<")
            line = _TUPLE.sub(rf"\g<tuple>:{count} = \g<call> -> (\g<types>)", line)
        lines.append(_NAME.sub(lambda match: elements.get(match[0], match[0]), line))
    return "".join(lines)


def _compiled(suite: ModuleType, program: Any) -> str:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.xla_client import XlaComputation

    portable = import_module("jaxlib._jax").mlir  # private: JAX has no other way
    shutil.rmtree(DUMPED, ignore_errors=True)
    suite.jitted(program, suite.make_mesh(program)).lower(*suite.avals(program)).compile()
    (file,) = (path for path in DUMPED.glob("*.pb") if ".after_spmd-partitioning." in path.name)
    module = _module(file.read_bytes())
    shutil.rmtree(DUMPED)
    with mlir.make_ir_context():
        converted = str(ir.Module.parse(portable.hlo_to_stablehlo(module)))
    return mended(converted, XlaComputation(module).as_hlo_text())


def _module(proto: bytes) -> bytes:
    """The first field of an HloProto, its HloModuleProto: a tag, its length, seven bits a byte, itself."""
    length, shift, at = 0, 0, 1
    while True:
        byte, at = proto[at], at + 1
        length, shift = length | (byte & 127) << shift, shift + 7
        if byte < 128:
            return proto[at : at + length]


def mended(converted: str, hlo: str) -> str:
    """StableHLO with the groups of the HLO that it was converted from. ValueError for one without a group.

    Collectives of per-device code have one channel together, and groups that are written out in both.
    """
    known: dict[str, set[Groups]] = {}
    for channel, written in _CHANNEL.findall(hlo):
        known.setdefault(channel, set()).add(groups(written))

    def written_out(match: re.Match[str]) -> str:
        found = known.get(match["channel"], set())
        if len(found) > 1 and match["axes"] is None:
            return match[0]
        if len(found) != 1:
            which = f"two groups: {sorted(found)}" if found else "no group in the HLO"
            raise ValueError(f"channel {match['channel']} has {which}")
        (rows,) = found
        return (
            f"{match['before']}dense<{[list(row) for row in rows]}> : tensor<{len(rows)}x{len(rows[0])}xi64>"
        )

    found = _CONVERTED.sub(written_out, converted)
    if "replica_group_mesh_axes" in found:
        raise ValueError("there is a collective of which the HLO says no groups")
    return found


def groups(written: str) -> Groups:
    """The devices of each group, as HLO writes them: one by one, as an iota, or as axes of a mesh."""
    if _LISTED.fullmatch(written):
        rows = [[int(n) for n in row.split(",")] for row in re.findall(r"\{([\d,]+)\}", written)]
        return tuple(map(tuple, rows))
    if match := _IOTA.fullmatch(written):
        return _rows(_ordered(match[2]).reshape(_numbers(match[1][1:-1])))
    match = _AXES.fullmatch(written)
    if match is None:
        raise ValueError(f"cannot read the groups {written!r}")
    sizes = {name: int(size) for name, size in _SIZE.findall(match["mesh"])}
    devices = _ordered(match["ids"] or f"[{prod(sizes.values())}]")
    over = tuple(
        Axis(name, int(size or sizes[name]), int(pre or 1))
        for name, pre, size in _AXIS.findall(match["over"])
    )
    mesh = Mesh("written", tuple(sizes.items()))
    group, place = group_of(mesh, over), position_over(mesh, over)
    order = np.lexsort((place, group))  # by group, and in it by position over the axes
    return _rows(devices[order].reshape(-1, prod(axis.size for axis in over)))


def _ordered(written: str) -> NDArray[np.int64]:
    """The devices that `[2,4]T(1,0)` lists: counted, in that shape, transposed."""
    match = _ORDER.fullmatch(written)
    if match is None:
        raise ValueError(f"cannot read the devices {written!r}")
    shape = _numbers(match[1])
    order = _numbers(match[2]) if match[2] else range(len(shape))
    return np.arange(prod(shape)).reshape(shape).transpose(list(order)).reshape(-1)


def _numbers(written: str) -> list[int]:
    return [int(part) for part in written.split(",")]


def _rows(array: NDArray[np.int64]) -> Groups:
    return tuple(tuple(int(number) for number in row) for row in array)

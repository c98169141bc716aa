"""What is known of the compiled program: the layout of each tensor and why, and what each line sends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import PurePath

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from shardc.analysis import per_device
from shardc.analysis.text import readable
from shardc.compilation import by_pass
from shardc.diagnostics import Diagnostic, ShardcError, collecting, visible
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.explain.program import explainer_of
from shardc.explain.records import ValueReport
from shardc.explain.why import Explainer
from shardc.options import Options
from shardc.passes.pipeline import STAGES, run_to
from shardc.report.traffic import Collective, collectives


class Compiled(Struct, frozen=True):
    """What the passes say of a program, and the collectives of what they make of it."""

    diagnostics: tuple[Diagnostic, ...]
    collectives: tuple[Collective, ...]


def compiled(module: ModuleOp, is_stale: Callable[[], bool]) -> Compiled | None:
    """Take a module through the passes; None if nobody wants to know any more, asked between stages."""
    stages = list(STAGES)
    module = module.clone()
    with collecting() as said:
        try:
            for before, stage in pairwise(stages):
                if is_stale():
                    return None
                run_to(make_context(), module, stage, before, by_pass(Options()))
            found = collectives(per_device.read(snapshot(module).graph))
        except ShardcError as error:
            return Compiled((*said, error.diagnostic), ())
    return Compiled(tuple(said), found)


def explainer(module: ModuleOp) -> Explainer | None:
    """What answers why a tensor is split as it is; None for a program that is wrong."""
    with collecting():
        try:
            return explainer_of(module.clone())[0]
        except ShardcError:
            return None


def reports(of: Explainer, name: str, file: str, first: int, last: int) -> list[ValueReport]:
    """What is known of the tensors of a name that these lines of a file make, each layout once.

    Those in a record or a tuple called `layer` are layer_up, layer_0.
    """
    places = [value.loc for value in of.graph.values]
    here = {loc.name for loc in places if loc.file == file and first <= loc.line <= last and loc.name}
    inside = sorted(one for one in here if one.startswith(f"{name}_"))
    found: dict[tuple[str, str, str, str | None], ValueReport] = {}
    for each in [name] if name in here else inside:
        for report in of.named(each):
            path, _, line = report.where.rpartition(":")
            if path == file and line.isdigit() and first <= int(line) <= last and report.name == each:
                key = (each, report.type, report.sharding, report.layout)
                found.setdefault(key, report)
    return list(found.values())


def sent(found: tuple[Collective, ...], file: str, first: int, last: int) -> list[Collective]:
    """The collectives of these lines of a file."""
    wanted = {f"{visible(PurePath(file).name)}:{line}" for line in range(first, last + 1)}
    return [one for one in found if one.where in wanted]


def sent_text(one: Collective) -> str:
    """A collective in a line: what it sends, how often, over what, and why."""
    times = "" if one.times == 1 else f", {one.times} times"
    kind = f" ({one.kind})" if one.kind else ""
    return (
        f"{one.op}{kind} over {', '.join(one.axes)} of {one.operand}: sends {readable(one.bytes)}{times}; "
        f"{one.reason}"
    )

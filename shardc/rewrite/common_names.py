"""What equal layers call alike: the words in which their names end, without those in which they differ.

    d_MixerBlock_0_Dense_2_kernel, d_MixerBlock_1_Dense_2_kernel    ->  d_Dense_2_kernel
    params['layers'][0]['w'], params['layers'][1]['w']              ->  w
    w1, w2                                                          ->  w
    gate, gate                                                      ->  gate

Names that end alike in nothing but digits are called by what stands before these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from xdsl.ir import BlockArgument, Operation, SSAValue

from shardc.dialects.locations import locate, location_of
from shardc.ops import hlo, spmd

_NAME = re.compile(r"[A-Za-z_]\w*(\[\d+\]|\['[^'\]/()]*'\]|\.\w+)*", re.ASCII)
_DERIVATIVE = "d_"
_PASSED = frozenset(
    definition.name
    for definition in (
        hlo.reshape,
        spmd.all_gather,
        spmd.all_reduce,
        spmd.all_to_all,
        spmd.reduce_scatter,
        spmd.vary,
    )
)
"""What gives its operand in another layout or shape."""


def name_of(value: SSAValue) -> str | None:
    """The name that a value has, as one word; None where it has none.

    What gives another value's elements in another layout or shape is called like that, unless it has a name.
    """
    name, owner = _own_name(value), value.owner
    while name is None and isinstance(owner, Operation) and owner.name in _PASSED:
        value = owner.operands[0]
        name, owner = _own_name(value), value.owner
    return name


def _own_name(value: SSAValue) -> str | None:
    owner, name = value.owner, None
    if isinstance(value, BlockArgument):
        name = location_of(value.location).name
    elif isinstance(owner, Operation) and len(owner.results) == 1:
        name = location_of(owner.location).name
    name = name or value.name_hint
    return "_".join(_words(name)) or None if name and _NAME.fullmatch(name) else None


def common_name(names: Sequence[str | None]) -> str | None:
    """One name for what has these names; None where they have nothing in common, or one has none."""
    known = [name for name in names if name is not None]
    if len(known) < len(names):
        return None
    if len(set(known)) == 1:
        return known[0]
    rows = [_words(name) for name in known]
    ends = zip(*(reversed(row) for row in rows), strict=False)
    words = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, ends)][::-1]
    while words and words[0][0].isdigit():
        words.pop(0)
    stems = {re.sub(r"\d+$", "", row[-1]) for row in rows if row}
    found = "_".join(words) or (stems.pop() if len(stems) == 1 else "")
    derivative = all(name.startswith(_DERIVATIVE) for name in known) and not found.startswith(_DERIVATIVE)
    return (_DERIVATIVE * derivative + found) if found else None


def share_names(alike: Sequence[Sequence[Operation]]) -> None:
    """Give operations that take each other's place in a function, one of each sequence, their common name."""
    for ops in zip(*alike, strict=True):
        names = [name_of(op.results[0]) for op in ops if len(op.results) == 1]
        if len(set(names)) > 1:
            common = common_name(names)
            for op in ops:
                locate(op, location_of(op.location).named(common))
                op.results[0].name_hint = common


def _words(name: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9]+", name)

"""What a folded module says of the layers that it lacks, as its attribute shardc.folded.

It has an entry for each stack that layers were taken out of, the first one first. Each says what the program
before it was, so the layers of the last stack are put back first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, json
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardc.dialects.arrays import is_array
from shardc.dialects.convert import attribute_of, python_of
from shardc.dialects.shardings import PARTIAL, SHARDING
from shardc.rewrite.folding.places import FOLDED

Border = tuple[int, int]
"""Of an argument or result of the whole program its number in the folded one, and -1; of one that the folded
program lacks the number of the one of layer `cut` - 1 that is like it, and its own layer."""


class OwnFunction(Struct, frozen=True):
    """The function that a layer has in a slot, which is another in other layers."""

    slot: tuple[int, ...]
    layer: int
    name: str


class Where(Struct, frozen=True):
    """The operation of this name of a layer, and which operand of it: -1 for what it makes."""

    slot: tuple[int, ...]
    layer: int
    name: str
    operand: int = -1


class Input(Struct, frozen=True):
    """What a part reads: an argument of the whole program, or what the operations `ways` read, which is
    `made` by one of a layer, or by one of this `name` that is of none."""

    argument: int = -1
    ways: tuple[Where, ...] = ()
    made: Where | None = None
    name: str = ""


class OwnPart(Struct, frozen=True):
    """What layers have for themselves (parts.py): its function, as it is kept, what its arguments are, the
    values that give way to its results, and what reads each of those."""

    function: dict[str, Any]
    arguments: tuple[Input, ...]
    results: tuple[Where, ...]
    readers: tuple[tuple[Where, ...], ...]

    @property
    def inside(self) -> list[Where]:
        """The operations that must be there, not in a function."""
        return [*self.results, *(way for each in self.arguments for way in each.ways)]

    @property
    def asked(self) -> list[Where]:
        """All operations by which the part is said."""
        made = (each.made for each in self.arguments if each.made is not None)
        return [*self.inside, *made, *(where for some in self.readers for where in some)]


class Unlike(Exception):
    """The layers around the cut differ, so nobody knows what those between them are."""


class Folded(Struct, frozen=True):
    """Between layers `cut` - 1 and `cut` of a stack of a folded program there are `removed` more.

    `stack` is its number, and a layer reads from those up to `reach` away; the whole program is the one that
    these layers were taken out of. `arguments` and `results` are the whole program's, `places` those of the
    folded program's arguments (the slot, then the layer; empty where it belongs to none). `function` has the
    properties of the whole program's function, `locations` and `names` are those of its arguments. `numbers`
    are, for each slot of constants that layers have for themselves (numbers.py), those of layer `cut` - 1 and
    of all up to the next that is there; `functions` those that layers which are missing have for themselves,
    and `part` what else such have (parts.py).
    """

    stack: int
    reach: int
    cut: int
    removed: int
    arguments: tuple[Border, ...]
    results: tuple[Border, ...]
    places: tuple[tuple[int, ...], ...]
    function: DictionaryAttr
    locations: ArrayAttr[Attribute]
    names: ArrayAttr[StringAttr]
    numbers: ArrayAttr[Attribute]
    functions: tuple[OwnFunction, ...] = ()
    part: OwnPart | None = None

    def written(self) -> DictionaryAttr:
        """What is noted on the module."""
        numbers = {
            "reach": self.reach,
            "cut": self.cut,
            "removed": self.removed,
            "arguments": tuple(number for border in self.arguments for number in border),
            "results": tuple(number for border in self.results for number in border),
        }
        return DictionaryAttr(
            {
                **{name: attribute_of(name, value) for name, value in numbers.items()},
                "places": ArrayAttr([attribute_of("places", place) for place in self.places]),
                "function": self.function,
                "locations": self.locations,
                "names": self.names,
                **({"numbers": self.numbers} if len(self.numbers) else {}),
                **({"functions": written_functions(self.functions)} if self.functions else {}),
                **({"part": StringAttr(json.encode(self.part).decode())} if self.part else {}),
            }
        )


def written_functions(functions: Sequence[OwnFunction]) -> ArrayAttr[Attribute]:
    """What is noted of functions that layers have for themselves."""
    places = (attribute_of("place", (*each.slot, each.layer)) for each in functions)
    names = (StringAttr(each.name) for each in functions)
    return ArrayAttr(ArrayAttr(pair) for pair in zip(places, names, strict=True))


def note(module: ModuleOp, stacks: Sequence[Folded]) -> None:
    """Say of a module which layers it lacks."""
    module.attributes[FOLDED] = ArrayAttr([each.written() for each in stacks])


def folded(module: ModuleOp) -> list[Folded]:
    """What a module says of the layers that it lacks, stack by stack; empty if it lacks none."""
    attr = module.attributes.get(FOLDED)
    each = cast("ArrayAttr[DictionaryAttr]", attr) if attr else ()
    return [_read(stack, notes.data) for stack, notes in enumerate(each)]


def has_own(module: ModuleOp) -> bool:
    """Whether some layer that a folded module is without has functions or a part of its own."""
    notes = cast("ArrayAttr[DictionaryAttr]", module.attributes.get(FOLDED, ArrayAttr[Attribute]([])))
    return any(name in each.data for each in notes for name in ("functions", "part"))


_READ = ("reach", "cut", "removed", "arguments", "results", "places")


def _read(stack: int, held: Mapping[str, Attribute]) -> Folded:
    read: Any = {name: python_of(held[name]) for name in _READ}
    arguments, results = (
        tuple(zip(read[name][::2], read[name][1::2], strict=True)) for name in ("arguments", "results")
    )
    return Folded(
        stack,
        read["reach"],
        read["cut"],
        read["removed"],
        arguments,
        results,
        read["places"],
        cast("DictionaryAttr", held["function"]),
        cast("ArrayAttr[Attribute]", held["locations"]),
        cast("ArrayAttr[StringAttr]", held["names"]),
        cast("ArrayAttr[Attribute]", held.get("numbers", ArrayAttr[Attribute]([]))),
        _read_functions(held.get("functions", ArrayAttr[Attribute]([]))),
        json.decode(cast("StringAttr", held["part"]).data, type=OwnPart) if "part" in held else None,
    )


def _read_functions(held: Attribute) -> tuple[OwnFunction, ...]:
    pairs = cast("ArrayAttr[ArrayAttr[Attribute]]", held)
    places = (cast("tuple[int, ...]", python_of(place)) for place, _ in pairs)
    names = (cast("StringAttr", name).data for _, name in pairs)
    return tuple(OwnFunction(p[:-1], p[-1], name) for p, name in zip(places, names, strict=True))


def entry(module: ModuleOp) -> FuncOp:
    """The function that is the program: the one that no other calls."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    return next((f for f in functions if f.sym_name.data == "main"), functions[0])


def item(held: Attribute | None, number: int) -> Mapping[str, Attribute]:
    """What a function's arg_attrs or res_attrs say of one argument or result."""
    found = held.data[number] if is_array(held) else None
    return found.data if isinstance(found, DictionaryAttr) else {}


def shardings(attrs: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Those of the attributes that say how it is sharded."""
    return {name: attr for name, attr in attrs.items() if name in (SHARDING, PARTIAL)}

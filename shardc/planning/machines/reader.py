"""Machines, described in small TOML files: what a device can do, and what connects devices.

    name = "two nodes"
    source = "where the numbers are from"
    [device]
    memory = 80e9                  # bytes
    bandwidth = 3.35e12            # bytes/s, to that memory
    turned = 1e12                  # optional: of what is read across its order; left out: in no more time
    multiplied = 1e12              # optional: of what products read and write; left out: `bandwidth`
    [device.flops]                 # operations/s by dtype, of sorts, …; `other` for those not listed
    bf16 = 9.89e14
    sort = 1e12
    other = 6.7e13
    [[links]]                      # the innermost first
    name = "NVLink"
    kind = "ring"                  # ring, torus or shared: links.py has their formulas
    devices = 8                    # so many consecutive devices are on one; without it, all
    bandwidth = 4.5e11             # bytes/s
    latency = 2e-6                 # seconds
    [axes]                         # optional: the link of a mesh axis, whatever devices it has
    model = "NVLink"

A torus also has `wraparound`: axes whose size is a multiple of it are rings, others are lines. A shared link
may have `[links.each.all-gather]` with the bandwidth and latency of that collective, and `strided`: its
bandwidth where blocks are columns (left out: the same).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from shardc.diagnostics import ShardcError, register_source
from shardc.graph import DTYPES, Location
from shardc.ops import definitions
from shardc.ops.definition import Rate
from shardc.planning.machines.machine import KINDS, Link, Machine, Own

TITLES = tuple(str(definition.title) for definition in definitions() if definition.steps)
"""What collectives are called."""

MOST = 1 << 31
"""Of what is counted: devices on a link, and the like."""

_SHIPPED = Path(__file__).parent
_NUMBER = re.compile(r"\(at line (\d+), column (\d+)\)")


def shipped() -> tuple[str, ...]:
    """The names of the machines that come with shardc."""
    return tuple(sorted(file.stem for file in _SHIPPED.glob("*.toml")))


def load(name: str) -> Machine:
    """A machine by its name, or from a TOML file. ShardcError if there is none, or if the file is wrong."""
    if name in shipped():
        return read((_SHIPPED / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
    if not name.endswith(".toml"):
        known = ", ".join(shipped())
        raise ShardcError(f"there is no machine {name}", hint=f"there are {known}; or name a .toml file")
    try:
        text = Path(name).read_text("utf-8")
    except OSError as error:
        raise ShardcError(f"cannot read {name}: {(error.strerror or 'failed').lower()}") from None
    except UnicodeDecodeError:
        raise ShardcError(f"cannot read {name}: it is not UTF-8") from None
    return read(text, name)


def read(text: str, file: str) -> Machine:
    """The machine of a TOML text; ShardcError at the line that is wrong."""
    import tomllib

    register_source(file, text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _NUMBER.search(str(error))
        loc = (
            Location(file, int(place[1]), int(place[2])) if place else Location(file, text.count("\n") + 1, 1)
        )
        raise ShardcError(f"this is not TOML: {_NUMBER.sub('', str(error)).strip().lower()}", loc) from None
    return _machine(_Table(data, file, text, ""))


class _Table(Struct, frozen=True):
    """A table of the file, which can say where its keys stand. `nth` is its number among equal headers."""

    data: dict[str, Any]
    file: str
    text: str
    header: str
    nth: int = 0

    def only(self, *keys: str) -> None:
        """ShardcError at a key that means nothing here."""
        for key in self.data:
            if key not in keys:
                self.fail(key, f"{self._what(key)} means nothing here", f"the keys are {', '.join(keys)}")

    def number(self, key: str, least: float = 0, most: float = 1e30) -> float:
        """A number above `least`, and up to `most`."""
        value = self.data.get(key)
        if value is None:
            self.missing(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least < value <= most:
            self.fail(key, f"{self._what(key)} is a positive number, not {value!r}")
        return float(cast(float, value))

    def rate(self, key: str) -> float:
        """How much in a second; `inf` where that takes no time."""
        return self.number(key, most=inf)

    def seconds(self, key: str) -> float:
        """A time, which may be 0."""
        return self.number(key, least=-5e-324)

    def count(self, key: str) -> int | None:
        if key not in self.data:
            return None
        value = self.number(key)
        if value != int(value):
            self.fail(key, f"{self._what(key)} is a whole number, not {value}")
        if value > MOST:
            self.fail(key, f"{self._what(key)} is at most 2^31, not {value}")
        return int(value)

    def flag(self, key: str, otherwise: bool) -> bool:
        value = self.data.get(key, otherwise)
        if not isinstance(value, bool):
            self.fail(key, f"{self._what(key)} is true or false, not {value!r}")
        return value

    def string(self, key: str) -> str:
        if key not in self.data:
            self.missing(key)
        if not isinstance(self.data[key], str):
            self.fail(key, f"{self._what(key)} is a text, not {self.data[key]!r}")
        return self.data[key]

    def table(self, key: str, needed: bool = True) -> _Table:
        if key not in self.data and needed:
            self.missing(key)
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            self.fail(key, f"{self._what(key)} is a table, [{self._path(key)}]")
        return _Table(cast("dict[str, Any]", value), self.file, self.text, self._path(key))

    def tables(self, key: str) -> list[_Table]:
        value = self.data.get(key)
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in cast("list[object]", value)):
            self.fail(key, f"there must be one or more tables [[{key}]]")
        items = cast("list[dict[str, Any]]", value)
        return [_Table(item, self.file, self.text, key, i) for i, item in enumerate(items)]

    def missing(self, key: str) -> None:
        where = f"[{self.header}] has no {key}" if self.header else f"there is no {key}"
        raise ShardcError(where, Location(self.file, self._start() or 1, 1), "docs/cost.md lists the keys")

    def fail(self, key: str, message: str, hint: str | None = None) -> None:
        raise ShardcError(message, self.place(key), hint)

    def place(self, key: str) -> Location:
        """Where a key of this table stands; else the table."""
        lines = self.text.split("\n")
        start = self._start()
        for number in range(start, len(lines)):
            line = lines[number]
            header = line.strip().strip("[]")
            if re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
                return Location(self.file, number + 1, len(line) - len(line.lstrip()) + 1)
            if line.lstrip().startswith("["):
                if header.split(" ")[0] in (key, self._path(key)):
                    return Location(self.file, number + 1, 1)
                if number > start and self.header:
                    break
        return Location(self.file, max(start, 1), 1)

    def _start(self) -> int:
        """The number of the header's line; 0 for the file's own keys."""
        if not self.header:
            return 0
        pattern = re.compile(rf"\s*\[+\s*{re.escape(self.header)}\s*\]+")
        found = [i + 1 for i, line in enumerate(self.text.split("\n")) if pattern.match(line)]
        return found[self.nth] if self.nth < len(found) else 0

    def _path(self, key: str) -> str:
        return f"{self.header}.{key}" if self.header else key

    def _what(self, key: str) -> str:
        return self._path(key)


def _unlisted(rates: Mapping[str, float]) -> dict[str, float]:
    """argmax takes elements one after the other, as cumulative sums do: their rate, where it has none."""
    return {Rate.ARGMAX: rates[Rate.SERIAL]} if Rate.SERIAL in rates else {}


def _machine(top: _Table) -> Machine:
    top.only("name", "source", "device", "links", "axes")
    device = top.table("device")
    device.only("memory", "bandwidth", "turned", "multiplied", "fuses", "flops")
    memory, bandwidth = int(device.number("memory")), device.rate("bandwidth")
    flops = device.table("flops")
    flops.only(*DTYPES, *Rate)
    rates = {rate: flops.rate(rate) for rate in flops.data}
    links = tuple(map(_link, top.tables("links")))
    _check_names(top, links)
    axes = top.table("axes", needed=False)
    chosen = {axis: axes.string(axis) for axis in axes.data}
    for axis, link in chosen.items():
        if link not in [known.name for known in links]:
            names = ", ".join(known.name for known in links)
            axes.fail(axis, f"there is no link {link}", f"the links are {names}")
    return Machine(
        name=top.string("name"),
        source=top.string("source"),
        memory=memory,
        bandwidth=bandwidth,
        flops={Rate.OTHER: flops.rate("other"), **_unlisted(rates), **rates},
        links=links,
        axes=chosen,
        turned=device.rate("turned") if "turned" in device.data else inf,
        fuses=device.flag("fuses", True),
        multiplied=device.rate("multiplied") if "multiplied" in device.data else None,
    )


def _link(table: _Table) -> Link:
    table.only("name", "kind", "devices", "bandwidth", "latency", "wraparound", "each")
    kind = table.string("kind")
    if kind not in KINDS:
        table.fail("kind", f"{kind} is no kind of link", f"the kinds are {', '.join(KINDS)}")
    if kind != "torus" and "wraparound" in table.data:
        table.fail("wraparound", f"wraparound is of a torus, not of a link of kind {kind}")
    return Link(
        table.string("name"), kind, table.number("bandwidth"), table.seconds("latency"),
        table.count("devices"), table.count("wraparound"), _each(table, kind),
    )  # fmt: skip


def _each(table: _Table, kind: str) -> tuple[Own, ...]:
    """The rates of single collectives, which a shared link may have."""
    if "each" in table.data and kind != "shared":
        table.fail("each", f"collectives have rates of their own on a shared link, not on one of kind {kind}")
    each = table.table("each", needed=False)
    each.only(*TITLES)
    found = [(title, each.table(title)) for title in each.data]
    for _, rates in found:
        rates.only("bandwidth", "latency", "strided")
    return tuple(
        Own(
            title,
            rates.number("bandwidth"),
            rates.seconds("latency"),
            rates.number("strided" if "strided" in rates.data else "bandwidth"),
        )
        for title, rates in found
    )


def _check_names(top: _Table, links: tuple[Link, ...]) -> None:
    """Links have names of their own, reach further and further, and the last reaches everything."""
    tables = top.tables("links")
    for i, link in enumerate(links):
        if link.name in [other.name for other in links[:i]]:
            tables[i].fail("name", f"two links are called {link.name}")
        last = i == len(links) - 1
        if (link.devices is None) != last:
            message = "the last link reaches all devices" if last else f"link {link.name} needs devices"
            tables[i].fail("devices", message, "links come innermost first")
        if i and link.devices and link.devices % (links[i - 1].devices or 1):
            tables[i].fail("devices", f"{link.devices} is no multiple of the link's before")

"""Machines: what a device can do, what connects devices, and how long a collective then takes.

`load(name)` is the way in: the machines that come with shardc are the TOML files in this folder (reader.py
says what is in one). Work is priced by planning/program, which knows the programs.
"""

from shardc.planning.machines.joint import Joint, joined
from shardc.planning.machines.links import Exchange, Sent, devices_of, is_strided, link_of, seconds
from shardc.planning.machines.machine import Link, Machine, Own, with_axes
from shardc.planning.machines.reader import load, read, shipped
from shardc.planning.machines.shares import Combined
from shardc.planning.machines.stages import Staged, Stages, Wanted, pieces, wanted_of

__all__ = [
    "Combined",
    "Exchange",
    "Joint",
    "Link",
    "Machine",
    "Own",
    "Sent",
    "Staged",
    "Stages",
    "Wanted",
    "devices_of",
    "is_strided",
    "joined",
    "link_of",
    "load",
    "pieces",
    "read",
    "seconds",
    "shipped",
    "wanted_of",
    "with_axes",
]

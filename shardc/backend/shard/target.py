"""The .shard language as a language to write."""

from __future__ import annotations

from shardc.backend.python.emission import Target
from shardc.backend.python.printers import Printers
from shardc.backend.shard.raw import operation
from shardc.backend.shard.spelling import spelled

SHARD = Printers(spelled)
TARGET = Target("a .shard program", "", SHARD, operation, tuples=False)

"""The operations of our own, under their own names."""

from shardc.ops.movement.join import join as join
from shardc.ops.windows.unpool import unpool as unpool

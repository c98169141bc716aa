"""Operations that nothing uses go.

As xDSL's elimination of dead code, of which this is one. There it is asked of each operation what its class
does; here once of each class.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.ir import Operation, Region
from xdsl.transforms.dead_code_elimination import LiveSet

from shardc.rewrite.equal_operations import only_gives


def remove_unused(region: Region) -> None:
    """Take out of a region, and of all bodies in it, what only gives results that nothing uses."""
    live = _Live()
    while live.changed:
        live.changed = False
        live.propagate_region_liveness(region)
    live.delete_dead(region, None)


class _Live(LiveSet):
    def propagate_op_liveness(self, op: Operation) -> None:
        if op.regions or not only_gives(type(op)):
            super().propagate_op_liveness(op)
        elif op not in self._live_ops and self._is_used(op):
            self.changed = True
            self._live_ops.add(op)

    def _is_used(self, op: Operation) -> bool:
        """Whether something that is live uses a result."""
        for result in op.results:
            use = result.first_use
            while use is not None:
                if use._operation in self._live_ops:
                    return True
                use = use._next_use
        return False

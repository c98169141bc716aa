"""The builder of source programs, which says where it stands."""

from __future__ import annotations

from xdsl.ir import Block

from shardc.frontend.text.builder import SourceBuilder


class ModelBuilder(SourceBuilder):
    """Builds the module of a model."""

    @property
    def current_block(self) -> Block:
        """The block that operations go to."""
        return self._block

"""Names that equal layers have in common."""

from __future__ import annotations

import pytest

from shardc.rewrite.common_names import common_name


@pytest.mark.parametrize(
    ("names", "common"),
    [
        (["gate", "gate"], "gate"),
        (["w1", "w2", "w10"], "w"),
        (["params_layers_0_w", "params_layers_1_w"], "w"),
        (["p_Block_0_Dense_2_kernel", "p_Block_1_Dense_2_kernel"], "Dense_2_kernel"),
        (["d_Block_0_Dense_2_kernel", "d_Block_1_Dense_2_kernel"], "d_Dense_2_kernel"),
        (["d_w1", "d_w2"], "d_w"),
        (["p_blocks_0", "p_blocks_1"], None),
        (["embedding_w", "layers_0_w"], "w"),
        (["x", "h"], None),
        (["x", None], None),
    ],
)
def test_what_names_share(names, common):
    assert common_name(names) == common

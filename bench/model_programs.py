"""Programs of the suites with larger sizes, on any number of devices, for comparing times.

Arguments have other sizes, those of a table, which stand for the same dimension wherever they stand. Blocks
then have 1 MiB and more. Four programs are not here: the functions of reshape_merge_split, rnn_train_tp and
scan_over_split_rows name sizes, and JAX places no blocks of different sizes, as uneven_batch_train has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from bench.ruler import programs

Sizes = Mapping[int, int]
"""Size of a dimension in the suite -> size here."""

_MLP = {128: 512, 512: 2048}
_SMALL_MLP = {64: 512, 128: 2048}
_LAYER = {64: 256, 128: 512, 16: 64, 512: 2048}
_EXPERTS = {32: 512, 64: 1024}
_CONTEXT = {128: 512, 16: 64}
_DECODER = {32: 512, 8: 128}

SCALED: tuple[tuple[str, str, Sizes], ...] = (
    ("bench.ruler.programs", "mlp_fwd_dp", _MLP),
    ("bench.ruler.programs", "mlp_fwd_tp", _MLP),
    ("bench.ruler.programs", "mlp_train_dp", _MLP),
    ("bench.ruler.programs", "mlp_train_fsdp", _MLP),
    ("bench.ruler.programs", "tfm_fwd_tp", _LAYER),
    ("bench.ruler.programs", "tfm_fwd_sp", _LAYER),
    ("bench.ruler.programs", "tfm_train_tp", _LAYER),
    ("bench.ruler.programs", "parallel_block_fwd_tp", _LAYER),
    ("bench.ruler.programs", "xent_vocab_gather", {256: 1024, 128: 512, 2048: 4096}),
    ("bench.ruler.programs", "decode_gqa_heads", {256: 1024, 16: 64, 128: 2048}),
    ("bench.ruler.programs", "mm2d_weight_stationary", {64: 512, 512: 1024, 2048: 4096}),
    ("bench.ruler.programs", "moe_ep_fwd", {64: 1024, 256: 1024}),
    ("bench.ruler.programs", "resnet_block_batch", {16: 64}),
    ("bench.ruler.programs", "transpose_add", {512: 2048}),
    ("bench.ruler.programs", "rope_half_split", {8: 64}),
    ("bench.ruler.programs", "concat_sharded", {512: 8192, 64: 256}),
    ("bench.ruler.programs", "roll_stencil", {1024: 8192, 64: 512}),
    ("bench.ruler.programs", "embed_vocab_sharded", {1024: 8192, 64: 256}),
    ("bench.ruler.programs", "cumsum_sharded", {1024: 8192, 64: 512}),
    ("bench.ruler.programs", "sort_sharded_2d", {1024: 4096, 64: 256}),
    ("bench.ruler.programs", "argmax_vocab", {64: 256, 8192: 16384}),
    ("bench.ruler.programs", "scan_mlp_tp_fwd", {256: 512, 128: 512, 512: 1024}),
    ("bench.ruler.programs", "grad_accum_dp", {128: 512, 512: 1024}),
    ("bench.ruler.programs", "attn_context_parallel", {512: 1024, 32: 64}),
    ("bench.ruler.programs", "gpt4_train_dp_tp", {64: 256, 256: 1024, 16: 64, 32: 128, 512: 2048}),
    ("bench.ruler.programs", "dynslice_sharded", {1024: 8192, 64: 512}),
    ("bench.more_programs", "zero1_adam", _SMALL_MLP),
    ("bench.more_programs", "clip_global_norm", _SMALL_MLP),
    ("bench.more_programs", "remat_tp_train", _SMALL_MLP),
    ("bench.more_programs", "moe_train_ep", _EXPERTS),
    ("bench.more_programs", "moe_train_ep_dp", _EXPERTS),
    ("bench.more_programs", "moe_top2_dense", _EXPERTS),
    ("bench.more_programs", "fused_qkv_6_heads", _EXPERTS),
    ("bench.more_programs", "attn_6_heads_on_4", {32: 256, 64: 512, 16: 64}),
    ("bench.more_programs", "attn_30_heads_on_4", {64: 512, 16: 64}),
    ("bench.more_programs", "attn_context_causal", _CONTEXT),
    ("bench.more_programs", "attn_context_train", _CONTEXT),
    ("bench.more_programs", "decode_loop_heads", _DECODER),
    ("bench.more_programs", "decode_loop_sequence", _DECODER),
    ("bench.more_programs", "gpt2_train_16dev", {64: 256, 128: 512, 16: 64, 256: 1024}),
    ("bench.more_programs", "train_steps_in_scan", _SMALL_MLP),
    ("bench.more_programs", "skip_bad_steps", _SMALL_MLP),
    ("bench.more_programs", "power_iteration", {128: 2048}),
    ("bench.more_programs", "switch_layers", {64: 1024}),
    ("bench.more_programs", "embedding_gradient", {512: 8192, 32: 512, 16: 64, 8: 32}),
    ("bench.more_programs", "segment_mean", {256: 8192, 32: 512}),
    ("bench.more_programs", "scan_layers_train_tp", {64: 512, 128: 1024}),
    ("bench.more_programs", "scan_layers_train_fsdp", {64: 512, 128: 1024}),
    ("bench.hand_plans", "context_train", _CONTEXT),
    ("bench.hand_plans", "context_causal", _CONTEXT),
    ("bench.hand_plans", "moe_constrained_dp_ep", _EXPERTS),
    ("bench.hand_plans", "gpt_adam_dp_tp", {32: 256, 64: 256, 16: 64, 256: 1024, 512: 2048}),
    ("bench.hand_plans", "dropout", {64: 2048}),
    ("bench.hand_plans", "fsdp_two_axes", {64: 512, 128: 2048, 512: 2048}),
)
"""Suite, program, and its sizes."""


def scaled(program: Any, sizes: Sizes, devices: int) -> Any:
    """A program of a suite with other sizes, on so many devices."""

    def larger(arg: Any) -> Any:
        return dataclasses.replace(arg, shape=tuple(sizes.get(size, size) for size in arg.shape))

    args = programs.tree_args(larger, program.args)
    return dataclasses.replace(program, args=args, mesh=smaller_mesh(program.mesh, devices))


def smaller_mesh(mesh: Mapping[str, int], devices: int) -> dict[str, int]:
    """The mesh's axes with so many devices in all, as many as they have for the last axes first."""
    found: dict[str, int] = {}
    for name, size in reversed([*mesh.items()]):
        found[name] = next(part for part in range(min(size, devices), 0, -1) if devices % part == 0)
        devices //= found[name]
    if devices > 1:
        name = next(iter(mesh))
        found[name] *= devices
    return dict(reversed([*found.items()]))


def text(suite: ModuleType, name: str, sizes: Sizes, devices: int) -> str:
    """The program as JAX lowers it."""
    from bench.suites import lowered

    return lowered(suite, scaled(suite.PROGRAMS[name], sizes, devices))

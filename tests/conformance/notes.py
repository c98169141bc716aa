"""Where each note of the shared cases is tested.

Notes are cases in words: `kind: note`. Those of shard_map are listed in test_shard_map.py.
"""

from __future__ import annotations

LAYOUT, NOTES = "tests/unit/layout/", "tests/conformance/test_notes.py"

NOTES_AND_TESTS: dict[str, str] = {
    "docs MatMul: in layouts": NOTES,
    "issue 332: MatMul().shard": LAYOUT + "test_mindspore.py",
    "error: Layout(": LAYOUT + "test_mindspore.py",
    "error: tensor dim 3 sharded 2 ways": LAYOUT + "test_mindspore.py",
    "error: strategy product 3 on 8 devices": LAYOUT + "test_mindspore.py",
    "figure 2 as printed": "docs/from/process-local-data.md",
    "single process, global != local": "tests/unit/runtime/test_process_data.py",
    "single process = device_put": "tests/unit/runtime/test_process_data.py",
    "0007 ": LAYOUT + "test_onnx_rules.py",
    "0007 input spec missing": LAYOUT + "test_onnx_model.py",
    "two-step Reduce": NOTES,
    "QLinearMatMul, K sharded": LAYOUT + "test_onnx_rules.py",
    "nonlinear elementwise op on an unreduced": NOTES,
    "several simple_sharding entries": LAYOUT + "test_onnx_spec.py",
    "structural error: the same axis twice": LAYOUT + "test_onnx_spec.py",
    "structural error: device 4 with num_devices 4": LAYOUT + "test_onnx_spec.py",
    "structural error: configuration_id not declared": LAYOUT + "test_onnx_model.py",
    "structural error: DeviceConfiguration.device": LAYOUT + "test_onnx_model.py",
    "hyper-parallel issue 685": NOTES,
    "error: expand(": LAYOUT + "test_expand.py",
    "error: repeat(": LAYOUT + "test_expand.py",
    "repeat on a sharded dim is not local": "tests/unit/rules/test_signatures.py",
    "matmul sbp signatures": "tests/unit/rules/test_signatures.py",
    "P is closed only under linear use": "tests/unit/rules/test_signatures.py",
    "gradient sbp is the dual": LAYOUT + "test_notation_texts.py",
    "B->P boxing convention": LAYOUT + "test_distribute.py",
}
"""How a note begins -> the file that tests it; the longest beginning counts."""


def where(note: str) -> str | None:
    """The file of a note, or None."""
    found = [begins for begins in NOTES_AND_TESTS if note.startswith(begins)]
    return NOTES_AND_TESTS[max(found, key=len)] if found else None

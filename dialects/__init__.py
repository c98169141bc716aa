"""The IR: StableHLO operations, sdy shardings, spmd per-device collectives, in xDSL.

What is defined: `stablehlo/` (a file per chapter), `chlo.py`, `sdy.py` with its attributes and collectives,
`spmd.py`. What other rooms use: `build.IRBuilder` makes IR, `snapshot.snapshot` turns a module into a Graph
and `snapshot.write_shardings` writes results back, `text.print_module` prints, `wellformed.verify` checks,
`context.make_context` knows all dialects. Conversions between attributes and plain Python are in `convert.py`
(everything), `types.py`, `dense.py` (constants), `shardings.py` and `locations.py`.
"""

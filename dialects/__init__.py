"""The IR: StableHLO operations, sdy shardings, spmd per-device collectives, in xDSL."""

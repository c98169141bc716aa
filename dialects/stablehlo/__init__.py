"""The StableHLO dialect, one file per chapter of its specification."""

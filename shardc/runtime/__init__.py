"""What emitted NumPy programs import: emulated devices. No xDSL."""

"""Local forms: what an operation becomes on one device."""

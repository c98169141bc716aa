"""The built-in functions, one file per family; table.py lists them all."""

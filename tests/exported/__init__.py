"""Models as exporters write them, with the programs that they were exported from."""

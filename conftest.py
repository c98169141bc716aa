"""The top folders are imported as shardc.dialects and so on, never by their own names."""

collect_ignore = ["dialects", "passes", "grammar"]

"""The emitted text of every example, bench program and program of the corpus, as it was last reviewed."""

"""Mutated inputs for every entry point: each ends in a result or in an error that says where, and soon.

mutate.py makes a mutant of a text, entries.py lists what is mutated and the commands that read it, trial.py
runs one mutant in a process of its own, __main__.py a range of seeds.
"""

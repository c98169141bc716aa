"""The planning problem of a function: what may be chosen, and what a plan costs.

`setup` makes it of a graph; `Problem` adds up the cost of the choices at hand; `candidates` and `menu` say
how an operation may run. docs/planning-formulation.md has it in formulas.
"""

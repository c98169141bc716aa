"""The problem as an integer program: its columns and rows, the solver, and the plan that a solution is.

`every` lists the choices, `network` makes the program of them, `take_cheapest` solves it and takes the plan.
"""

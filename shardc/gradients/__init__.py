"""Derivatives of functions: operations backwards (vjp) or along (jvp), by the formulas in ops/derivatives.

results, pull = vjp(Program(graph, region), writer, args, wanted)
gradients = pull(cotangents)
"""

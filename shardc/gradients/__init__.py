"""Derivatives of functions: their operations backwards (vjp), or along (jvp), by the rules in ops/derivatives.

results, pull = Program(graph, region).vjp(writer, args)
gradients = pull(cotangents)
"""

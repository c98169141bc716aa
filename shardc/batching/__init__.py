"""A function for every slice of its arguments at once: operations on stacks, by the rules in ops/batches/.

results = stacked(Mapping(graph, region, stacks, size), writer, arguments)
"""

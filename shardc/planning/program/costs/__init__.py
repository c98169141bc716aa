"""What things take: the work of operations, collectives, and changes of layout of a tensor.

`Rates` knows the machine and the mesh; `fusion` says which tensors are in memory; `Prices` has lower bounds
for changes of layout, which are found exactly where a plan uses them. No module here knows the program.
"""

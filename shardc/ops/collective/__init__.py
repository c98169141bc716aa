"""What a device does together with the others of its group, in per-device code, a file each.

An exchange says what a device `sends`, from the bytes b of its operand and the number n of positions in the
group: by the ring algorithms (Thakur, Rabenseifner and Gropp, 2005) all-reduce 2b(n-1)/n, all-gather b(n-1),
reduce-scatter and all-to-all b(n-1)/n, rounded up; permute b. `steps` are the messages of the ring that
follow each other: 2(n-1) for an all-reduce, n-1 for the others, 1 for a permute.

The factor rules are for code that is manual over some axes of the mesh only: they say how the other axes may
split a block. The dimensions whose size an exchange changes stay whole: the parts of the larger one are no
parts of the smaller.
"""

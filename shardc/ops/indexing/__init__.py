"""Operations that address elements by computed indices, a file each.

Shardy calls a dimension that is indexed a reduction (gather) or pass-through (scatter, dynamic_update_slice),
since devices can mask out what they don't hold. The plain operation doesn't, so those factors are not plain.
"""

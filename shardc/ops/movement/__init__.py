"""Operations that make, lay out, cut and join elements, and compute nothing: one file each."""

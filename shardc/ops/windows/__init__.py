"""Operations that slide a window over dimensions: one file each, and the arithmetic of windows."""

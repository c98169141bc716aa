"""Operations that multiply and sum: one file each."""

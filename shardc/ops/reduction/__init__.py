"""Operations along whole dimensions: one file each."""

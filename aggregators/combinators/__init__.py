"""Operations made of other operations."""

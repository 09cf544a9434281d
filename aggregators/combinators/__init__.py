"""Operations made of operations and of a user's functions."""

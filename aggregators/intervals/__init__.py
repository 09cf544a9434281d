"""Operations on the lives of interval events."""

"""Operations on values in an order: by time or by value."""

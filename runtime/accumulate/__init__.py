"""Events to partials."""

"""Events of a DataFrame made ready: ordered, numbered, filtered, joined."""

"""Plans: queries checked against the schema of their events, and bound to it."""

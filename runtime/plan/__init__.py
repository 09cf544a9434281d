"""Plans: queries bound to the schema of their events."""

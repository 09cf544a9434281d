"""``framefold demo --stream``: a made-up stream, seen as its windows close."""

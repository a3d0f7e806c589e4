"""Vector to meaning and language."""

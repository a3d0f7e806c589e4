"""Mining of two texts by jobs of the workflow."""

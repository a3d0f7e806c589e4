"""The papers' published numbers, and a run's numbers beside them."""

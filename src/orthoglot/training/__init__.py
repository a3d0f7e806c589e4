"""One training loop and the recipes that use it."""

"""Vectors on disk, with what made them."""

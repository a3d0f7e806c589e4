"""Corpora: the settings of each kind, and a reader for each form of file."""

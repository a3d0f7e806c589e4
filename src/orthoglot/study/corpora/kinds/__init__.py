"""Kinds of corpora, one module each."""

"""Kinds of corpora and forms of files, one module each."""

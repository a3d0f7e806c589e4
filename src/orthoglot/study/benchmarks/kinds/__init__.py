"""Kinds of benchmarks, one module each."""

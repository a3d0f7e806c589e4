"""A family of invented languages: parallel text whose meaning is known, in the formats of real sources."""

from orthoglot.corpora.mini.files import generate

__all__ = ["generate"]

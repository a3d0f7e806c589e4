"""A family of invented languages: parallel text whose meaning is known, in the formats of real sources."""

from orthoglot.study.invented.files import generate

__all__ = ["generate"]

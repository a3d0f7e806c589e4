"""Models on a tiny encoder that several files of tests use."""

from tiny_models import encoder, models

__all__ = ["encoder", "models"]

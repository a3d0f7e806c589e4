"""Models on a tiny encoder, to mine with."""

from tiny_models import encoder, models

__all__ = ["encoder", "models"]

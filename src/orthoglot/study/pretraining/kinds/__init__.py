"""The kinds of encoders that are trained here: a module each, with its `SETTINGS`.

A module is named as its kind, with `_` where that has `-`. It imports no PyTorch, so that reading params.yaml stays
fast. How a kind is trained is in `orthoglot.study.pretraining.trainings`.
"""

from __future__ import annotations

import sys

from orthoglot.encoders import kinds
from orthoglot.encoders.settings import EncoderEntry
from orthoglot.registry import having

# Kinds of the encoder folders that are written by trainings of other kinds.
SAVED_AS = ("ems", "pretrained", "sentence-transformers")


def settings() -> dict[str, type[EncoderEntry]]:
    """The settings of every kind of encoder, trained here or elsewhere, by the name of the kind."""
    trained: dict[str, type[EncoderEntry]] = having(sys.modules[__name__], "SETTINGS")
    return dict(sorted({**kinds.settings(), **trained}.items()))

"""Kind `mlm`: a small XLM-R, out of a training of the study."""

from __future__ import annotations

from orthoglot.encoders.kinds import Kind, pretrained

KIND = Kind(load=pretrained.load)

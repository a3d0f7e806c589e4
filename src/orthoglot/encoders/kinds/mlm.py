"""Kind `mlm`: a small XLM-R, out of a training of the study."""

from __future__ import annotations

from orthoglot.encoders.kinds import pretrained
from orthoglot.encoders.settings import Kind

KIND = Kind(load=pretrained.load)

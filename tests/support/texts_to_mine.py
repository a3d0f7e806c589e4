"""Two texts to mine, and a small model that finds their translations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from small_checkpoint import make_pairs, write_checkpoint

from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder


def mining_model(folder: Path) -> None:
    """An encoder whose translations lie next to each other."""
    checkpoint = write_checkpoint(folder.with_name(f"{folder.name}-checkpoint"), offset=0.001)
    folder.mkdir()
    copy_encoder(Checkpoint(str(checkpoint), pooling="mean", max_tokens=20), ["en", "gn"], folder)


def write_texts(source: Path, target: Path, lines: int) -> None:
    """Three quarters of the lines of either text translate each other; some are blank or there twice."""
    rng = np.random.default_rng(1)
    shared = make_pairs(lines * 3 // 4)
    for side, path in enumerate((source, target)):
        alone = make_pairs(lines - len(shared), seed=2 + side)
        sentences = [pair[side] for pair in (*shared, *alone)]
        order = rng.permutation(lines)
        path.write_text("\n".join([sentences[order[3]], "", *(sentences[row] for row in order)]) + "\n")

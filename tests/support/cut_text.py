"""Tokens of a training's text, as the workflow's own job makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orthoglot.study.pretraining.settings import TrainingSettings
from orthoglot.study.pretraining.tokenise import tokenise


def tokens_of(
    settings: TrainingSettings,
    bitext: Sequence[Path],
    place: Path,
    start: Path | None = None,
    corpora: Sequence[Path] = (),
) -> Path:
    """The folder of them in `place`, made where it is not there yet."""
    output = place / "tokens"
    if not output.exists():
        output.mkdir(parents=True)
        checkpoint = place / "cutting"
        tokenise(settings.tokens, bitext, corpora=corpora, start=start, checkpoint=checkpoint, output=output)
    return output

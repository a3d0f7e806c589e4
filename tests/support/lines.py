"""Text in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np


class Lines(list[str]):
    """Sentences as `train_tokenizer` reads them."""

    def at(self, rows: np.ndarray) -> Iterator[str]:
        return (self[row] for row in rows)


def in_memory(text: Mapping[str, Sequence[str]]) -> dict[str, Lines]:
    return {language: Lines(sentences) for language, sentences in text.items()}

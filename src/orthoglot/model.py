"""A trained model as its users load it: text in, meaning or language out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.encoders.base import Encoder
from orthoglot.encoders.folder import identity
from orthoglot.encoders.load import load_encoder
from orthoglot.errors import ConfigError, DataError

PARTS = ("sentence", "meaning", "language")


class Model:
    """A frozen encoder and, where the folder holds one, its decomposer."""

    def __init__(self, encoder: Encoder, decomposer: Decomposer | None) -> None:
        self.encoder = encoder
        self.decomposer = decomposer

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Open an encoder's folder (models/PRESET/encoders/NAME) or a decomposer's (.../decomposers/NAME/METHOD/SEED).

        A decomposer is applied only to the very encoder it was trained on, found at its place in the same models
        folder.

        Raises:
            ConfigError: the folder is neither.
            DataError: the encoder beside the decomposer is another one than it was trained on.
        """
        folder = Path(folder)
        if (folder / "encoder.json").is_file():
            return cls(load_encoder(folder, device), None)
        description = folder / "decomposer.json"
        if not description.is_file():
            raise ConfigError(f"{folder}: holds neither encoder.json nor decomposer.json")
        trained_on = json.loads(description.read_text(encoding="utf-8"))
        home = folder.resolve().joinpath("../../../..", "encoders", trained_on["encoder"]).resolve()
        if not home.is_dir():
            raise DataError(f"{folder}: its encoder is not at {home}; copy the whole folder models/PRESET")
        found = identity(home)
        if found != trained_on["identity"]:
            raise DataError(f"{folder}: trained on encoder {trained_on['identity']}, but {home} is {found}")
        return cls(load_encoder(home, device), load_decomposer(folder))

    def encode(
        self,
        sentences: str | Sequence[str],
        *,
        part: str = "meaning",
        language: str | None = None,
        batch_tokens: int = 2048,
    ) -> np.ndarray:
        """Vectors of sentences, in their order.

        Args:
            sentences: a list, or one string.
            part: "meaning" or "language" of a decomposer, or "sentence", the encoder's own vector.
            language: the sentences' language code, for encoders and methods that need it (EMS: for its tokeniser;
                centering: for its mean).
            batch_tokens: tokens encoded at once, padding included; a GPU is kept busy by more.
        Returns:
            (n, D) float32; (D,) for one string.
        """
        if part not in PARTS:
            raise ConfigError(f"unknown part {part!r}; known: {', '.join(PARTS)}")
        if part != "sentence" and self.decomposer is None:
            raise ConfigError(f"{self.encoder.name} has no decomposer: only part='sentence' can be had")
        single = isinstance(sentences, str)
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        vectors = self.encoder.encode(texts, language or "", batch_tokens)
        if part != "sentence" and self.decomposer is not None:
            vectors = getattr(self.decomposer.transform(vectors, language or ""), part)
        return vectors[0] if single else vectors

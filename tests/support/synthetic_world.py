"""A synthetic world: every vector is a meaning and a language in subspaces of their own, then rotated."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orthoglot.random_streams import stream
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data

DIM, MEANING, LANGUAGES = 32, 24, 3


@dataclass(frozen=True)
class World:
    """Training data and held-out translations: `source` of language 0, `target` of 1 and 2 in turn."""

    data: Data
    source: Tensor
    target: Tensor
    target_language: Tensor


def make_world(train: int = 1500, valid: int = 300, test: int = 300) -> World:
    generator = stream(0, "world")
    n = train + valid + test
    rotation = torch.linalg.qr(torch.randn(DIM, DIM, generator=generator))[0]
    languages = 6 * torch.nn.functional.normalize(
        torch.randn(LANGUAGES, DIM - MEANING, generator=generator), dim=1
    )
    meaning = torch.randn(n, MEANING, generator=generator)
    target_language = 1 + torch.arange(n) % (LANGUAGES - 1)

    def vectors(language: Tensor) -> Tensor:
        shade = 0.3 * torch.randn(n, DIM - MEANING, generator=generator)
        blur = 0.1 * torch.randn(n, MEANING, generator=generator)
        return torch.cat([meaning + blur, languages[language] + shade], dim=1) @ rotation

    source, target = vectors(torch.zeros(n, dtype=torch.long)), vectors(target_language)

    def rows(start: int, end: int) -> PairRows:
        places = torch.arange(start, end)
        return PairRows(
            places, places + n, torch.zeros(end - start, dtype=torch.long), target_language[places]
        )

    data = Data(
        torch.cat([source, target]), ["qaa", "qab", "qac"], rows(0, train), rows(train, train + valid)
    )
    held = slice(train + valid, n)
    return World(data, source[held], target[held], target_language[held])

"""DREAM, MEAT, ORACLE and SEED trained the straightforward way: the independent twin of the fast training.

Written from docs/papers.md#decomposer-step: a DataLoader over single rows, partners found row by row in Python, a
forward pass for each kind of input, library losses, `.item()` for each term. It serves two ends: its losses and
gradients must equal ours, and `measurements/speed-of-training/decomposers.py` measures against it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_embedding_loss, cross_entropy, log_softmax, mse_loss, normalize
from torch.optim import Adam
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):  # type: ignore[type-arg]
    """Sentence pairs one at a time: source and target vector, source and target language."""

    def __init__(self, source: Tensor, target: Tensor, source_language: Tensor, target_language: Tensor):
        self.columns = source, target, source_language, target_language

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, row: int) -> tuple[Tensor, ...]:
        return tuple(column[row] for column in self.columns)


def loader(rows: Rows, batch_size: int) -> DataLoader:  # type: ignore[type-arg]
    return DataLoader(rows, batch_size=batch_size, shuffle=True, drop_last=True)


def partner_of_same_language(language: Tensor) -> list[int]:
    """For each row a random other row of its language; itself if there is none."""
    codes = language.tolist()
    partners = []
    for row, code in enumerate(codes):
        candidates = [other for other, theirs in enumerate(codes) if theirs == code and other != row]
        partners.append(random.choice(candidates) if candidates else row)
    return partners


def any_partner(n: int) -> list[int]:
    return [random.choice([other for other in range(n) if other != row]) for row in range(n)]


def pull(a: Tensor, b: Tensor) -> Tensor:
    return cosine_embedding_loss(a, b, a.new_ones(len(a)))


def push(a: Tensor, b: Tensor) -> Tensor:
    return cosine_embedding_loss(a, b, -a.new_ones(len(a)))


def descend(optimizer: Adam, losses: dict[str, Tensor]) -> dict[str, float]:
    total = torch.stack(list(losses.values())).sum()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    return {name: loss.item() for name, loss in losses.items()}


@dataclass
class Partners:
    """Row numbers within the batch: for meaning and for language, of each side."""

    source_other: Sequence[int]
    target_other: Sequence[int]
    source_peer: Sequence[int]
    target_peer: Sequence[int]


class Seed:
    """One linear map; the rest is the language (docs/papers.md#seed)."""

    def __init__(self, dim: int, n_languages: int, learning_rate: float):
        self.f = nn.Linear(dim, dim)
        self.optimizer = Adam(self.f.parameters(), lr=learning_rate)

    def draw(self, source_language: Tensor, target_language: Tensor) -> Partners:
        s, t = (partner_of_same_language(side) for side in (source_language, target_language))
        return Partners(s, t, s, t)

    def losses(self, s: Tensor, t: Tensor, ys: Tensor, yt: Tensor, partners: Partners) -> dict[str, Tensor]:
        s2, t2 = s[partners.source_peer], t[partners.target_peer]
        sm, tm, s2m, t2m = self.f(s), self.f(t), self.f(s2), self.f(t2)
        sl, tl, s2l, t2l = s - sm, t - tm, s2 - s2m, t2 - t2m
        return {
            "seed.meaning": 2 * pull(sm, tm) + push(sm, s2m) + push(tm, t2m),
            "seed.language": pull(sl, s2l) + pull(tl, t2l),
            "seed.separation": push(sm, sl) + push(tm, tl),
            "seed.language_swap": pull(s, sm + s2l) + pull(t, tm + t2l),
            "seed.meaning_swap": pull(s, tm + sl) + pull(t, sm + tl),
        }

    def step(self, s: Tensor, t: Tensor, ys: Tensor, yt: Tensor) -> dict[str, float]:
        return descend(self.optimizer, self.losses(s, t, ys, yt, self.draw(ys, yt)))


class TwoMaps:
    """What DREAM and MEAT share."""

    def __init__(self, dim: int, n_languages: int, learning_rate: float, oracle: bool):
        self.meaning, self.language = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.head = nn.Linear(dim, n_languages)
        self.oracle = oracle

    def oracle_losses(self, parts: Sequence[Tensor], ys: Tensor, yt: Tensor) -> dict[str, Tensor]:
        """The printed terms, attraction within a language over the full matrix.

        Source: docs/papers.md#oracle, docs/papers.md#decomposer-step.
        """
        sm, tm, sl, tl = parts
        attract = parts[0].new_zeros(())
        for rows, language in ((sl, ys), (tl, yt)):
            cosines = normalize(rows, dim=1) @ normalize(rows, dim=1).T
            same = (language[:, None] == language[None, :]) & ~torch.eye(
                len(rows), dtype=torch.bool, device=rows.device
            )
            others = same.sum(dim=1)
            if same.any():
                means = (cosines * same).sum(dim=1)[others > 0] / others[others > 0]
                attract = attract + (1 - means).mean()
        return {"oracle.intra_class": attract, "oracle.inter_class": push(sm, sl) + push(tm, tl)}


class Dream(TwoMaps):
    """Two maps and a head on the language vector (docs/papers.md#dream)."""

    def __init__(self, dim: int, n_languages: int, learning_rate: float, oracle: bool = False):
        super().__init__(dim, n_languages, learning_rate, oracle)
        parameters = [p for m in (self.meaning, self.language, self.head) for p in m.parameters()]
        self.optimizer = Adam(parameters, lr=learning_rate)

    def draw(self, ys: Tensor, yt: Tensor) -> Partners:
        n = len(ys)
        return Partners(
            any_partner(n), any_partner(n), partner_of_same_language(ys), partner_of_same_language(yt)
        )

    def losses(self, s: Tensor, t: Tensor, ys: Tensor, yt: Tensor, partners: Partners) -> dict[str, Tensor]:
        sm, tm, sl, tl = self.meaning(s), self.meaning(t), self.language(s), self.language(t)
        s2m, t2m = self.meaning(s[partners.source_other]), self.meaning(t[partners.target_other])
        s2l, t2l = self.language(s[partners.source_peer]), self.language(t[partners.target_peer])
        losses = {
            "dream.reconstruction": mse_loss(sm + sl, s) + mse_loss(tm + tl, t),
            "dream.meaning": pull(sm, tm) + push(sm, s2m) + push(tm, t2m),
            "dream.language": pull(sl, s2l) + pull(tl, t2l),
            "dream.identification": cross_entropy(self.head(sl), ys) + cross_entropy(self.head(tl), yt),
        }
        return losses | (self.oracle_losses((sm, tm, sl, tl), ys, yt) if self.oracle else {})

    def step(self, s: Tensor, t: Tensor, ys: Tensor, yt: Tensor) -> dict[str, float]:
        return descend(self.optimizer, self.losses(s, t, ys, yt, self.draw(ys, yt)))


class Meat(TwoMaps):
    """Two maps and a discriminator on the meaning vector, updated in turn (docs/papers.md#meat)."""

    def __init__(self, dim: int, n_languages: int, learning_rate: float, oracle: bool = False):
        super().__init__(dim, n_languages, learning_rate, oracle)
        maps = [*self.meaning.parameters(), *self.language.parameters()]
        self.optimizer = Adam(maps, lr=learning_rate)
        self.opponent = Adam(self.head.parameters(), lr=learning_rate)

    def discriminator_loss(self, s: Tensor, t: Tensor, ys: Tensor, yt: Tensor) -> Tensor:
        sm, tm = self.meaning(s), self.meaning(t)
        return cross_entropy(self.head(sm), ys) + cross_entropy(self.head(tm), yt)

    def losses(self, s: Tensor, t: Tensor, ys: Tensor, yt: Tensor) -> dict[str, Tensor]:
        sm, tm, sl, tl = self.meaning(s), self.meaning(t), self.language(s), self.language(t)
        guesses = [-log_softmax(self.head(m), dim=1).mean() for m in (sm, tm)]
        losses = {
            "meat.reconstruction": pull(sm + sl, s) + pull(tm + tl, t),
            "meat.cross_reconstruction": pull(sm + tl, t) + pull(tm + sl, s),
            "meat.language": push(sl, tl),
            "meat.adversarial": guesses[0] + guesses[1],
        }
        return losses | (self.oracle_losses((sm, tm, sl, tl), ys, yt) if self.oracle else {})

    def step(self, s: Tensor, t: Tensor, ys: Tensor, yt: Tensor) -> dict[str, float]:
        told = descend(self.opponent, {"discriminator": self.discriminator_loss(s, t, ys, yt)})
        return told | descend(self.optimizer, self.losses(s, t, ys, yt))

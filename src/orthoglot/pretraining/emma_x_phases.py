"""What both phases of Emma-X train and remember, and the terms of a step of each."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import NamedTuple, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.encoders.settings import EmmaXSettings, MaskedLanguageModelling, ParallelPhase, TextPhase
from orthoglot.objectives.emma_x import (
    classifier_votes,
    encoder_votes,
    first_scores,
    info_nce,
    mixed_cosine,
    mixup_ranks,
    moved_scores,
    prior_ranks,
    rank_sums,
    ranking_info_nce,
    smoothed_nll,
    temperatures,
)
from orthoglot.objectives.mixture import FullyConnected, Mixture
from orthoglot.pretraining.base import Pupil
from orthoglot.pretraining.collate import Predicting, Reading, read, read_and_predict
from orthoglot.pretraining.momentum import Queue, follow
from orthoglot.training.distributed import added, all_rows, rank


class Contrast(nn.Module):
    """An encoder, the slow one that makes keys, a queue of keys, a classifier of relatedness, a score for each rank."""

    def __init__(self, settings: EmmaXSettings, encoder: nn.Module, width: int):
        """Begin with a copy of `encoder`; the classifier is drawn from PyTorch's global generator."""
        super().__init__()
        self.encoder = encoder
        self.keys = copy.deepcopy(encoder).requires_grad_(False)
        self.queue = Queue(settings.queue, width)
        self.classifier: Mixture | FullyConnected = (
            Mixture(settings.ranks, width, settings.mixture_start)
            if settings.classifier == "mixture"
            else FullyConnected(settings.ranks, width)
        )
        self.scores: Tensor
        self.register_buffer("scores", first_scores(settings.ranks))
        self.ranks = settings.ranks
        self._momentum = settings.momentum
        self._score_momentum = settings.score_momentum
        self._key_dropout = settings.key_dropout

    def train(self, mode: bool = True) -> Self:
        """Switch dropout, but for that of the keys, which has a setting of its own."""
        super().train(mode)
        self.keys.train(mode and self._key_dropout)
        return self

    @torch.no_grad()
    def follow(self) -> None:
        """Let the encoder of keys follow."""
        follow(self.keys, self.encoder, self._momentum)

    @torch.no_grad()
    def remember(self, seen: Seen, sums: Tensor | None) -> None:
        """Take a step's keys into the queue, and the cosines of its ranks (2, N) into the scores."""
        if sums is not None:
            self.scores.copy_(moved_scores(self.scores, added(sums), self._score_momentum))
        self.queue.push(seen.candidates[: seen.fresh])


class Draws(NamedTuple):
    """What a step of pairs draws for M anchors.

    Attributes:
        others: column of a key that is neither the anchor's nor its translation's (M,).
        shares: how far each virtual example lies from its near end: (M, V), or (M, fresh keys and queue).
    """

    others: Tensor
    shares: Tensor


class Batch(NamedTuple):
    """One step.

    Attributes:
        reading: what both encoders read.
        parts: how many sentences of each kind: as many sources as translations, then such without; or these alone.
        draws: of the first phase.
    """

    reading: Reading
    parts: tuple[int, ...]
    draws: Draws | None = None


class Seen(NamedTuple):
    """A step's anchors before their candidates.

    Attributes:
        vectors: of this process's sentences (M, D), length 1, with gradient.
        candidates: keys of all processes' sentences, then the queue (Q, D), length 1, without.
        fresh: how many of them are this step's.
        similarity: cosines (M, Q).
        valid: all but each anchor's own key (M, Q).
        translations: column of the translation of each anchor that has one: of the first (T,), T <= M.
        mlm: how badly the encoder told the tokens hidden from it; 0 where none are.
    """

    vectors: Tensor
    candidates: Tensor
    fresh: int
    similarity: Tensor
    valid: Tensor
    translations: Tensor
    mlm: Tensor


class ContrastPupil(Pupil):
    """What the two phases share: anchors and candidates of a step."""

    def __init__(self, contrast: Contrast, settings: EmmaXSettings, learns: frozenset[str]):
        super().__init__(settings.precision)
        self.contrast = contrast
        self.learns = learns
        self.mlm: MaskedLanguageModelling = settings.mlm

    def train(self, mode: bool = True) -> Self:
        """Switch dropout; an encoder that does not learn reads as it will at use."""
        super().train(mode)
        if "encoder" not in self.learns:
            self.contrast.encoder.eval()
            self.contrast.keys.eval()
        return self

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Terms of a step, which is then remembered."""
        terms, seen, sums = self._all_terms(batch)
        self.contrast.remember(seen, sums)
        return terms

    def terms(self, step: Batch) -> tuple[dict[str, Tensor], Tensor]:
        """See `Pupil.terms`."""
        terms, seen, _ = self._all_terms(step)
        return terms, seen.vectors

    def _all_terms(self, batch: Batch) -> tuple[dict[str, Tensor], Seen, Tensor | None]:
        seen = self._seen(batch)
        terms, sums = self._terms(seen, batch)
        if batch.reading.expected:
            terms |= {"mlm": seen.mlm, "total": terms["total"] + self.mlm.weight * seen.mlm}
        return terms, seen, sums

    @abstractmethod
    def _terms(self, seen: Seen, batch: Batch) -> tuple[dict[str, Tensor], Tensor | None]:
        """Terms, and the cosines of each rank as `rank_sums` gives them, if there are any."""

    def _seen(self, batch: Batch) -> Seen:
        contrast, parts = self.contrast, batch.parts
        device = batch.reading.places.device
        if self.training and "encoder" in self.learns:
            contrast.follow()
        with self.reduced(device):
            if batch.reading.expected:
                predicting = cast(Predicting, contrast.encoder)
                vectors, mlm = read_and_predict(predicting, batch.reading, self.mlm.smoothing)
            else:
                vectors, mlm = read(contrast.encoder, batch.reading), torch.zeros((), device=device)
            with torch.no_grad():
                keys = read(contrast.keys, batch.reading)
        vectors, keys = (functional.normalize(some.float(), dim=1) for some in (vectors, keys))
        # Part after part, and within a part process after process: the order of one process with all sentences.
        # Validation is done by every process for itself.
        everyone = all_rows(keys) if self.training else keys[None]
        together, own = len(everyone), rank() if self.training else 0
        fresh = torch.cat([part.flatten(0, 1) for part in everyone.split(parts, dim=1)])
        candidates = torch.cat([fresh, contrast.queue.vectors])
        starts = np.cumsum([0, *parts[:-1]])
        columns = torch.cat(
            [
                together * start + own * size + torch.arange(size, device=device)
                for start, size in zip(starts.tolist(), parts, strict=True)
            ]
        )
        valid = torch.ones(len(vectors), len(candidates), dtype=torch.bool, device=device)
        valid[torch.arange(len(columns), device=device), columns] = False
        sides = columns.split(parts)
        translations = torch.cat([sides[1], sides[0]]) if len(parts) > 1 else columns[:0]
        return Seen(vectors, candidates, len(fresh), vectors @ candidates.T, valid, translations, mlm)


class ParallelPupil(ContrastPupil):
    """Phase 1: find the translation among all keys, and learn how far translations, mixtures and others lie apart.

    L = L_InfoNCE + mean -ln P(1 | x, y) + mean -ln P(N | x, y') + mean -ln P(r | x, (1 - l) y + l y')

    Args:
        learns: "encoder", "classifier" or both, and with them their terms.
    Source: Emma-X 2023, eq. 1 to 3; methods 6.3.
    """

    def __init__(self, contrast: Contrast, settings: EmmaXSettings, learns: frozenset[str]):
        super().__init__(contrast, settings, learns)
        self.phase: ParallelPhase = settings.parallel

    def _terms(self, seen: Seen, batch: Batch) -> tuple[dict[str, Tensor], Tensor | None]:
        sums = None
        assert batch.draws is not None
        terms = {}
        if "encoder" in self.learns:
            terms["contrastive"] = info_nce(
                seen.similarity, seen.translations, self.phase.temperature, seen.valid
            )
        if "classifier" in self.learns:
            classify = self._mixed if self.phase.virtual == "paper" else self._mixed_as_released
            terms["classifier"], sums = classify(seen, seen.translations, batch.draws)
        terms["total"] = torch.stack(list(terms.values())).sum()
        return terms, sums

    def _mixed(self, seen: Seen, translations: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """Virtual examples between a translation and another sentence."""
        N, x = self.contrast.ranks, seen.vectors.detach()
        near, far = seen.candidates[translations], seen.candidates[draws.others]
        shares = draws.shares
        mixed = torch.lerp(near[:, None], far[:, None], shares[:, :, None])
        parts = [
            (near, torch.ones_like(translations)),
            (far, torch.full_like(translations, N)),
            *((mixed[:, v], mixup_ranks(shares[:, v], N)) for v in range(shares.shape[1])),
        ]
        anchors = x.repeat(len(parts), 1)
        others, ranks = torch.cat([part for part, _ in parts]), torch.cat([found for _, found in parts])
        losses = smoothed_nll(self.contrast.classifier.paired(anchors, others), ranks, self.phase.smoothing)
        by_part = losses.view(len(parts), -1).mean(dim=1)
        cosines = functional.cosine_similarity(anchors, others, dim=1)
        sums = rank_sums(cosines, ranks, N, torch.ones_like(ranks, dtype=torch.bool))
        return by_part[0] + by_part[1] + by_part[2:].mean(), sums

    def _mixed_as_released(self, seen: Seen, translations: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """The authors' code: every candidate is mixed with the anchor itself (methods 6.3)."""
        contrast, shares = self.contrast, draws.shares
        classifier = contrast.classifier
        N = contrast.ranks
        prior = (
            classifier.prior if isinstance(classifier, Mixture) else shares.new_full((N,), 1 / N)
        ).detach()
        same = ~seen.valid
        same[torch.arange(len(same), device=same.device), translations] = True
        ranks = prior_ranks(shares, prior).masked_fill(same, 1)
        found = classifier.crossed(seen.vectors.detach(), seen.candidates, shares)
        cosines = mixed_cosine(seen.similarity.detach(), shares)
        sums = rank_sums(cosines, ranks, N, torch.ones_like(same))
        return smoothed_nll(found, ranks, self.phase.smoothing).mean(), sums


class TextPupil(ContrastPupil):
    """Phase 2: the classifier's ranks draw the encoder's vectors together, the encoder's ranks teach the classifier.

    L = sum_(r < N) L_r(ranks of the classifier) - mean ln P(ranks of the encoder)

    Besides the terms it tells what goes on: shares of the ranks in both votes, how often these agree, the ranks'
    scores, `classifier_finds` and `encoder_finds`, to how many translations each gives rank 1 before it is told of
    them, and `spread` = 1 - |mean vector|^2, which falls to 0 where all vectors become one.

    Source: Emma-X 2023, eq. 7 to 11; methods 6.4.
    """

    def __init__(self, contrast: Contrast, settings: EmmaXSettings):
        parts = ["encoder"] if settings.text.fixed_classifier else ["encoder", "classifier"]
        super().__init__(contrast, settings, frozenset(parts))
        self.phase: TextPhase = settings.text
        self.temperatures: Tensor
        by_rank = temperatures(settings.ranks, self.phase.lowest_temperature, self.phase.highest_temperature)
        self.register_buffer("temperatures", by_rank, persistent=False)

    def _terms(self, seen: Seen, batch: Batch) -> tuple[dict[str, Tensor], Tensor]:
        N = self.contrast.ranks
        told = self.contrast.classifier.crossed(seen.vectors.detach(), seen.candidates)
        for_classifier = encoder_votes(seen.similarity.detach(), self.contrast.scores)
        for_encoder = classifier_votes(told.detach())
        known = seen.translations[:, None]
        found = {}
        if len(known):
            for name, votes in (("classifier", for_encoder), ("encoder", for_classifier)):
                by_vote = votes[: len(known)]
                found[f"{name}_finds"] = (by_vote.gather(1, known) == 1).float().mean()
                if self.phase.known_pairs:
                    by_vote.scatter_(1, known, 1)
        ranking = ranking_info_nce(seen.similarity, for_encoder, self.temperatures, seen.valid).sum()
        terms = {"ranking": ranking, "total": ranking}
        if "classifier" in self.learns:
            losses = smoothed_nll(told, for_classifier, self.phase.smoothing)
            terms["classifier"] = (losses * seen.valid).sum() / seen.valid.sum()
            terms["total"] = ranking + terms["classifier"]
        sums = rank_sums(seen.similarity.detach(), for_encoder, N, seen.valid)
        return terms | found | self._told(seen, for_encoder, for_classifier), sums

    @torch.no_grad()
    def _told(self, seen: Seen, by_classifier: Tensor, by_encoder: Tensor) -> dict[str, Tensor]:
        """Diagnostics of a step, each a scalar."""
        pairs = seen.valid.sum()
        told = {"agreement": ((by_classifier == by_encoder) & seen.valid).sum() / pairs}
        for number in range(1, self.contrast.ranks + 1):
            told[f"classifier_rank_{number}"] = ((by_classifier == number) & seen.valid).sum() / pairs
            told[f"encoder_rank_{number}"] = ((by_encoder == number) & seen.valid).sum() / pairs
            told[f"score_{number}"] = self.contrast.scores[number - 1].clone()
        return {**told, "spread": 1 - seen.vectors.mean(dim=0).square().sum()}

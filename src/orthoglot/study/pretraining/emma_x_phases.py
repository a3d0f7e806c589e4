"""The networks and the state of Emma-X, and the terms of a step of both phases."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from orthoglot.study.pretraining.collate import TokenBatch, encode_and_predict, encode_batch
from orthoglot.study.pretraining.kinds.emma_x import (
    EmmaXSettings,
    MaskedLanguageModelling,
    ParallelPhase,
    TextPhase,
)
from orthoglot.study.pretraining.model import PretrainingModel
from orthoglot.study.pretraining.momentum import Queue, follow
from orthoglot.study.pretraining.networks import SentenceNetwork
from orthoglot.study.pretraining.objectives import emma_x as objective
from orthoglot.study.pretraining.objectives.mixture import FullyConnected, Mixture
from orthoglot.training.distributed import added, all_rows, rank

# The temperatures of rank 1 and of rank N - 1 (docs/papers.md#emma-x-temperatures).
TEMPERATURES = 0.05, 0.1
# Label smoothing of the hidden tokens, as in Emma-X's code.
MLM_SMOOTHING = 0.1
# The momentum of the ranks' cosines, per step, as in Emma-X's code (docs/papers.md#emma-x-score-update).
SCORE_MOMENTUM = 0.999


class EmmaXState(nn.Module):
    """An encoder, its moving average for keys, a queue of keys, a classifier of ranks, and a score for each rank.

    Queue and classifier are drawn from PyTorch's global generator.
    """

    def __init__(self, settings: EmmaXSettings, encoder: SentenceNetwork, width: int):
        super().__init__()
        self.encoder = encoder
        self.keys = copy.deepcopy(encoder).requires_grad_(False)
        self.queue = Queue(settings.queue, width)
        classifier: type[Mixture | FullyConnected] = (
            Mixture if settings.classifier == "mixture" else FullyConnected
        )
        self.classifier = classifier(settings.ranks, width)
        self.scores: Tensor
        self.register_buffer("scores", objective.first_scores(settings.ranks))
        self.ranks, self.momentum = settings.ranks, settings.momentum

    def train(self, mode: bool = True) -> Self:
        """Switch dropout, except that of the keys, which have none."""
        super().train(mode)
        self.keys.eval()
        return self

    @torch.no_grad()
    def update(self, compared: Comparison, sums: Tensor | None) -> None:
        """Add a step's keys to the queue, and the cosines of its ranks (2, N) to the scores."""
        if sums is not None:
            self.scores.copy_(objective.moved_scores(self.scores, added(sums), SCORE_MOMENTUM))
        self.queue.push(compared.candidates[: compared.fresh])


class VirtualDraws(NamedTuple):
    """Random draws of a step of pairs for M anchors."""

    others: Tensor  # column of a key that is neither the anchor's nor its translation's (M,)
    # how far each virtual example lies from its near end: (M, V), or (M, fresh keys and queue)
    shares: Tensor


class EmmaXBatch(NamedTuple):
    """One step."""

    sentences: TokenBatch  # what both encoders read
    # how many sentences of each kind: sources, as many translations, then sentences without; or only the last
    parts: tuple[int, ...]
    draws: VirtualDraws | None = None  # of the first phase


class Comparison(NamedTuple):
    """A step's anchors and their candidates."""

    vectors: Tensor  # of this process's sentences (M, D), length 1, with gradient
    candidates: Tensor  # keys of all processes' sentences, then the queue (Q, D), length 1, without
    fresh: int  # how many of them are this step's
    similarity: Tensor  # cosines (M, Q)
    valid: Tensor  # all but each anchor's own key (M, Q)
    translations: Tensor  # column of the translation of each anchor that has one: of the first (T,), T <= M
    mlm: Tensor  # cross-entropy of the hidden tokens; 0 where none are hidden


class EmmaXModel(PretrainingModel):
    """What the two phases share: anchors and candidates of a step."""

    phase: ParallelPhase | TextPhase

    def __init__(self, state: EmmaXState, settings: EmmaXSettings, learns: frozenset[str]):
        super().__init__(settings.precision)
        self.state = state
        self.learns = learns
        self.mlm: MaskedLanguageModelling = settings.mlm

    def train(self, mode: bool = True) -> Self:
        """Switch dropout; an encoder that does not learn works as in evaluation."""
        super().train(mode)
        if "encoder" not in self.learns:
            self.state.encoder.eval()
            self.state.keys.eval()
        return self

    def forward(self, batch: EmmaXBatch) -> dict[str, Tensor]:
        """Terms of a step, which then updates queue and scores."""
        terms, compared, sums = self._all_terms(batch)
        self.state.update(compared, sums)
        return terms

    def terms(self, batch: EmmaXBatch) -> tuple[dict[str, Tensor], Tensor]:
        terms, compared, _ = self._all_terms(batch)
        return terms, compared.vectors

    def _all_terms(self, batch: EmmaXBatch) -> tuple[dict[str, Tensor], Comparison, Tensor | None]:
        compared = self._compare(batch)
        terms, sums = self._terms(compared, batch)
        if batch.sentences.hidden:
            terms |= {"mlm": compared.mlm, "total": terms["total"] + self.mlm.weight * compared.mlm}
        return terms, compared, sums

    @abstractmethod
    def _terms(self, compared: Comparison, batch: EmmaXBatch) -> tuple[dict[str, Tensor], Tensor | None]:
        """Terms, and the cosines of each rank as `rank_sums` gives them, if there are any."""

    def _compare(self, batch: EmmaXBatch) -> Comparison:
        state, parts = self.state, batch.parts
        device = batch.sentences.rows.device
        if self.training and "encoder" in self.learns:
            follow(state.keys, state.encoder, state.momentum)
        with self.autocast(device):
            if batch.sentences.hidden:
                vectors, mlm = encode_and_predict(state.encoder, batch.sentences, MLM_SMOOTHING)
            else:
                vectors, mlm = encode_batch(state.encoder, batch.sentences), torch.zeros((), device=device)
            with torch.no_grad():
                keys = encode_batch(state.keys, batch.sentences)
        vectors, keys = (functional.normalize(raw.float(), dim=1) for raw in (vectors, keys))
        # Part after part, and within a part process after process: the order of one process with all sentences.
        # Validation is done by every process for itself.
        everyone = all_rows(keys) if self.training else keys[None]
        together, here = len(everyone), rank() if self.training else 0
        fresh = torch.cat([part.flatten(0, 1) for part in everyone.split(parts, dim=1)])
        candidates = torch.cat([fresh, state.queue.vectors])
        starts = np.cumsum([0, *parts[:-1]])
        columns = torch.cat(
            [
                together * start + here * size + torch.arange(size, device=device)
                for start, size in zip(starts.tolist(), parts, strict=True)
            ]
        )
        valid = torch.arange(len(candidates), device=device) != columns[:, None]
        sides = columns.split(parts)
        translations = torch.cat([sides[1], sides[0]]) if len(parts) > 1 else columns[:0]
        return Comparison(vectors, candidates, len(fresh), vectors @ candidates.T, valid, translations, mlm)


class ParallelModel(EmmaXModel):
    """Phase 1: find the translation among all keys, and learn how far translations, mixtures and others lie apart.

    L = L_InfoNCE + mean -ln P(1 | x, y) + mean -ln P(N | x, y') + mean -ln P(r | x, (1 - l) y + l y')

    Args:
        learns: "encoder", "classifier" or both, and with them their terms.
    Source: Emma-X Eqs. 2 to 4; docs/papers.md#emma-x-phase-1.
    """

    def __init__(self, state: EmmaXState, settings: EmmaXSettings, learns: frozenset[str]):
        super().__init__(state, settings, learns)
        self.phase: ParallelPhase = settings.parallel

    def _terms(self, compared: Comparison, batch: EmmaXBatch) -> tuple[dict[str, Tensor], Tensor | None]:
        sums = None
        assert batch.draws is not None
        terms = {}
        if "encoder" in self.learns:
            terms["contrastive"] = objective.info_nce(
                compared.similarity, compared.translations, self.phase.temperature, compared.valid
            )
        if "classifier" in self.learns:
            classify = self._mixed if self.phase.virtual == "paper" else self._mixed_as_released
            terms["classifier"], sums = classify(compared, batch.draws)
        terms["total"] = torch.stack(list(terms.values())).sum()
        return terms, sums

    def _mixed(self, compared: Comparison, draws: VirtualDraws) -> tuple[Tensor, Tensor]:
        """Virtual examples between a translation and another sentence."""
        N, x, translations = self.state.ranks, compared.vectors.detach(), compared.translations
        near, far = compared.candidates[translations], compared.candidates[draws.others]
        shares = draws.shares
        mixed = torch.lerp(near[:, None], far[:, None], shares[:, :, None])
        parts = [
            (near, torch.ones_like(translations)),
            (far, torch.full_like(translations, N)),
            *((mixed[:, v], objective.mixup_ranks(shares[:, v], N)) for v in range(shares.shape[1])),
        ]
        anchors = x.repeat(len(parts), 1)
        others, ranks = torch.cat([part for part, _ in parts]), torch.cat([labels for _, labels in parts])
        losses = objective.smoothed_nll(
            self.state.classifier.paired(anchors, others), ranks, self.phase.smoothing
        )
        by_part = losses.view(len(parts), -1).mean(dim=1)
        cosines = functional.cosine_similarity(anchors, others, dim=1)
        sums = objective.rank_sums(cosines, ranks, N, torch.ones_like(ranks, dtype=torch.bool))
        return by_part[0] + by_part[1] + by_part[2:].mean(), sums

    def _mixed_as_released(self, compared: Comparison, draws: VirtualDraws) -> tuple[Tensor, Tensor]:
        """The authors' code: every candidate is mixed with the anchor itself (docs/papers.md#emma-x-virtual)."""
        classifier, N, shares = self.state.classifier, self.state.ranks, draws.shares
        prior = classifier.prior.detach() if isinstance(classifier, Mixture) else shares.new_full((N,), 1 / N)
        same = ~compared.valid
        same[torch.arange(len(same), device=same.device), compared.translations] = True
        ranks = objective.prior_ranks(shares, prior).masked_fill(same, 1)
        posterior = classifier.crossed(compared.vectors.detach(), compared.candidates, shares)
        cosines = objective.mixed_cosine(compared.similarity.detach(), shares)
        sums = objective.rank_sums(cosines, ranks, N, torch.ones_like(same))
        return objective.smoothed_nll(posterior, ranks, self.phase.smoothing).mean(), sums


class TextModel(EmmaXModel):
    """Phase 2: the classifier's ranks draw the encoder's vectors together, the encoder's ranks teach the classifier.

    L = sum_(r < N) L_r(ranks of the classifier) - mean ln P(ranks of the encoder)

    Besides the terms it gives diagnostics: shares of the ranks in both votes, how often these agree, the ranks'
    scores, `classifier_finds` and `encoder_finds`, the share of translations to which each gives rank 1 before known
    pairs are set to rank 1, and `spread` = 1 - |mean vector|^2, which falls to 0 where all vectors become one.

    Source: Emma-X Eqs. 6, 7 and 9 to 11; docs/papers.md#emma-x-phase-2.
    """

    def __init__(self, state: EmmaXState, settings: EmmaXSettings):
        parts = ["encoder"] if settings.text.fixed_classifier else ["encoder", "classifier"]
        super().__init__(state, settings, frozenset(parts))
        self.phase: TextPhase = settings.text
        self.temperatures: Tensor
        self.register_buffer(
            "temperatures", objective.temperatures(settings.ranks, *TEMPERATURES), persistent=False
        )

    def _terms(self, compared: Comparison, batch: EmmaXBatch) -> tuple[dict[str, Tensor], Tensor]:
        N = self.state.ranks
        posterior = self.state.classifier.crossed(compared.vectors.detach(), compared.candidates)
        for_classifier = objective.encoder_votes(compared.similarity.detach(), self.state.scores)
        for_encoder = objective.classifier_votes(posterior.detach())
        known = compared.translations[:, None]
        diagnostics = {}
        if len(known):
            for name, votes in (("classifier", for_encoder), ("encoder", for_classifier)):
                by_vote = votes[: len(known)]
                diagnostics[f"{name}_finds"] = (by_vote.gather(1, known) == 1).float().mean()
                if self.phase.known_pairs:
                    by_vote.scatter_(1, known, 1)
        ranking = objective.ranking_info_nce(
            compared.similarity, for_encoder, self.temperatures, compared.valid
        ).sum()
        terms = {"ranking": ranking, "total": ranking}
        if "classifier" in self.learns:
            losses = objective.smoothed_nll(posterior, for_classifier, self.phase.smoothing)
            terms["classifier"] = (losses * compared.valid).sum() / compared.valid.sum()
            terms["total"] = ranking + terms["classifier"]
        sums = objective.rank_sums(compared.similarity.detach(), for_encoder, N, compared.valid)
        return terms | diagnostics | self._diagnostics(compared, for_encoder, for_classifier), sums

    @torch.no_grad()
    def _diagnostics(
        self, compared: Comparison, by_classifier: Tensor, by_encoder: Tensor
    ) -> dict[str, Tensor]:
        """Diagnostics of a step, each a scalar."""
        pairs = compared.valid.sum()

        def share(votes: Tensor) -> Tensor:
            return (votes & compared.valid).sum() / pairs

        diagnostics = {"agreement": share(by_classifier == by_encoder)}
        for number in range(1, self.state.ranks + 1):
            diagnostics[f"classifier_rank_{number}"] = share(by_classifier == number)
            diagnostics[f"encoder_rank_{number}"] = share(by_encoder == number)
            diagnostics[f"score_{number}"] = self.state.scores[number - 1].clone()
        return {**diagnostics, "spread": 1 - compared.vectors.mean(dim=0).square().sum()}

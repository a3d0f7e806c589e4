"""Phase 2 of Emma-X by hand: every pair of an anchor and a candidate in a plain loop."""

from __future__ import annotations

import math

import pytest
import torch
from test_emma_x_training import changed, contrast, reading
from torch import Tensor
from torch.nn import functional

from orthoglot.study.pretraining import emma_x_phases
from orthoglot.study.pretraining.emma_x_phases import EmmaXBatch, TextModel

RANKS, SMOOTHING, MOMENTUM = 4, 0.2, 0.9
TEMPERATURES = [0.05, 0.075, 0.1]


def test_phase_2_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classifier's ranks order the candidates and move the scores; the encoder's ranks teach the classifier."""
    monkeypatch.setattr(emma_x_phases, "SCORE_MOMENTUM", MOMENTUM)
    made = contrast(changed("text", smoothing=SMOOTHING))
    made.scores.copy_(torch.tensor([0.9, 0.4, 0.0, -0.3]))
    queue, scores = made.queue.vectors.clone(), made.scores.tolist()
    anchors = functional.normalize(made.encoder.table.weight.detach()[:7], dim=1)
    candidates = torch.cat([anchors, queue])  # keys start equal to the encoder

    ranks = {}
    for i, x in enumerate(anchors):
        for k, y in enumerate(candidates):
            if k != i:
                posterior = made.classifier.paired(x[None], y[None])[:, 0].detach()
                cosine = float(x @ y)
                by_encoder = min(range(RANKS), key=lambda r, c=cosine: abs(c - scores[r]))
                ranks[i, k] = cosine, int(posterior.argmax()), by_encoder, posterior
    assert any(by_classifier != by_encoder for _, by_classifier, by_encoder, _ in ranks.values())

    ranking = 0.0
    for r, temperature in enumerate(TEMPERATURES):
        for i in range(len(anchors)):
            mine = [(cosine, c) for (row, _), (cosine, c, _, _) in ranks.items() if row == i]
            own = sum(math.exp(cosine / temperature) for cosine, c in mine if c == r)
            among = sum(math.exp(cosine / temperature) for cosine, c in mine if c >= r)
            ranking -= math.log(own / among) / len(anchors) if own else 0.0
    losses = [_smoothed(posterior, by_encoder) for _, _, by_encoder, posterior in ranks.values()]
    classifier = sum(losses) / len(losses)
    moved = list(scores)
    for r in range(RANKS):
        if cosines := [cosine for cosine, by_classifier, _, _ in ranks.values() if by_classifier == r]:
            moved[r] = MOMENTUM * scores[r] + (1 - MOMENTUM) * sum(cosines) / len(cosines)

    terms = TextModel(made, changed("text", smoothing=SMOOTHING)).train()(EmmaXBatch(reading(7), (7,)))
    assert terms["ranking"].item() == pytest.approx(ranking, rel=1e-4)
    assert terms["classifier"].item() == pytest.approx(classifier, rel=1e-4)
    assert terms["total"].item() == pytest.approx(ranking + classifier, rel=1e-4)
    assert made.scores.tolist() == pytest.approx(moved, abs=1e-5)


def _smoothed(posterior: Tensor, label: int) -> float:
    rest = sum(float(value) for r, value in enumerate(posterior) if r != label) / (RANKS - 1)
    return -(1 - SMOOTHING) * float(posterior[label]) - SMOOTHING * rest

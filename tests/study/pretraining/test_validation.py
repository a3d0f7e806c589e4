"""Retrieval in training and its sampling error, by hand."""

from __future__ import annotations

import pytest
import torch

from orthoglot.study.pretraining.validation import retrieval


def test_retrieval_and_its_error_are_means_over_language_pairs() -> None:
    """Of four pairs two are found in both directions, two are swapped; of the other language pair's two both."""
    eye = torch.eye(4)
    source, target = torch.cat([eye, eye[:2]]), torch.cat([eye[[0, 1, 3, 2]], eye[:2]])
    found, error = retrieval(torch.stack([source, target]), (4, 0, 2))
    assert found == pytest.approx(100 * (0.5 + 1) / 2)
    # sqrt(p (1 - p) / n) of each, of their mean: both directions of a pair are one draw.
    assert error == pytest.approx(100 * (0.5 * 0.5 / 4 + 0) ** 0.5 / 2)

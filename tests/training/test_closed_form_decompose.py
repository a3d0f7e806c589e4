"""Closed forms on training data: what they find in the synthetic world, and that every training pair counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from synthetic_world import World

from orthoglot import catalogue
from orthoglot.decomposers.base import Parts
from orthoglot.objectives import is_trained
from orthoglot.study import config
from orthoglot.training.decompose import fit_decomposer, translations

METHODS = config.load(catalogue.shipped()).methods


def parts_of(name: str, world: World) -> tuple[Parts, Parts]:
    """Parts of the held-out sentences of language 0 and of their translations."""
    method, languages = METHODS[name], world.data.languages
    device = torch.device("cpu")
    decomposer, _ = fit_decomposer(method, None, name, world.data, seed=1, device=device, checkpoint=None)
    names = [languages[k] for k in world.target_language.tolist()]
    return decomposer.transform(world.source.numpy(), languages[0]), decomposer.transform(
        world.target.numpy(), names, languages[0]
    )


def retrieval(source: np.ndarray, target: np.ndarray, world: World) -> float:
    """Share of sentences whose nearest translation, by cosine among those of the same language, is their own."""
    hits = []
    for k in (1, 2):
        own = (world.target_language == k).numpy()
        a, b = (rows[own] / np.linalg.norm(rows[own], axis=1, keepdims=True) for rows in (source, target))
        hits.append(((a @ b.T).argmax(axis=1) == np.arange(own.sum())).mean())
    return float(np.mean(hits))


def probe(source: np.ndarray, target: np.ndarray, world: World) -> float:
    """Held-out balanced accuracy of a linear language probe; chance is 1 / 3."""
    x = np.concatenate([source, target])
    y = np.concatenate([np.zeros(len(source)), world.target_language.numpy()])
    first = np.arange(len(x)) % 4 < 2
    found = (
        LogisticRegression(max_iter=2000, class_weight="balanced").fit(x[first], y[first]).predict(x[~first])
    )
    return float(np.mean([(found[y[~first] == k] == k).mean() for k in range(3)]))


@pytest.mark.parametrize(
    "name", [name for name, one in METHODS.items() if name != "original" and not is_trained(one.architecture)]
)
def test_known_answer(world: World, name: str) -> None:
    raw = world.source.numpy(), world.target.numpy()
    source, target = parts_of(name, world)
    meaning, language = (source.meaning, target.meaning), (source.language, target.language)
    assert retrieval(*meaning, world) > max(0.95, retrieval(*raw, world))
    assert probe(*raw, world) == 1
    # Its shrinkage is chosen by retrieval among sentences of one language, so languages may show.
    if name != "plda":
        assert probe(*meaning, world) < 0.5
    # What whitening and rotation take away holds meaning too: it is the rest of a turned vector.
    if name not in ("whitening", "procrustes"):
        assert retrieval(*language, world) < 0.3
        assert probe(*language, world) > 0.95


def test_every_training_pair_counts_once_in_a_block_of_its_languages(world: World) -> None:
    data = world.data
    seen: Counter[tuple[bytes, bytes, str, str]] = Counter()
    for source, target, (first, second) in translations(data, data.train, size=100):
        assert len(source) == len(target) <= 100
        seen.update((a.tobytes(), b.tobytes(), first, second) for a, b in zip(source, target, strict=True))
    expected = Counter(
        (
            data.vectors[a].numpy().tobytes(),
            data.vectors[b].numpy().tobytes(),
            data.languages[k],
            data.languages[m],
        )
        for a, b, k, m in zip(
            data.train.source,
            data.train.target,
            data.train.source_language,
            data.train.target_language,
            strict=True,
        )
    )
    assert seen == expected

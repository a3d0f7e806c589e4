"""Losses and inputs by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_benchmarks import write_answers

from orthoglot.errors import ConfigError, DataError
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.kinds import pool
from orthoglot.study.finetuning import data
from orthoglot.study.finetuning.heads import Chooser, Classifier, Inference, Retrieval, Similarity
from orthoglot.study.finetuning.network import Opened, _fitting, open_network


@pytest.fixture
def opened(encoder: Path) -> Opened:
    return open_network(encoder)


def test_a_pair_is_one_input_and_the_longer_text_gives_way(opened: Opened) -> None:
    ids, starts = opened.pairs(["a00 a01", "a00 a01 a02 a03 a04"], ["b00", "b00 b01"], "en", 10)
    words = {word: n for n, word in enumerate(opened.tokenizer.tokens())}
    first, second = (ids.ids[ids.offsets[n] : ids.offsets[n + 1]].tolist() for n in range(2))
    assert first == [0, words["a00"], words["a01"], 2, 2, words["b00"], 2]
    assert second == [0, *(words[f"a0{n}"] for n in range(4)), 2, 2, words["b00"], words["b01"], 2]
    assert starts.tolist() == [5, 7]


def test_lengths_fit_one_token_after_another() -> None:
    """Against cutting the longer text token by token."""
    for room in (4, 5, 9):
        for one in range(1, 12):
            for other in range(1, 12):
                a, b = one, other
                while a + b > room:
                    a, b = (a - 1, b) if a > b else (a, b - 1)
                found = [int(n[0]) for n in _fitting(np.array([one]), np.array([other]), room)]
                assert sum(found) == a + b
                assert abs(found[0] - a) <= 1


def test_the_first_state_is_read_for_labels_and_the_own_pooling_for_vectors(opened: Opened) -> None:
    network = opened.network.eval()
    ids = torch.tensor([[0, 5, 6, 2], [0, 7, 2, 1]])
    with torch.no_grad():
        states = network.model(ids, attention_mask=(ids != 1).long()).last_hidden_state
        torch.testing.assert_close(network.first(ids), states[:, 0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(network(ids)[0], states[0].mean(0), atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(network(ids)[1], states[1, :3].mean(0), atol=1e-5, rtol=1e-4)


def test_losses_by_hand(opened: Opened) -> None:
    network = opened.network
    label = Classifier(network, "float32", 2).compared(torch.tensor([[0.0, math.log(3)]]), torch.tensor([1]))
    assert float(label) == pytest.approx(-math.log(3 / 4))
    several = Classifier(network, "float32", 2, several=True)
    value = several.compared(torch.tensor([[0.0, math.log(3)]]), torch.tensor([[1.0, 0.0]]))
    assert float(value) == pytest.approx((math.log(2) + math.log(4)) / 2)
    near = Similarity(network, "float32").compared(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.2]))
    assert float(near) == pytest.approx((0.25 + 0.04) / 2)
    assert Inference(network, "float32", 3).head.in_features == 3 * network.dim
    assert Chooser(network, "float32").head[-1].out_features == 1


def test_the_same_answer_elsewhere_in_the_batch_is_no_wrong_one(opened: Opened) -> None:
    head = Retrieval(opened.network, "float32")
    scores = torch.tensor([[math.log(2), 0.0, 5.0], [0.0, 0.0, 0.0], [5.0, 0.0, math.log(2)]])
    value = head.compared(scores, torch.tensor([4, 9, 4]))
    expected = (-math.log(2 / 3) + math.log(3) - math.log(2 / 3)) / 3
    assert float(value) == pytest.approx(expected, rel=1e-5)
    assert head.scale.item() == 100


def test_what_copa_asks_is_put_to_the_premise() -> None:
    assert data.as_asked(("p", "x", "p", "y")) == (
        "p What was the effect?",
        "x",
        "p What was the effect?",
        "y",
    )
    assert data.as_asked(("x", "p", "y", "p")) == ("p What was the cause?", "x", "p What was the cause?", "y")
    assert data.as_asked(("a", "b")) == ("a", "b")


def test_gold_scores_are_scaled_by_the_training_part(opened: Opened) -> None:
    pairs = PairSet("x", "en", "en", ["a00"] * 3, ["a01"] * 3, gold=[-1.0, 1.0, 4.0])
    assert data.span([pairs]) == (-1, 4)
    assert data.graded(opened, [pairs], 22, (-1, 3)).targets.tolist() == [0, 0.5, 1]
    with pytest.raises(DataError, match="nothing to learn"):
        data.span([PairSet("x", "en", "en", ["a00"], ["a01"], gold=[2.0])])


def test_answers_of_one_text_have_one_number(opened: Opened, tmp_path: Path) -> None:
    pools = pool.read(write_answers(tmp_path / "pool", 20, languages=("en", "de")))
    found = data.answered(opened, pools, 22)
    assert len(found) == 40
    assert len(set(found.targets.tolist())) == 40


def test_an_encoder_that_cannot_be_fine_tuned_is_refused(tmp_path: Path) -> None:
    (tmp_path / "encoder.json").write_text('{"kind": "laser", "name": "laser2"}')
    with pytest.raises(ConfigError, match="laser2: one of kind laser cannot be fine-tuned"):
        open_network(tmp_path)

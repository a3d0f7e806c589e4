"""Batches: chunks of like length that hold every sentence once, hidden tokens, what each row is to predict."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from orthoglot.encoders.token_lists import Ragged
from orthoglot.study.pretraining.collate import EmsCollator, collate, encode_batch
from orthoglot.study.pretraining.tokenised import Bitext

CPU = torch.device("cpu")
MASK, COMMA = 2, 5


def tokenizer(**values: Any) -> Any:
    return SimpleNamespace(**{"pad": 0, "mask": MASK, "before": (), "after": ()} | values)


class Sums(nn.Module):
    """A network whose vector tells the sentence: sums of ids, of their squares, and of ids times places."""

    def forward(self, ids: Tensor, padded: bool) -> Tensor:
        assert padded == bool((ids == 0).any())
        places = torch.arange(1, ids.shape[1] + 1)
        return torch.stack([ids.sum(1), ids.square().sum(1), (ids * places).sum(1)], dim=1)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=12), min_size=1, max_size=30),
    st.integers(1, 60),
)
def test_every_sentence_is_read_once_and_found_again_in_its_place(rows: list[list[int]], budget: int) -> None:
    reading = collate(tokenizer(), Ragged.of(rows), budget, CPU)
    for chunk in reading.chunks:
        assert chunk.ids.numel() <= budget or len(chunk.ids) == 1
    alone = torch.cat([Sums()(torch.tensor([row]), False) for row in rows])
    assert torch.equal(encode_batch(Sums(), reading), alone)


def test_what_is_read_around_a_sentence_goes_right_before_and_after_it() -> None:
    reading = collate(tokenizer(before=(7,), after=(8, 9)), Ragged.of([[11], [12, 13]]), 100, CPU)
    (chunk,) = reading.chunks
    assert chunk.ids.tolist() == [[7, 12, 13, 8, 9], [7, 11, 8, 9, 0]]
    assert reading.rows.tolist() == [1, 0]


SOURCE, TARGET = [[11, 12], [13, COMMA, 14]], [[21, 21, 22], [23]]


def bitext() -> Bitext:
    return Bitext(
        Ragged.of(SOURCE), Ragged.of(TARGET), np.array([[0, 1], [0, 2]]), sizes=(1, 1), kept=np.arange(2)
    )


def steps(**values: Any) -> EmsCollator:
    chosen = {"target": "xtr", "bag": "counts", "release_mask": False, "xtr_weight": 1.0, "chunk_tokens": 100}
    settings: Any = SimpleNamespace(**chosen | values)
    is_word = np.arange(40) != COMMA
    network = SimpleNamespace(model=None)
    encoder: Any = SimpleNamespace(tokenizer=tokenizer(), is_word=lambda: is_word, network=network)
    return EmsCollator(settings, encoder, CPU)


def bags(step: Any) -> list[dict[int, float]]:
    found: list[dict[int, float]] = [{} for _ in range(4)]
    for row, token, weight in zip(step.bags.rows, step.bags.tokens, step.bags.weights, strict=True):
        found[row][int(token)] = round(float(weight), 6)
    return found


def shown(step: Any) -> list[list[int]]:
    rows = [[i for i in row if i] for chunk in step.sentences.chunks for row in chunk.ids.tolist()]
    return [rows[place] for place in step.sentences.rows]


def test_each_row_predicts_the_other_side_in_the_others_language() -> None:
    step = steps()(bitext(), np.array([1, 0]), np.random.default_rng(0))
    assert shown(step) == [SOURCE[1], SOURCE[0], TARGET[1], TARGET[0]]
    assert step.languages.tolist() == [2, 1, 0, 0]
    third = round(1 / 3, 6)
    assert bags(step) == [
        {23: 1},
        {21: round(2 / 3, 6), 22: third},
        {13: third, COMMA: third, 14: third},
        {11: 0.5, 12: 0.5},
    ]
    assert steps(xtr_weight=0.0)(bitext(), np.array([1]), np.random.default_rng(0)).bags is None


@pytest.mark.parametrize("seed", range(6))
def test_ugt_hides_one_word_of_one_side_and_asks_for_it_beside_the_others_bag(seed: int) -> None:
    step = steps(target="ugt")(bitext(), np.array([0, 1]), np.random.default_rng(seed))
    plain = bags(steps()(bitext(), np.array([0, 1]), np.random.default_rng(0)))
    whole = [*SOURCE, *TARGET]
    for pair in (0, 1):
        changed = [row for row in (pair, pair + 2) if shown(step)[row] != whole[row]]
        (row,) = changed
        (place,) = [n for n, (a, b) in enumerate(zip(shown(step)[row], whole[row], strict=True)) if a != b]
        hidden = whole[row][place]
        assert shown(step)[row][place] == MASK
        half = {token: round(weight / 2, 6) for token, weight in plain[row].items()}
        assert bags(step)[row] == pytest.approx(half | {hidden: half.get(hidden, 0) + 0.5}, abs=2e-6)
        other = (row + 2) % 4
        assert bags(step)[other] == plain[other]  # the word itself, not the mask


def test_punctuation_is_hardly_ever_hidden_but_by_the_released_reading() -> None:
    def hidden(**values: Any) -> list[int]:
        made = steps(**values)
        drawn = []
        for seed in range(300):
            step = made(bitext(), np.array([1]), np.random.default_rng(seed))
            places = [n for n, token in enumerate(shown(step)[0]) if token == MASK]
            drawn += [SOURCE[1][place] for place in places]
        return drawn

    assert hidden(target="ugt").count(COMMA) <= 3  # 1/3 to the power of six
    assert hidden(release_mask=True).count(COMMA) > 30


@pytest.mark.parametrize("seed", range(4))
def test_the_released_mask_stands_in_what_the_other_side_predicts(seed: int) -> None:
    step = steps(release_mask=True)(bitext(), np.array([0, 1]), np.random.default_rng(seed))
    read = shown(step)
    assert sum(row.count(MASK) for row in read) == 2
    for row in range(4):
        other = read[(row + 2) % 4]
        expected = {token: round(other.count(token) / len(other), 6) for token in other}
        assert bags(step)[row] == expected


def test_the_text_itself_is_never_changed() -> None:
    data = bitext()
    for seed in range(5):
        steps(target="ugt")(data, np.array([0, 1]), np.random.default_rng(seed))
    assert data.source.ids.tolist() == [token for row in SOURCE for token in row]

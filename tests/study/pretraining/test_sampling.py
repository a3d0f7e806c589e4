"""Rows and batches of a pretraining, and its learning rate."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.study.pretraining.sampling import RowSampler, length_batches
from orthoglot.study.pretraining.trainer import scheduler, share_of_peak


def _plan(sizes: list[int], **changes: object) -> RowSampler:
    values = {"batch_size": 4, "steps": 10, "steps_per_epoch": 4, "temperature": 1.0, "seed": 1}
    return RowSampler(sizes=sizes, **{**values, **changes})  # type: ignore[arg-type]


def test_every_row_comes_once_before_any_comes_twice() -> None:
    plan = _plan([7, 13], steps=15)  # 60 draws of 20 rows: three rounds
    drawn = np.concatenate([plan.rows(epoch) for epoch in range(4)])
    assert set(Counter(drawn.tolist()).values()) == {3}
    assert [plan.steps_of(epoch) for epoch in range(4)] == [4, 4, 4, 3]


def test_temperature_flattens_the_shares_of_groups() -> None:
    def share_of_small(temperature: float) -> float:
        plan = _plan([100, 900], batch_size=100, steps=40, steps_per_epoch=40, temperature=temperature)
        return float((plan.rows(0) < 100).mean())

    assert share_of_small(1.0) == pytest.approx(0.1, abs=0.001)
    assert share_of_small(2.0) == pytest.approx(10 / (10 + 30), abs=0.001)


def test_an_epoch_depends_on_its_number_and_the_seed_only() -> None:
    lengths = np.arange(40) % 7
    first = _plan([10, 30]).batches(1, lengths)
    again = _plan([10, 30]).batches(1, lengths)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    other = _plan([10, 30], seed=2).batches(1, lengths)
    assert [batch.tolist() for batch in other] != [batch.tolist() for batch in first]


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(1, 12))
def test_batches_hold_every_row_once(found: list[int], count: int) -> None:
    lengths, rows = np.array(found), np.arange(len(found))
    batches = length_batches(rows, lengths, count, np.random.default_rng(0))
    assert sorted(np.concatenate(batches).tolist()) == rows.tolist()
    assert len(batches) == min(count, len(rows))
    assert max(map(len, batches)) - min(map(len, batches)) <= 1


def test_length_batches_are_padded_little() -> None:
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 40, 4000)

    def waste(batches: list[np.ndarray]) -> float:
        return sum(len(rows) * lengths[rows].max() for rows in batches) / lengths.sum() - 1

    assert waste(length_batches(np.arange(4000), lengths, 60, generator)) < 0.1
    assert waste(np.array_split(np.arange(4000), 60)) > 0.7  # what it would be without sorting


def test_learning_rate_shapes() -> None:
    def at(step: int, shape: str) -> float:
        return share_of_peak(step, warmup=10, steps=100, shape=shape)  # type: ignore[arg-type]

    assert at(0, "constant") == pytest.approx(0.1)
    assert [at(step, "constant") for step in (9, 50, 99)] == [1.0, 1.0, 1.0]
    assert at(50, "cosine") == pytest.approx(0.5)
    assert at(100, "cosine") == pytest.approx(0.0)
    assert at(75, "linear") == pytest.approx(0.25)
    # tests/worked-examples.md#worked-ems-15: the release stops after 3 of 15 epochs.
    assert at(100, "slow_cosine") == pytest.approx(0.904508, abs=1e-6)
    assert share_of_peak(0, warmup=0, steps=10, shape="constant") == 1.0


def test_scheduler_sets_the_rate_of_the_next_step() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    rates = scheduler(optimizer, warmup=4, steps=8, shape="constant")
    seen = []
    for _ in range(5):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        rates.step()
    assert seen == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.0])

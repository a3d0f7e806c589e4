"""The queue of keys and the encoder that follows."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from orthoglot.study.pretraining.momentum import Queue, follow


def rows(first: int, count: int, width: int = 3) -> torch.Tensor:
    return torch.arange(first, first + count).float()[:, None].repeat(1, width)


def test_x20_the_oldest_rows_are_replaced() -> None:
    queue = Queue(4, 3)
    for first in (0, 2, 4):
        queue.push(rows(first, 2))
    assert queue.vectors[:, 0].tolist() == [4, 5, 2, 3]
    assert int(queue.next) == 2


@pytest.mark.parametrize("size", [1, 3, 5, 8])
@pytest.mark.parametrize("batches", [[2, 2, 2, 2], [3, 1, 4, 2], [7, 9], [1] * 11])
def test_it_holds_the_last_keys_whatever_the_batches(size: int, batches: list[int]) -> None:
    queue, done = Queue(size, 1), 0
    for count in batches:
        queue.push(rows(done, count, 1))
        done += count
        if done >= size:
            assert sorted(queue.vectors[:, 0].tolist()) == list(range(done - size, done))
    place = int(queue.next)
    oldest_first = torch.cat([queue.vectors[place:], queue.vectors[:place]])[:, 0].tolist()
    assert oldest_first == sorted(oldest_first)


def test_it_begins_with_unit_vectors_and_may_be_empty() -> None:
    torch.testing.assert_close(Queue(6, 4).vectors.norm(dim=1), torch.ones(6))
    empty = Queue(0, 4)
    empty.push(rows(0, 2, 4))
    assert len(empty.vectors) == 0


def test_the_queue_is_part_of_what_is_saved() -> None:
    assert set(Queue(2, 2).state_dict()) == {"vectors", "next"}


def test_x12_following() -> None:
    slow, fast = nn.Linear(1, 1, bias=False).double(), nn.Linear(1, 1, bias=False).double()
    nn.init.zeros_(slow.weight)
    nn.init.ones_(fast.weight)
    for _ in range(1000):
        follow(slow, fast, 0.999)
    assert slow.weight.item() == pytest.approx(0.632305, abs=1e-6)
    assert fast.weight.item() == 1
    assert slow.weight.grad is None


def test_buffers_are_copied() -> None:
    slow, fast = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    fast.running_mean = torch.tensor([3.0, 4.0])
    follow(slow, fast, 0.9)
    assert slow.running_mean is not None
    assert slow.running_mean.tolist() == [3, 4]

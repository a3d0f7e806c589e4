"""Pooling values, devices, and order of length-sorted encoding."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.encoders import base
from orthoglot.encoders.base import (
    compute_dtype,
    every_device,
    in_length_order,
    length_batches,
    pool,
    resolve_device,
)
from orthoglot.encoders.weights_files import open_pickle
from orthoglot.errors import ConfigError, DataError

STATES = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]])
MASK = torch.tensor([[True, True, False]])


def test_pooling_values() -> None:
    assert pool(STATES, MASK, "cls").tolist() == [[1.0, 2.0]]
    assert pool(STATES, MASK, "mean").tolist() == [[2.0, 4.0]]  # the padded 100s do not count

    class Pooler(torch.nn.Module):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return torch.tanh(2 * states[:, 0])

    assert pool(STATES, MASK, "pooler", Pooler()).tolist() == [pytest.approx([np.tanh(2.0), np.tanh(4.0)])]


@pytest.mark.parametrize("speed", [0.6, 1.8])
def test_bfloat16_is_warned_of_where_float32_is_faster(
    speed: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(base, "speed_of_bfloat16", lambda: speed)
    assert compute_dtype("bfloat16", torch.device("cuda")) == torch.bfloat16
    assert compute_dtype("float32", torch.device("cpu")) == torch.float32
    assert not caplog.text
    assert compute_dtype("bfloat16", torch.device("cpu")) == torch.bfloat16
    assert ("bfloat16 is slower than float32" in caplog.text) == (speed < 1)


def test_the_speed_of_bfloat16_is_how_much_longer_float32_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the shortest of four products: a pause of the first one does not count."""
    ends = iter([0, 9, 9, 11, 11, 13, 13, 15, *range(15, 23)])
    monkeypatch.setattr(base.time, "perf_counter", lambda: next(ends))
    assert base.speed_of_bfloat16.__wrapped__() == 2


def test_pooler_without_a_layer_is_refused() -> None:
    with pytest.raises(ConfigError, match="pooler layer"):
        pool(STATES, MASK, "pooler", None)


def test_devices() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ConfigError, match="known are auto, cpu"):
        resolve_device("gpu7")
    with pytest.raises(ConfigError, match="CUDA devices"):
        resolve_device("cuda:99")


def test_rows_come_back_in_order_in_batches_of_similar_length() -> None:
    lengths = np.array([3, 9, 1, 9, 2])
    seen: list[list[int]] = []

    def encode(rows: np.ndarray) -> torch.Tensor:
        seen.append(rows.tolist())
        return torch.from_numpy(np.stack([rows, rows * 10], axis=1)).float()

    vectors = in_length_order(lengths, 2, 18, encode)
    assert vectors.tolist() == [[i, 10 * i] for i in range(5)]
    assert seen == [[1, 3], [0, 4, 2]]
    assert vectors.dtype == np.float32


def test_progress_counts_tokens_as_the_longest_rows_come_first() -> None:
    done: list[int] = []
    lengths = np.array([1, 30, 1, 1, 10, *[1] * 7])  # 50 tokens in 12 rows
    in_length_order(lengths, 1, 30, lambda rows: torch.zeros(len(rows), 1), done.append)
    assert done == [7, 3, 2]  # 12 * 30 // 50; with 10 + 1 + 1 more 12 * 42 // 50; all


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 100))
def test_batches_hold_each_row_once_longest_first_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(length_batches(np.array(lengths, dtype=np.int64), budget))
    order = [row for batch in batches for row in batch.tolist()]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[row] for row in order] == sorted(lengths, reverse=True)
    for number, batch in enumerate(batches):
        longest = max(lengths[row] for row in batch)
        assert len(batch) * longest <= budget or len(batch) == 1
        # One more row would have been too many.
        assert number == len(batches) - 1 or (len(batch) + 1) * longest > budget


def test_a_work_of_parts_takes_every_gpu_only_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert [str(one) for one in every_device("auto")] == ["cuda:0", "cuda:1", "cuda:2"]
    assert every_device("cuda") == every_device("auto")
    assert every_device("cuda:1") == [torch.device("cuda:1")]
    assert every_device("cpu") == [torch.device("cpu")]
    with pytest.raises(ConfigError, match="has 3 CUDA devices"):
        every_device("cuda:3")


def test_no_sentences_give_no_rows() -> None:
    assert in_length_order(np.array([], dtype=int), 3, 2, lambda rows: torch.empty(0)).shape == (0, 3)


def test_a_flipped_bit_of_a_pickle_gives_no_other_weights(tmp_path: Path) -> None:
    weights = torch.arange(2000.0)
    torch.save({"x": weights}, tmp_path / "weights.pt")
    content = (tmp_path / "weights.pt").read_bytes()
    draw, refused = random.Random(1), 0
    for _ in range(200):
        damaged = bytearray(content)
        damaged[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        (tmp_path / "weights.pt").write_bytes(damaged)
        try:
            assert torch.equal(open_pickle(tmp_path / "weights.pt", "weights")["x"], weights)
        except DataError:
            refused += 1
    assert refused > 150


class Call:
    """Runs a function when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("zipped", [True, False, None])
def test_no_code_of_a_pickle_runs(zipped: bool | None, tmp_path: Path) -> None:
    content = {"state_dict": {"x": Call(tmp_path / "ran")}}
    if zipped is None:
        (tmp_path / "weights.pt").write_bytes(pickle.dumps(content))
    else:
        torch.save(content, tmp_path / "weights.pt", _use_new_zipfile_serialization=zipped)
    with pytest.raises(DataError, match="not weights, but damaged, or with objects other than tensors"):
        open_pickle(tmp_path / "weights.pt", "weights")
    assert not (tmp_path / "ran").exists()

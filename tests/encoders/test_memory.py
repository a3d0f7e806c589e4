"""Work that exhausts a device's memory: the message, and the size that fits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from orthoglot.encoders.base import HostCopy, in_length_order
from orthoglot.encoders.out_of_memory import largest, within_memory
from orthoglot.errors import DataError

OUT = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1 GiB free."


class Device:
    """A device for so many items at once."""

    def __init__(self, room: int):
        self.room, self.asked = room, []  # type: ignore[var-annotated]

    def take(self, size: int) -> int:
        self.asked.append(size)
        if size > self.room:
            raise torch.OutOfMemoryError(OUT)
        return size


def test_the_first_half_that_fits_is_named() -> None:
    device = Device(20)
    with pytest.raises(DataError) as error:
        within_memory(
            lambda: device.take(152), where="x", setting="batch_size", size=152, attempt=device.take
        )
    assert device.asked == [152, 76, 38, 19]
    assert str(error.value) == (
        "x: batch_size: 152 does not fit into the device's memory (CUDA out of memory); batch_size: 19 fits"
    )


def test_what_fits_is_given_and_nothing_is_attempted() -> None:
    device = Device(200)
    assert (
        within_memory(lambda: device.take(152), where="x", setting="s", size=152, attempt=device.take) == 152
    )
    assert device.asked == [152]


def test_where_nothing_fits_or_may_be_attempted_it_says_so() -> None:
    device = Device(0)
    with pytest.raises(DataError, match=r"not even s: 4 fits; take a device with more memory"):
        within_memory(lambda: device.take(32), where="x", setting="s", size=32, attempt=device.take, least=4)
    assert device.asked == [32, 16, 8, 4]
    with pytest.raises(DataError, match=r"try s: 16$"):
        within_memory(lambda: device.take(32), where="x", setting="s", size=32, attempt=None)


def test_other_errors_pass() -> None:
    def broken() -> None:
        raise RuntimeError("of another kind")

    with pytest.raises(RuntimeError, match="of another kind"):
        within_memory(broken, where="x", setting="s", size=8, attempt=lambda size: None)
    with pytest.raises(RuntimeError, match="of another kind"):
        largest(lambda size: broken(), 8)


def test_what_the_failed_work_held_is_free_before_smaller_sizes_are_tried() -> None:
    alive: list[int] = []

    class Held:
        def __init__(self) -> None:
            alive.append(1)

        def __del__(self) -> None:
            alive.pop()

    def work() -> None:
        held = Held()
        raise torch.OutOfMemoryError(f"{OUT} {held is None}")

    seen: list[int] = []
    with pytest.raises(DataError):
        within_memory(work, where="x", setting="s", size=4, attempt=lambda size: seen.append(len(alive)))
    assert seen == [0]


def test_encoding_names_tokens_of_a_batch_that_fit() -> None:
    lengths = np.array([8, 8, 8, 8, 2, 2])
    device = Device(16)

    def encode(rows: np.ndarray) -> torch.Tensor:
        device.take(int(lengths[rows[0]]) * len(rows))
        return torch.zeros(len(rows), 3)

    with pytest.raises(DataError, match=r"encoding: batch_tokens: 64 does not fit .*; batch_tokens: 16 fits"):
        in_length_order(lengths, 3, 64, encode)
    assert in_length_order(lengths, 3, 16, encode).shape == (6, 3)


def test_a_copy_of_a_tensor_in_host_memory_is_that_tensor() -> None:
    tensor = torch.arange(6.0).view(2, 3)
    copy = HostCopy(tensor)
    assert not copy.asynchronous
    assert copy.wait() is tensor

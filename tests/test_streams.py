"""Named streams and the draws that are the same on every device."""

from __future__ import annotations

import torch

from orthoglot.random_streams import Draws, derive, stream

MASK = (1 << 64) - 1


def splitmix64(seed: int, n: int) -> list[int]:
    """The published generator on Python's own integers."""
    numbers, state = [], seed
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        numbers.append(z ^ (z >> 31))
    return numbers


def test_the_twin_is_splitmix64() -> None:
    """First numbers of seed 1234567, as the authors' reference program prints them."""
    assert splitmix64(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_bits_are_those_of_splitmix64_however_they_are_asked_for() -> None:
    expected = splitmix64(derive(5, "a", 2), 40)
    draws = Draws(5, "a", 2)
    pieces = torch.cat([draws.bits(n) for n in (1, 0, 25, 14)])
    assert [value & MASK for value in pieces.tolist()] == expected
    assert [value >> 11 for value in expected] == [
        int(value * 2**53) for value in Draws(5, "a", 2).uniform(40).tolist()
    ]


def test_streams_differ_by_every_name() -> None:
    seen = {
        Draws(*names).bits(1).item() for names in ((1,), (2,), (1, "order"), (1, "order", 0), (1, "order", 1))
    }
    assert len(seen) == 5
    assert torch.equal(torch.rand(3, generator=stream(1, "x")), torch.rand(3, generator=stream(1, "x")))


def test_uniform_draws_fill_the_unit_interval() -> None:
    drawn = Draws(0).uniform(100_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    counts = torch.histc(drawn, 20, 0, 1)
    # Chi-squared with 19 degrees of freedom: 43.8 is passed once in a thousand.
    assert ((counts - 5000).square() / 5000).sum() < 43.8


def test_a_permutation_holds_every_number_once_in_another_order() -> None:
    drawn = Draws(0).permutation(1000)
    assert sorted(drawn.tolist()) == list(range(1000))
    assert (drawn == torch.arange(1000)).sum() < 10
    assert Draws(0).permutation(0).tolist() == []

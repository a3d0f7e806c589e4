"""Partner rules and batches of pairs."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.decomposers.linear import TwoHead
from orthoglot.streams import stream
from orthoglot.training.batching import (
    RULES,
    Batch,
    PairRows,
    any_other,
    batches,
    half_batch,
    pairs_of,
    same_language,
)

CPU = torch.device("cpu")


def pair_rows(n: int, n_languages: int = 3) -> PairRows:
    rows = torch.arange(n)
    return PairRows(rows, rows + n, torch.zeros_like(rows), rows % n_languages)


def cut(
    rows: PairRows, size: int, *, drop_last: bool = False, rule: str = "dream", seed: int = 0
) -> list[Batch]:
    order, partners = stream(seed, "order"), stream(seed, "partners")
    return list(
        batches(rows, rule, batch_size=size, drop_last=drop_last, order=order, partners=partners, device=CPU)
    )


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=40), st.integers(0, 1000))
def test_same_language_is_another_row_of_the_language_or_nobody(ids: list[int], seed: int) -> None:
    language = torch.tensor(ids, dtype=torch.long)
    partners = same_language(language, stream(seed))
    for i, partner in enumerate(partners.tolist()):
        if ids.count(ids[i]) == 1:
            assert partner == -1
        else:
            assert partner != i
            assert ids[partner] == ids[i]


def test_same_language_is_uniform_over_the_others() -> None:
    language = torch.tensor([1, 0, 1, 1, 0, 1])
    generator = stream(0)
    drawn = torch.stack([same_language(language, generator) for _ in range(6000)])
    counts = torch.bincount(drawn[:, 2], minlength=6)
    assert counts[[1, 2, 4]].tolist() == [0, 0, 0]
    # 2000 expected, standard deviation 37
    assert (counts[[0, 3, 5]] - 2000).abs().max() < 180


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 1000))
def test_any_other_is_never_the_row_itself(n: int, seed: int) -> None:
    partners = any_other(n, stream(seed))
    assert len(partners) == n
    if n < 2:
        assert (partners == -1).all()
    else:
        assert ((partners >= 0) & (partners < n) & (partners != torch.arange(n))).all()


def test_any_other_is_uniform_over_the_others() -> None:
    generator = stream(0)
    drawn = torch.stack([any_other(4, generator) for _ in range(6000)])
    for row in range(4):
        counts = torch.bincount(drawn[:, row], minlength=4)
        counts[row] += 2000
        assert (counts - 2000).abs().max() < 180


def test_half_batch_pairs_the_halves_and_leaves_the_rest_inactive() -> None:
    assert half_batch(5).tolist() == [2, 3, -1, -1, -1]
    partners = RULES["half_batch"](pair_rows(5), stream(0))
    assert partners.active.tolist() == [True, True, False, False, False]
    assert partners.other.tolist() == partners.peer.tolist() == [[2, 3, -1, -1, -1]] * 2


def test_dream_draws_sides_and_kinds_apart() -> None:
    partners = RULES["dream"](pair_rows(64), stream(0))
    assert partners.active.all()
    drawn = [*partners.other, *partners.peer]
    assert len({tuple(index.tolist()) for index in drawn}) == 4


def test_seed_uses_one_partner_for_everything() -> None:
    partners = RULES["same_language"](pair_rows(64), stream(0))
    assert torch.equal(partners.other, partners.peer)
    assert not torch.equal(partners.peer[0], partners.peer[1])


def test_an_epoch_holds_every_pair_once_and_keeps_pairs_together() -> None:
    seen = torch.cat([torch.stack([b.rows.source, b.rows.target]) for b in cut(pair_rows(23), 5)], dim=1)
    assert sorted(seen[0].tolist()) == list(range(23))
    assert torch.equal(seen[1], seen[0] + 23)
    assert seen[0].tolist() != list(range(23))


def test_last_partial_batch_is_dropped_on_request_unless_it_is_the_only_one() -> None:
    assert [len(b.rows) for b in cut(pair_rows(23), 5, drop_last=True)] == [5, 5, 5, 5]
    assert [len(b.rows) for b in cut(pair_rows(23), 5)] == [5, 5, 5, 5, 3]
    assert [len(b.rows) for b in cut(pair_rows(3), 5, drop_last=True)] == [3]


def test_partner_draws_do_not_change_the_order() -> None:
    orders = [
        [b.rows.source.tolist() for b in cut(pair_rows(40), 8, rule=rule)] for rule in ("none", "dream")
    ]
    assert orders[0] == orders[1]
    assert orders[0] != [b.rows.source.tolist() for b in cut(pair_rows(40), 8, seed=1)]


def test_pairs_of_puts_each_row_on_its_side() -> None:
    maps = TwoHead(4, stream(0))
    vectors = torch.randn(20, 4, generator=stream(1))
    (batch,) = cut(pair_rows(10), 10)
    pairs = pairs_of(maps, vectors, batch, 3)
    torch.testing.assert_close(pairs.source.parts.sentence, vectors[batch.rows.source])
    torch.testing.assert_close(pairs.target.parts.meaning, maps.meaning(vectors[batch.rows.target]))
    torch.testing.assert_close(pairs.target.parts.language, maps.language(vectors[batch.rows.target]))
    assert torch.equal(pairs.target.language_id, batch.rows.target_language)
    assert torch.equal(pairs.target.peer, batch.partners.peer[1])
    assert torch.equal(pairs.source.other, batch.partners.other[0])

"""Partner rules and batches of pairs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.decomposers.linear import TwoHead
from orthoglot.streams import Draws, stream
from orthoglot.training import batching
from orthoglot.training.batching import (
    RULES,
    Batches,
    PairRows,
    any_other,
    half_batch,
    pairs_of,
    same_language,
    together,
)


def pair_rows(n: int, n_languages: int = 3) -> PairRows:
    rows = torch.arange(n)
    return PairRows(rows, rows + n, torch.zeros_like(rows), rows % n_languages)


def one_batch(n: int, n_languages: int = 3) -> PairRows:
    return pair_rows(n, n_languages).each(lambda t: t[None])


def cut(
    rows: PairRows, size: int, *, drop_last: bool = False, rule: str = "dream", seed: int = 0
) -> list[Batches]:
    order, partners = Draws(seed, "order"), Draws(seed, "partners")
    parts = batching.cut(rows, rule, batch_size=size, drop_last=drop_last, order=order, partners=partners)
    return [part[number] for part in parts for number in range(len(part))]


@settings(deadline=None)
@given(st.integers(1, 3), st.lists(st.integers(0, 4), max_size=40), st.integers(0, 1000))
def test_same_language_is_another_row_of_the_batch_and_language_or_nobody(
    n: int, ids: list[int], seed: int
) -> None:
    batch = len(ids) // n
    language = torch.tensor(ids[: n * batch], dtype=torch.long).view(n, batch)
    partners = same_language(language, Draws(seed))
    for codes, drawn in zip(language.tolist(), partners.tolist(), strict=True):
        for i, partner in enumerate(drawn):
            if codes.count(codes[i]) == 1:
                assert partner == -1
            else:
                assert partner != i
                assert codes[partner] == codes[i]


def test_same_language_is_uniform_over_the_others() -> None:
    language = torch.tensor([[1, 0, 1, 1, 0, 1]]).expand(6000, 6)
    counts = torch.bincount(same_language(language, Draws(0))[:, 2], minlength=6)
    assert counts[[1, 2, 4]].tolist() == [0, 0, 0]
    # 2000 expected, standard deviation 37
    assert (counts[[0, 3, 5]] - 2000).abs().max() < 180


@settings(deadline=None)
@given(st.integers(0, 3), st.integers(0, 40), st.integers(0, 1000))
def test_any_other_is_never_the_row_itself(n: int, batch: int, seed: int) -> None:
    partners = any_other(n, batch, Draws(seed))
    assert partners.shape == (n, batch)
    if batch < 2:
        assert (partners == -1).all()
    else:
        assert ((partners >= 0) & (partners < batch) & (partners != torch.arange(batch))).all()


def test_any_other_is_uniform_over_the_others() -> None:
    drawn = any_other(6000, 4, Draws(0))
    for row in range(4):
        counts = torch.bincount(drawn[:, row], minlength=4)
        counts[row] += 2000
        assert (counts - 2000).abs().max() < 180


def test_half_batch_pairs_the_halves_and_leaves_the_rest_inactive() -> None:
    assert half_batch(2, 5).tolist() == [[2, 3, -1, -1, -1]] * 2
    partners = RULES["half_batch"](one_batch(5), Draws(0))
    assert partners.active.tolist() == [[True, True, False, False, False]]
    for drawn in (*partners.other, *partners.peer):
        assert drawn.tolist() == [[2, 3, -1, -1, -1]]


def test_dream_draws_sides_and_kinds_apart() -> None:
    partners = RULES["dream"](one_batch(64), Draws(0))
    assert partners.active.all()
    drawn = [*partners.other, *partners.peer]
    assert len({tuple(index[0].tolist()) for index in drawn}) == 4


def test_seed_uses_one_partner_for_everything() -> None:
    partners = RULES["same_language"](one_batch(64), Draws(0))
    assert all(map(torch.equal, partners.other, partners.peer))
    assert not torch.equal(*partners.peer)


def sides(batch: Batches) -> tuple[torch.Tensor, torch.Tensor]:
    source, target = batch.places.chunk(2)
    return source, target


def test_an_epoch_holds_every_pair_once_and_keeps_pairs_together() -> None:
    seen = torch.cat([torch.stack(sides(batch)) for batch in cut(pair_rows(23), 5)], dim=1)
    assert sorted(seen[0].tolist()) == list(range(23))
    assert torch.equal(seen[1], seen[0] + 23)
    assert seen[0].tolist() != list(range(23))


def test_last_partial_batch_is_dropped_on_request_unless_it_is_the_only_one() -> None:
    assert [batch.size for batch in cut(pair_rows(23), 5, drop_last=True)] == [5, 5, 5, 5]
    assert [batch.size for batch in cut(pair_rows(23), 5)] == [5, 5, 5, 5, 3]
    assert [batch.size for batch in cut(pair_rows(3), 5, drop_last=True)] == [3]


def test_partner_draws_do_not_change_the_order() -> None:
    orders = [
        [batch.places.tolist() for batch in cut(pair_rows(40), 8, rule=rule)] for rule in ("none", "dream")
    ]
    assert orders[0] == orders[1]
    assert orders[0] != [batch.places.tolist() for batch in cut(pair_rows(40), 8, seed=1)]


@pytest.mark.parametrize("rule", RULES)
def test_partners_are_laid_out_on_their_own_side(rule: str) -> None:
    rows = pair_rows(8)
    (batch,) = cut(rows, 8, rule=rule)
    order = batch.places[:8]
    drawn = RULES[rule](rows.take(order[None]), Draws(0, "partners"))
    for name in ("other", "peer"):
        source, target = getattr(drawn, name)
        expected = [*source[0].tolist(), *(place + 8 if place >= 0 else -1 for place in target[0].tolist())]
        assert getattr(batch, name).tolist() == expected
    assert torch.equal(batch.language_id, torch.cat([torch.zeros_like(order), rows.target_language[order]]))
    assert torch.equal(batch.active, drawn.active[0])


def test_pairs_of_decomposes_the_rows_at_their_places() -> None:
    maps = TwoHead(4, stream(0))
    vectors = torch.randn(20, 4, generator=stream(1))
    (batch,) = cut(pair_rows(10), 10)
    pairs = pairs_of(maps, vectors, batch, 3)
    torch.testing.assert_close(pairs.parts.sentence, vectors[batch.places])
    torch.testing.assert_close(pairs.parts.meaning, maps.meaning(vectors[batch.places]))
    torch.testing.assert_close(pairs.parts.language, maps.language(vectors[batch.places]))
    assert (pairs.language_id, pairs.other, pairs.peer) == (batch.language_id, batch.other, batch.peer)


def test_models_together_keep_their_own_batches() -> None:
    maps = TwoHead(4, [stream(0), stream(1)])
    vectors = torch.randn(40, 4, generator=stream(2))
    ones = [cut(pair_rows(20), 5, seed=seed) for seed in (0, 1)]
    parts = [
        batching.cut(
            pair_rows(20),
            "dream",
            batch_size=5,
            drop_last=False,
            order=Draws(seed, "order"),
            partners=Draws(seed, "partners"),
        )[0]
        for seed in (0, 1)
    ]
    pairs = pairs_of(maps, vectors, together(parts)[3], 3)
    for model, batches in enumerate(ones):
        expected = pairs_of(TwoHead(4, stream(model)), vectors, batches[3], 3)
        torch.testing.assert_close(pairs.parts.meaning[model], expected.parts.meaning)
        torch.testing.assert_close(pairs.parts.language[model], expected.parts.language)
        for name in ("other", "peer", "language_id", "active"):
            assert torch.equal(getattr(pairs, name)[model], getattr(expected, name))
        # What is gathered for a model comes from its own rows.
        gathered = pairs.of_peer(pairs.meaning).members[0].values[model]
        torch.testing.assert_close(gathered, expected.of_peer(expected.meaning).members[0].values)

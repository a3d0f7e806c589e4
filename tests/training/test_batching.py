"""Partner rules, and batches of pairs as row indices."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.random_streams import Draws
from orthoglot.training import PARTNER_RULES, partners
from orthoglot.training.batching import Batch, PairRows, joined, make_batches
from orthoglot.training.partners import Partners, any_other, same_language


def pair_rows(n: int, n_languages: int = 3) -> PairRows:
    rows = torch.arange(n)
    return PairRows(rows, rows + n, torch.zeros_like(rows), rows % n_languages)


def drawn_by(rule: str, rows: PairRows, draws: Draws) -> Partners:
    """Partners of one batch, whose pairs are these."""
    function = getattr(partners, PARTNER_RULES[rule].removeprefix("partners:"))
    found: Partners = function(rows.source_language[None], rows.target_language[None], draws)
    return found


def batches_of(
    rows: PairRows, size: int, *, drop_last: bool = False, rule: str = "dream", seed: int = 0
) -> list[Batch]:
    order, partners = Draws(seed, "order"), Draws(seed, "partners")
    return make_batches(rows, rule, batch_size=size, drop_last=drop_last, order=order, partners=partners)


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
    partners = any_other(torch.zeros(n, batch, dtype=torch.long), Draws(seed))
    assert partners.shape == (n, batch)
    if batch < 2:
        assert (partners == -1).all()
    else:
        assert ((partners >= 0) & (partners < batch) & (partners != torch.arange(batch))).all()


def test_any_other_is_uniform_over_the_others() -> None:
    drawn = any_other(torch.zeros(6000, 4, dtype=torch.long), Draws(0))
    for row in range(4):
        counts = torch.bincount(drawn[:, row], minlength=4)
        counts[row] += 2000
        assert (counts - 2000).abs().max() < 180


def test_half_batch_pairs_the_halves_and_leaves_the_rest_inactive() -> None:
    partners = drawn_by("half_batch", pair_rows(5), Draws(0))
    assert partners.active.tolist() == [[True, True, False, False, False]]
    for drawn in (*partners.other, *partners.peer):
        assert drawn.tolist() == [[2, 3, -1, -1, -1]]


def test_dream_draws_sides_and_kinds_apart() -> None:
    partners = drawn_by("dream", pair_rows(64), Draws(0))
    assert partners.active.all()
    drawn = [*partners.other, *partners.peer]
    assert len({tuple(index[0].tolist()) for index in drawn}) == 4


def test_seed_uses_one_partner_for_everything() -> None:
    partners = drawn_by("same_language", pair_rows(64), Draws(0))
    assert all(map(torch.equal, partners.other, partners.peer))
    assert not torch.equal(*partners.peer)


def sides(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    source, target = batch.rows.chunk(2)
    return source, target


def test_an_epoch_holds_every_pair_once_and_keeps_pairs_together() -> None:
    seen = torch.cat([torch.stack(sides(batch)) for batch in batches_of(pair_rows(23), 5)], dim=1)
    assert sorted(seen[0].tolist()) == list(range(23))
    assert torch.equal(seen[1], seen[0] + 23)
    assert seen[0].tolist() != list(range(23))


def test_last_partial_batch_is_dropped_on_request_unless_it_is_the_only_one() -> None:
    assert [len(batch.active) for batch in batches_of(pair_rows(23), 5, drop_last=True)] == [5, 5, 5, 5]
    assert [len(batch.active) for batch in batches_of(pair_rows(23), 5)] == [5, 5, 5, 5, 3]
    assert [len(batch.active) for batch in batches_of(pair_rows(3), 5, drop_last=True)] == [3]


def test_partner_draws_do_not_change_the_order() -> None:
    orders = [
        [batch.rows.tolist() for batch in batches_of(pair_rows(40), 8, rule=rule)]
        for rule in ("none", "dream")
    ]
    assert orders[0] == orders[1]
    assert orders[0] != [batch.rows.tolist() for batch in batches_of(pair_rows(40), 8, seed=1)]


@pytest.mark.parametrize("rule", PARTNER_RULES)
def test_partners_are_laid_out_on_their_own_side(rule: str) -> None:
    rows = pair_rows(8)
    (batch,) = batches_of(rows, 8, rule=rule)
    order = batch.rows[:8]
    drawn = drawn_by(rule, rows.take(order), Draws(0, "partners"))
    for name in ("other", "peer"):
        source, target = getattr(drawn, name)
        expected = [*source[0].tolist(), *(place + 8 if place >= 0 else -1 for place in target[0].tolist())]
        assert getattr(batch, name).tolist() == expected
    assert torch.equal(batch.language_id, torch.cat([torch.zeros_like(order), rows.target_language[order]]))
    assert torch.equal(batch.active, drawn.active[0])


def test_joined_batches_keep_their_partners() -> None:
    """Each row's partner is the row of the corpus that it was before, and among the rows of its own training."""
    batches = [batches_of(pair_rows(12), 6, seed=seed)[0] for seed in range(3)]
    whole = joined(batches)
    assert torch.equal(whole.active, torch.ones(3, 6, dtype=torch.bool))
    for name in ("other", "peer"):
        for number, batch in enumerate(batches):
            own, partners = slice(12 * number, 12 * (number + 1)), getattr(batch, name)
            drawn = getattr(whole, name)[own]
            assert torch.equal(drawn < 0, partners < 0)
            assert set(drawn[drawn >= 0].tolist()) <= set(range(own.start, own.stop))
            assert torch.equal(whole.rows[drawn][drawn >= 0], batch.rows[partners][partners >= 0])
            assert torch.equal(whole.language_id[own], batch.language_id)

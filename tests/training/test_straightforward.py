"""Our training step against the straightforward one: same losses, same weights after some steps, same partners."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from straightforward import Dream, Meat, Partners, Seed, partner_of_same_language
from test_decompose import METHODS
from torch import Tensor

from orthoglot.decomposers.modules import Maps
from orthoglot.objectives.base import Objective
from orthoglot.random_streams import Draws, stream
from orthoglot.training.batching import PairRows, make_batches
from orthoglot.training.decompose import inputs, pairs_of, updates

DIM, PAIRS, LANGUAGES, RATE = 12, 40, 3, 1e-2


def rows() -> tuple[Tensor, PairRows]:
    vectors = torch.randn(2 * PAIRS, DIM, dtype=torch.float64, generator=stream(0, "vectors"))
    places = torch.arange(PAIRS)
    return vectors, PairRows(places, places + PAIRS, torch.zeros_like(places), 1 + places % 2)


def give(theirs: torch.nn.Linear, ours: torch.nn.Linear) -> None:
    """Let the straightforward map start where ours does."""
    theirs.double()
    theirs.load_state_dict(ours.state_dict())


TWINS: list[tuple[str, Any]] = [
    ("seed", Seed(DIM, LANGUAGES, RATE)),
    ("dream", Dream(DIM, LANGUAGES, RATE)),
    ("dream+oracle", Dream(DIM, LANGUAGES, RATE, oracle=True)),
    ("meat", Meat(DIM, LANGUAGES, RATE)),
    ("meat+oracle", Meat(DIM, LANGUAGES, RATE, oracle=True)),
]


@pytest.mark.parametrize(("name", "twin"), TWINS, ids=[name for name, _ in TWINS])
def test_three_steps_equal_the_straightforward_ones(name: str, twin: Any) -> None:
    vectors, pairs = rows()
    maps: Any = Maps(METHODS[name].architecture, DIM, stream(1)).double()
    terms = METHODS[name].terms
    objective = Objective(terms, dim=DIM, n_languages=LANGUAGES, generator=stream(2)).double()
    if name == "seed":
        give(twin.f, maps["meaning"])
    else:
        give(twin.meaning, maps["meaning"])
        give(twin.language, maps["language"])
        give(twin.head, next(objective.modules_of_terms[0].children()))  # type: ignore[arg-type]
    ours = updates(maps, objective, RATE)
    size = PAIRS // 3
    batches = make_batches(
        pairs, METHODS[name].partners, batch_size=size, drop_last=True, order=Draws(1), partners=Draws(2)
    )
    assert len(batches) == 3
    for batch in batches:
        own = [one - size * (k % 2) for k, one in enumerate([*batch.other.chunk(2), *batch.peer.chunk(2)])]
        drawn = Partners(*(one.tolist() for one in own))
        given = (*vectors[batch.rows].chunk(2), *batch.language_id.chunk(2))
        if name.startswith("meat"):
            loss = twin.discriminator_loss(*given)
            twin.opponent.zero_grad()
            loss.backward()
            twin.opponent.step()
            losses = {"discriminator": loss, **twin.losses(*given)}
        else:
            losses = twin.losses(*given, drawn)
        total = sum(value for term, value in losses.items() if term != "discriminator")
        twin.optimizer.zero_grad()
        total.backward()  # type: ignore[union-attr]
        twin.optimizer.step()
        found: dict[str, Tensor] = {}
        both = pairs_of(maps, LANGUAGES, *inputs(vectors, batch, torch.device("cpu")))
        for update in ours:
            found |= update.loss(both)
            update.optimizer.zero_grad()
            found["total"].backward()
            update.optimizer.step()
        assert set(found) == {*losses, "total"}
        for term, value in losses.items():
            assert found[term].item() == pytest.approx(value.item(), abs=1e-9), term
    theirs = twin.f if name == "seed" else twin.meaning
    torch.testing.assert_close(maps["meaning"].weight, theirs.weight, rtol=0, atol=1e-8)
    if name != "seed":
        torch.testing.assert_close(maps["language"].weight, twin.language.weight, rtol=0, atol=1e-8)


def test_the_row_by_row_draw_finds_the_language_too() -> None:
    language = torch.tensor([0, 1, 1, 2])
    for row, partner in enumerate(partner_of_same_language(language)):
        assert language[partner] == language[row]
        assert (partner == row) == (row in (0, 3))

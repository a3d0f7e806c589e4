"""Our training step against the straightforward one: same losses, same weights after some steps, same partners."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from straightforward import Dream, Meat, Partners, Seed, partner_of_same_language
from test_decompose import METHODS
from torch import Tensor

from orthoglot.decomposers.linear import Linear
from orthoglot.objectives.base import Objective
from orthoglot.streams import Draws, stream
from orthoglot.training import batching
from orthoglot.training.batching import PairRows, pairs_of
from orthoglot.training.decompose import MODULES
from orthoglot.training.stacked import Stack, Trainer

DIM, PAIRS, LANGUAGES, RATE = 12, 40, 3, 1e-2


def rows() -> tuple[Tensor, PairRows]:
    vectors = torch.randn(2 * PAIRS, DIM, dtype=torch.float64, generator=stream(0, "vectors"))
    places = torch.arange(PAIRS)
    return vectors, PairRows(places, places + PAIRS, torch.zeros_like(places), 1 + places % 2)


def trainer_of(name: str, vectors: Tensor) -> Trainer:
    def build(_: Any) -> Stack:
        method = METHODS[name]
        maps = MODULES[method.architecture](DIM, [stream(1)]).double()
        heads = Objective(method.terms, dim=DIM, n_languages=LANGUAGES, generator=[stream(2)]).double()
        return Stack(maps, heads)

    trainer = Trainer(build, lambda stack, batch: pairs_of(stack.maps, vectors, batch, LANGUAGES), RATE)
    trainer.start([1])
    return trainer


def give(theirs: torch.nn.Linear, ours: Linear) -> None:
    """Let the straightforward map start where ours does."""
    theirs.double()
    with torch.no_grad():
        theirs.weight.copy_(ours.weight[0])
        theirs.bias.copy_(ours.bias[0])


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
    trainer = trainer_of(name, vectors)
    maps: Any = trainer.stack.maps
    if name == "seed":
        give(twin.f, maps.meaning)
    else:
        give(twin.meaning, maps.meaning)
        give(twin.language, maps.language)
        own = [*trainer.stack.objective.modules_of_terms]
        give(twin.head, next(iter(own[0].children())))  # type: ignore[arg-type]
    (batches,) = batching.cut(
        pairs,
        METHODS[name].partners,
        batch_size=PAIRS // 3,
        drop_last=True,
        order=Draws(1),
        partners=Draws(2),
    )
    stacked = batching.together([batches])
    for number in range(3):
        batch = batches[number]
        size = batch.size
        own = [one - size * (k % 2) for k, one in enumerate([*batch.other.chunk(2), *batch.peer.chunk(2)])]
        drawn = Partners(*(one.tolist() for one in own))
        given = (*vectors[batch.places].chunk(2), *batch.language_id.chunk(2))
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
        ours = trainer.step(stacked[number])
        assert set(ours) == {*losses, "total"}
        for term, value in losses.items():
            assert ours[term].item() == pytest.approx(value.item(), abs=1e-9), term
    theirs = twin.f if name == "seed" else twin.meaning
    torch.testing.assert_close(maps.meaning.weight[0], theirs.weight, rtol=0, atol=1e-8)
    if name != "seed":
        torch.testing.assert_close(maps.language.weight[0], twin.language.weight, rtol=0, atol=1e-8)


def test_the_row_by_row_draw_finds_the_language_too() -> None:
    language = torch.tensor([0, 1, 1, 2])
    for row, partner in enumerate(partner_of_same_language(language)):
        assert language[partner] == language[row]
        assert (partner == row) == (row in (0, 3))
